//! The classes of objects that a Worker is bound to.

use serde::Deserialize;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Objects {
    pub(crate) bindings: Vec<Object>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Object {
    pub(crate) name: String,
    pub(crate) class_name: String,
    pub(crate) script_name: Option<String>,
    /// The name of the class on the cloud, if it is not that of the binding.
    #[serde(skip)]
    pub(crate) namespace: Option<String>,
    /// Whether it is there for another Worker alone.
    #[serde(skip)]
    pub(crate) unbound: bool,
}

impl Object {
    /// The name of the class on the cloud.
    pub fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or(&self.name)
    }

    /// Whether it is a class of the Worker that is bound to it.
    pub fn is_of(&self, worker: &str) -> bool {
        self.script_name.as_ref().is_none_or(|script| script == worker)
    }
}

/// A migration of classes of objects; those that are new without `sqlite` keep keys and values alone.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Migration {
    pub(crate) new_classes: Vec<String>,
}
