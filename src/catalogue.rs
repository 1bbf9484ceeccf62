//! The systems that a program knows, by name.

use std::fmt;

use thunderhead_props::{Expected, System, Variant};
use thunderhead_sim::SortedSet;
use thunderhead_sim::closest;

/// Systems whose names are clear: no two of anything are called the same, and whatever is expected of a variant is
/// promised by its system.
#[derive(Clone, Copy, Debug)]
pub struct Catalogue<'a>(&'a [&'a System]);

/// Systems that cannot be told apart, or that expect what is never promised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogueError(String);

impl fmt::Display for CatalogueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CatalogueError {}

impl<'a> Catalogue<'a> {
    /// Looks at the names of these systems.
    pub fn new(systems: &'a [&'a System]) -> Result<Catalogue<'a>, CatalogueError> {
        unique("there are two systems", systems.iter().map(|system| &*system.name))?;
        for system in systems {
            let name = &system.name;
            let all = || system.variants().iter().chain(system.mistakes());
            let variants = all().map(|variant| &*variant.name);
            unique(&format!("{name} has two variants"), variants)?;
            unique(&format!("{name} has two promises"), system.promises().map(|one| &*one.name))?;
            for variant in all() {
                known(system, variant)?;
            }
        }
        Ok(Catalogue(systems))
    }

    /// Every system, in the order in which they were given.
    pub fn iter(self) -> impl Iterator<Item = &'a System> {
        self.0.iter().copied()
    }

    /// The system of that name, or what to write instead.
    pub fn find(self, name: &str) -> Result<&'a System, String> {
        let found = self.iter().find(|system| {
            system.name == name || system.origin.as_ref().is_some_and(|origin| origin == name)
        });
        found.ok_or_else(|| closest(name, self.iter().map(|system| &*system.name)))
    }
}

fn unique<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> Result<(), CatalogueError> {
    let mut seen = SortedSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(CatalogueError(format!("{wrong} called `{name}`")));
        }
    }
    Ok(())
}

/// Refuses a variant that is expected to break a promise which its system or itself does not make, or to be silent
/// about one that there is not.
fn known(system: &System, variant: &Variant) -> Result<(), CatalogueError> {
    let whose = format!("variant `{}` of {}", variant.name, system.name);
    if let Some(name) = variant.unpromised.iter().find(|name| system.promise(name).is_none()) {
        let advice = closest(name, system.promises().map(|promise| &*promise.name));
        let wrong = format!("{whose} is not to be judged by `{name}`, which nobody promises");
        return Err(CatalogueError(format!("{wrong}; {advice}")));
    }
    let Expected::Refuted(promises) = &variant.expected else { return Ok(()) };
    if let Some(name) = promises.iter().find(|name| variant.unpromised.contains(name)) {
        let wrong = format!("{whose} is to break `{name}`, by which it is not judged");
        return Err(CatalogueError(wrong));
    }
    if promises.is_empty() {
        return Err(CatalogueError(format!(
            "{whose} is to be refuted and names no promise that it breaks"
        )));
    }
    let unknown = promises.iter().find(|name| system.promise(name).is_none());
    unknown.map_or(Ok(()), |name| {
        let advice = closest(name, system.promises().map(|promise| &*promise.name));
        let wrong = format!("{whose} is to break `{name}`, which {} does not promise", system.name);
        Err(CatalogueError(format!("{wrong}; {advice}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use thunderhead_props::Promise;

    static KEPT: Promise = Promise::always("it is kept", "it is", |_| Ok(()));

    fn system(name: &'static str) -> System {
        System::new(name, "", Variant::holds("reference", "", |_| {})).with_promises(&[&KEPT])
    }

    fn wrong(systems: &[&System]) -> String {
        Catalogue::new(systems).expect_err("it is refused").to_string()
    }

    #[test]
    fn a_name_finds_its_system_and_a_misspelt_one_the_closest() {
        let (web, shop) = (system("web"), system("shop"));
        let systems = [&web, &shop];
        let catalogue = Catalogue::new(&systems).expect("the names are clear");
        assert_eq!(catalogue.find("shop").map(|found| &*found.name), Ok("shop"));
        let advice = catalogue.find("shpo").expect_err("there is none");
        assert!(advice.contains("did you mean `shop`?"), "{advice}");
    }

    #[test]
    fn names_that_mean_two_things_are_refused() {
        let web = system("web");
        assert_eq!(wrong(&[&web, &web]), "there are two systems called `web`");
        let twice = system("web").with_variant(Variant::holds("reference", "", |_| {}));
        assert_eq!(wrong(&[&twice]), "web has two variants called `reference`");
        let twice = system("web").with_promises(&[&KEPT]);
        assert_eq!(wrong(&[&twice]), "web has two promises called `it is kept`");
    }

    #[test]
    fn a_variant_that_is_to_break_an_unknown_promise_is_refused_with_the_closest() {
        let lost = Variant::refuted("lost", "", &["it is kep"], |_| {});
        let said = wrong(&[&system("web").with_variant(lost)]);
        assert!(
            said.contains("`it is kep`") && said.contains("did you mean `it is kept`?"),
            "{said}"
        );
        let other = Variant::holds("other", "", |_| {}).not_promising("it is kep");
        let said = wrong(&[&system("web").with_variant(other)]);
        assert!(said.contains("which nobody promises; did you mean `it is kept`?"), "{said}");
        let both = Variant::refuted("both", "", &["it is kept"], |_| {});
        let said = wrong(&[&system("web").with_variant(both.not_promising("it is kept"))]);
        assert!(said.contains("`it is kept`, by which it is not judged"), "{said}");
        let silent = Variant::refuted("silent", "", &[], |_| {});
        assert!(wrong(&[&system("web").with_variant(silent)]).contains("names no promise"));
    }
}
