//! Where the files of a program are read from.

use std::path::{Component, Path, PathBuf};

use thunderhead_sim::SortedMap;

/// Files by name. Names are relative to the root and separated by `/`; those of files outside begin with `..`.
#[derive(Clone, Debug)]
pub enum Files {
    /// A folder.
    Folder(PathBuf),
    /// Names and contents.
    Memory(SortedMap<String, String>),
}

impl Files {
    /// The content of a file as text, if there is such a file.
    pub fn read(&self, name: &str) -> Option<String> {
        match self {
            Files::Folder(root) => std::fs::read_to_string(root.join(name)).ok(),
            Files::Memory(files) => files.get(name).cloned(),
        }
    }

    /// The content of a file.
    pub fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        match self {
            Files::Folder(root) => std::fs::read(root.join(name)).ok(),
            Files::Memory(files) => files.get(name).map(|text| text.as_bytes().to_vec()),
        }
    }

    /// Whether there is such a file.
    pub fn exists(&self, name: &str) -> bool {
        match self {
            Files::Folder(root) => root.join(name).is_file(),
            Files::Memory(files) => files.contains_key(name),
        }
    }

    /// How many folders there are above the root.
    pub fn depth(&self) -> usize {
        match self {
            Files::Folder(root) => {
                root.canonicalize().map_or(0, |root| root.components().count().saturating_sub(1))
            }
            Files::Memory(_) => 0,
        }
    }

    /// The name of what a link leads to: some installers link packages, which import from where they really are.
    pub fn real(&self, name: String) -> String {
        let Files::Folder(root) = self else { return name };
        let real = |path: &Path| path.canonicalize().ok();
        let (Some(root), Some(path)) = (real(root), real(&root.join(&name))) else { return name };
        let (root, path): (Vec<_>, Vec<_>) =
            (root.components().collect(), path.components().collect());
        let shared = root.iter().zip(&path).take_while(|(one, other)| one == other).count();
        let up = root[shared..].iter().map(|_| "..");
        let down = path[shared..].iter().filter_map(|part| part.as_os_str().to_str());
        up.chain(down).collect::<Vec<_>>().join("/")
    }
}

/// A path without `.`, and with `..` only at its beginning.
pub fn plain(path: &Path) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => match parts.last() {
                None | Some(&"..") => parts.push(".."),
                Some(_) => drop(parts.pop()),
            },
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}
