//! Several Workers: those that one is bound to, found by their names in the folders nearby.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use thunderhead_sim::{SortedMap, SortedSet};

use crate::config::Config;

/// How many folders deep configurations are looked for, below the folder and below the one that it is in.
const DEPTH: usize = 3;
/// The most folders that are looked into.
const MOST: usize = 2_000;

/// A Worker and where it is.
#[derive(Debug)]
pub struct Found {
    pub folder: PathBuf,
    pub config: Config,
}

/// The Worker in a folder, or of a configuration, and then all those that it is bound to, by a service, a class, a
/// workflow or a queue, and those that they are bound to. A folder without a `wrangler.jsonc` is that of the Workers in
/// it and below it.
pub fn read(place: &Path, environment: Option<&str>) -> Result<Vec<Found>, String> {
    let folder = Config::folder(place);
    let mut found = match Config::read(place, environment) {
        Ok(config) => vec![Found { folder: folder.into(), config }],
        Err(why) => match place.is_file() || Config::is_in(place) {
            true => return Err(why),
            false => below(folder, environment).filter(|found| !found.is_empty()).ok_or(why)?,
        },
    };
    let mut near = None;
    let mut at = 0;
    while at < found.len() {
        let mut more: Vec<Found> = Vec::new();
        for wanted in found[at].config.wanted() {
            if found.iter().chain(&more).any(|one| wanted.is(&one.config)) {
                continue;
            }
            let near = near.get_or_insert_with(|| nearby(folder));
            let place = near.iter().position(|one| wanted.is(&one.config));
            if let Some(place) = place {
                let Found { folder, config } = near.swap_remove(place);
                let file = folder.join(&config.file);
                // This time with all that belongs to it; one that cannot be read is told.
                let config = Config::read(&file, environment)
                    .or_else(|why| environment.map_or(Err(why), |_| Config::read(&file, None)))?;
                more.push(Found { folder, config });
            }
        }
        found.extend(more);
        at += 1;
    }
    let mut configs: Vec<&mut Config> = found.iter_mut().map(|one| &mut one.config).collect();
    link(&mut configs);
    name_namespaces(&mut configs);
    Ok(found)
}

/// What a Worker needs of another.
#[derive(Debug)]
pub enum Wanted<'a> {
    /// The Worker of that name.
    Worker(&'a str),
    /// The Worker that consumes this queue.
    Consumer(&'a str),
}

impl Wanted<'_> {
    pub fn is(&self, config: &Config) -> bool {
        match self {
            Wanted::Worker(name) => config.name == *name,
            Wanted::Consumer(queue) => {
                config.queues.consumers.iter().any(|one| one.queue == *queue)
            }
        }
    }
}

/// The Workers in a folder and below it. The first is one that nobody else is bound to: requests are sent to it.
fn below(folder: &Path, environment: Option<&str>) -> Option<Vec<Found>> {
    let mut all = Vec::new();
    for folder in std::iter::once(folder.to_path_buf()).chain(folders(folder)) {
        for file in Config::all_in(&folder) {
            let config = Config::read(&file, environment).ok()?;
            all.push(Found { folder: folder.clone(), config });
        }
    }
    let bound: SortedSet<String> = all
        .iter()
        .flat_map(|one| one.config.services.iter().map(|service| service.service.clone()))
        .collect();
    let first = all.iter().position(|one| !bound.contains(&one.config.name));
    if let Some(first) = first {
        all[..=first].rotate_right(1);
    }
    Some(all)
}

/// The Workers in the folders around one, as far as they can be read.
fn nearby(folder: &Path) -> Vec<Found> {
    let above = folder.canonicalize().ok().and_then(|folder| Some(folder.parent()?.to_path_buf()));
    let around = above.into_iter().flat_map(|above| {
        let within = folders(&above);
        std::iter::once(above).chain(within)
    });
    let all = folders(folder).into_iter().chain(around);
    let files = all.flat_map(|folder| Config::all_in(&folder));
    let read = files.filter_map(|file| {
        let config = Config::read(&file, None).ok()?;
        Some(Found { folder: Config::folder(&file).into(), config })
    });
    read.collect()
}

/// The folders below one, the nearest first, by their names.
fn folders(root: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut open = VecDeque::from([(root.to_path_buf(), 0)]);
    while let Some((folder, depth)) = open.pop_front() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let mut within: Vec<PathBuf> = entries
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter(|entry| {
                let name = entry.file_name();
                name.to_str().is_some_and(|name| !name.starts_with('.') && name != "node_modules")
            })
            .map(|entry| entry.path())
            .collect();
        within.sort();
        for folder in within {
            if all.len() == MOST {
                return all;
            }
            all.push(folder.clone());
            if depth + 1 < DEPTH {
                open.push_back((folder, depth + 1));
            }
        }
    }
    all
}

/// Gives every class of objects one name on the cloud, which all that are bound to it use. Bindings of several Workers
/// may have the same name.
fn link(configs: &mut [&mut Config]) {
    let mut taken: SortedSet<String> = SortedSet::new();
    for config in configs.iter_mut() {
        let worker = config.name.clone();
        for object in config.durable_objects.bindings.iter_mut().filter(|one| one.is_of(&worker)) {
            if !taken.insert(object.name.clone()) {
                object.namespace = Some(format!("{worker}-{}", object.name));
            }
        }
    }
    for at in 0..configs.len() {
        let worker = configs[at].name.clone();
        for binding in 0..configs[at].durable_objects.bindings.len() {
            let object = configs[at].durable_objects.bindings[binding].clone();
            if object.is_of(&worker) {
                continue;
            }
            let home =
                configs.iter_mut().find(|one| Some(&one.name) == object.script_name.as_ref());
            let Some(home) = home else { continue };
            let namespace = home.namespace_of(&object.class_name, &object.name);
            configs[at].durable_objects.bindings[binding].namespace = Some(namespace);
        }
    }
}

/// Namespaces of KV are called by a binding in place of the digits that the platform has given them, in histories and
/// in lines that ignore them. The first binding to one decides.
fn name_namespaces(configs: &mut [&mut Config]) {
    let mut names: SortedMap<String, String> = SortedMap::new();
    for config in configs {
        let worker = config.name.clone();
        for namespace in config.kv_namespaces.iter_mut().filter(|one| one.is_numbered()) {
            let taken = names.values().any(|name| *name == namespace.binding);
            let own = match taken {
                true => format!("{worker}-{}", namespace.binding),
                false => namespace.binding.clone(),
            };
            let name = names.entry(namespace.namespace().to_string()).or_insert(own);
            namespace.rename(name.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_with_an_id_of_digits_is_called_by_its_first_binding() {
        let bound = |worker: &str, kv: &[(&str, &str)]| {
            let all = kv.iter().map(|(binding, id)| {
                format!(r#"{{ "binding": "{binding}", "id": "{}" }}"#, id.repeat(32))
            });
            let all: Vec<String> = all.collect();
            config(&format!(r#""name": "{worker}", "kv_namespaces": [{}]"#, all.join(",")))
        };
        let mut front = bound("front", &[("CACHE", "a"), ("AGAIN", "a"), ("USERS", "b")]);
        let mut back = bound("back", &[("SHARED", "b"), ("CACHE", "c")]);
        name_namespaces(&mut [&mut front, &mut back]);
        let names = |config: &Config| -> Vec<String> {
            config.kv_namespaces.iter().map(|one| one.namespace().to_string()).collect()
        };
        assert_eq!(names(&front), ["CACHE", "CACHE", "USERS"]);
        assert_eq!(names(&back), ["USERS", "back-CACHE"]);
    }

    fn config(text: &str) -> Config {
        Config::parse("wrangler.json", &format!("{{ \"main\": \"a.js\", {text} }}")).unwrap()
    }

    #[test]
    fn a_class_of_another_worker_has_one_name_on_the_cloud() {
        let mut front = config(
            r#""name": "front", "durable_objects": { "bindings": [
                { "name": "A", "class_name": "Own" },
                { "name": "B", "class_name": "Shared", "script_name": "back" },
                { "name": "C", "class_name": "Hidden", "script_name": "back" },
                { "name": "D", "class_name": "Gone", "script_name": "nobody" } ] }"#,
        );
        let mut back = config(
            r#""name": "back", "durable_objects": { "bindings": [{ "name": "A", "class_name": "Shared" }] }"#,
        );
        link(&mut [&mut front, &mut back]);
        let names = |config: &Config| -> Vec<String> {
            config.durable_objects.bindings.iter().map(|one| one.namespace().to_string()).collect()
        };
        assert_eq!(names(&front), ["A", "back-A", "back-C", "D"]);
        assert_eq!(names(&back), ["back-A", "back-C"]);
        let bound = back.bindings().to_string();
        assert!(!bound.contains("back-C"), "the class is mounted and not bound: {bound}");
    }

    #[test]
    fn what_a_worker_wants_of_others_is_what_it_does_not_have() {
        let front = config(
            r#""name": "front", "services": [{ "binding": "ME", "service": "front" }, { "binding": "AUTH", "service": "auth" }],
                "queues": { "producers": [{ "binding": "Q", "queue": "mails" }] }"#,
        );
        let wanted = format!("{:?}", front.wanted());
        assert_eq!(wanted, r#"[Worker("auth"), Consumer("mails")]"#);
    }
}
