//! In place of `thunderhead_workers`, in a program that is built without it: there is no Worker, and loading one says
//! why.

use std::path::Path;

use thunderhead_props::System;
use thunderhead_sim::{ClientRequest, Cloud, Trace};

/// A Worker, of which there is none.
#[derive(Debug)]
pub enum Worker {}

/// The configuration of a Worker, of which there is none.
#[derive(Debug)]
pub enum Config {}

impl Config {
    pub fn is_one(_path: &Path) -> bool {
        false
    }
}

impl Worker {
    pub fn load(folder: &Path, _environment: Option<&str>) -> Result<Worker, String> {
        let folder = folder.display();
        Err(format!(
            "{folder} is a folder, and this program cannot run Workers: build it with the feature `workers` of the \
             package `thunderhead`, which is on unless `default-features` is false"
        ))
    }

    pub fn name(&self) -> &str {
        match *self {}
    }

    pub fn notes(&self) -> Vec<String> {
        match *self {}
    }

    pub fn notes_on(&self, _trace: &Trace) -> Vec<String> {
        match *self {}
    }

    pub fn wrong(&self) -> Option<&str> {
        match *self {}
    }

    pub fn has_requests(&self) -> bool {
        match *self {}
    }

    pub fn mount(&self, _cloud: &mut Cloud) {
        match *self {}
    }

    pub fn system(&self, _name: String, _origin: String) -> System {
        match *self {}
    }

    pub fn one_by_one(&self) -> Vec<ClientRequest> {
        match *self {}
    }
}
