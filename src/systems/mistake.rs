//! Mistakes that are made on purpose: one small slip each in the code of a reference, to see which promise notices it.
//!
//! A deployment chooses one by a variable. None is set in the reference, which then behaves as if the slips were not
//! written down. Each system lists its own in its `mistakes.rs`; to add one, add a line there and the slip.

use thunderhead_props::{System, Variant};
use thunderhead_sim::{Cloud, Env};

/// The variable of a deployment that names its mistake.
const VARIABLE: &str = "MISTAKE";

/// A small slip in a reference.
#[derive(Clone, Copy, Debug)]
pub struct Mistake {
    /// Its name, as of a variant.
    pub name: &'static str,
    /// What the code does then, in one line.
    pub about: &'static str,
    /// The promise that notices it; none if nobody can tell.
    pub breaks: Option<&'static str>,
}

impl Mistake {
    /// Whether this deployment makes it.
    pub fn is_made(&self, env: &Env) -> bool {
        env.var_if_set(VARIABLE).is_some_and(|name| &*name == self.name)
    }

    /// Whether the deployment that is being set up makes it.
    pub fn is_made_in(&self, cloud: &Cloud) -> bool {
        cloud.var_if_set(VARIABLE).is_some_and(|name| &*name == self.name)
    }
}

/// Adds mistakes of the reference that `mount` sets up.
pub fn with_mistakes(
    system: System,
    mistakes: &[Mistake],
    mount: impl Fn(&mut Cloud) + Clone + Send + Sync + 'static,
) -> System {
    mistakes.iter().fold(system, |system, mistake| {
        let (Mistake { name, about, breaks }, mount) = (*mistake, mount.clone());
        let mount = move |cloud: &mut Cloud| {
            cloud.var(VARIABLE, name);
            mount(cloud);
        };
        system.with_mistake(match breaks {
            Some(promise) => Variant::refuted(name, about, &[promise], mount),
            None => Variant::holds(name, about, mount),
        })
    })
}

/// Declares the mistakes of a system, and `ALL` of them:
/// `NAME = "name", "what it does", breaks "a promise";`, or `breaks nothing;` if nobody can tell.
macro_rules! mistakes {
    (@promise nothing) => { None };
    (@promise $promise:literal) => { Some($promise) };
    ($($constant:ident = $name:literal, $about:literal, breaks $promise:tt;)+) => {
        $(
            #[doc = $about]
            pub const $constant: Mistake =
                Mistake { name: $name, about: $about, breaks: mistakes!(@promise $promise) };
        )+
        /// All of them.
        pub const ALL: &[Mistake] = &[$($constant),+];
    };
}

pub(super) use mistakes;
