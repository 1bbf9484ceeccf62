//! Where a Worker is mounted: on the platform, or as on the machine of a developer.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use thunderhead_sim::SortedMap;

use crate::app::App;
use crate::home::Home;
use crate::isolate::Isolate;

/// Whose behaviour a Worker meets.
pub enum Platform {
    /// The platform, as it is documented. Every host has isolates of its own.
    Production,
    /// The local emulator, whose single isolate is made when it is first needed.
    Local(Rc<OnceCell<Rc<Isolate>>>),
}

impl Platform {
    /// Whether it is the emulator.
    pub fn is_local(&self) -> bool {
        matches!(self, Platform::Local(_))
    }
}

/// The isolates of a mounted Worker.
#[derive(Clone)]
pub struct Isolates {
    app: Arc<App>,
    shared: Option<Rc<OnceCell<Rc<Isolate>>>>,
    /// The homes of its hosts, by their places.
    homes: Rc<RefCell<SortedMap<String, Rc<Home>>>>,
}

impl Isolates {
    /// Those that the hosts of this Worker get on that platform.
    pub fn new(app: Arc<App>, platform: &Platform) -> Isolates {
        let shared = match platform {
            Platform::Production => None,
            Platform::Local(shared) => Some(shared.clone()),
        };
        Isolates { app, shared, homes: Rc::default() }
    }

    /// The home of the host at that place, which is the same in all its lives.
    pub fn home(&self, place: String) -> Rc<Home> {
        let mut homes = self.homes.borrow_mut();
        homes.entry(place.clone()).or_insert_with(|| Rc::new(Home::at(place))).clone()
    }

    /// One for a new life of a host.
    pub fn get(&self) -> Result<Rc<Isolate>, String> {
        let Some(shared) = &self.shared else { return self.app.isolate() };
        if let Some(isolate) = shared.get() {
            return Ok(isolate.clone());
        }
        let isolate = self.app.isolate()?;
        isolate.host().local.set(true);
        Ok(shared.get_or_init(|| isolate).clone())
    }
}
