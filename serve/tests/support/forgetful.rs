//! A disk that keeps only what was synced, for a server that is killed on it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Forgetful {
    /// What the server sees.
    disk: PathBuf,
    /// What was synced: see `forgetful.c`.
    kept: PathBuf,
    library: PathBuf,
    /// What is in paths whose syncs are ignored, in place of a server that forgets to sync them.
    deaf: Option<&'static str>,
}

impl Forgetful {
    /// A new disk in this folder.
    pub fn new(folder: &Path, deaf: Option<&'static str>) -> Forgetful {
        let library = folder.join("forgetful.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/forgetful.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source);
        assert!(compiler.status().unwrap().success(), "SQLite needs a C compiler as well");
        let (disk, kept) = (folder.join("disk"), folder.join("kept"));
        std::fs::create_dir_all(&disk).unwrap();
        let new = Forgetful { disk, kept, library, deaf };
        new.keep_everything();
        new
    }

    /// The folder that the server is to use.
    pub fn data(&self) -> PathBuf {
        self.disk.join("data")
    }

    /// Has a process use the disk.
    pub fn put_under(&self, command: &mut Command) {
        command.env("LD_PRELOAD", &self.library);
        command.env("FORGETFUL_DISK", &self.disk).env("FORGETFUL_KEPT", &self.kept);
        if let Some(deaf) = self.deaf {
            command.env("FORGETFUL_DEAF", deaf);
        }
    }

    /// The power fails: only what was synced is left. Nobody uses the disk.
    pub fn lose_power(&self) {
        let left = self.disk.with_extension("left");
        self.put_back(self.disk.metadata().unwrap().ino(), &left);
        std::fs::remove_dir_all(&self.disk).unwrap();
        std::fs::rename(left, &self.disk).unwrap();
        self.keep_everything();
    }

    /// Makes a folder as it was when it was last synced. A file that never was is empty.
    fn put_back(&self, folder: u64, path: &Path) {
        std::fs::create_dir(path).unwrap();
        let names = std::fs::read_to_string(self.folder(folder)).unwrap_or_default();
        for line in names.lines() {
            let [kind, inode, name] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { continue };
            let (inode, path) = (inode.parse().unwrap(), path.join(name));
            match kind {
                "d" => self.put_back(inode, &path),
                _ => {
                    let bytes = std::fs::read(self.file(inode)).unwrap_or_default();
                    std::fs::write(path, bytes).unwrap();
                }
            }
        }
    }

    /// Everything that is there is on the disk for good.
    fn keep_everything(&self) {
        drop(std::fs::remove_dir_all(&self.kept));
        for folder in ["files", "folders"] {
            std::fs::create_dir_all(self.kept.join(folder)).unwrap();
        }
        self.keep(&self.disk);
    }

    fn keep(&self, path: &Path) {
        let mut names = String::new();
        for entry in std::fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            let (inode, name) = (entry.metadata().unwrap().ino(), entry.file_name());
            let is_folder = entry.file_type().unwrap().is_dir();
            match is_folder {
                true => self.keep(&entry.path()),
                false => drop(std::fs::copy(entry.path(), self.file(inode)).unwrap()),
            }
            let kind = if is_folder { 'd' } else { 'f' };
            names += &format!("{kind} {inode} {}\n", name.to_str().unwrap());
        }
        std::fs::write(self.folder(path.metadata().unwrap().ino()), names).unwrap();
    }

    fn file(&self, inode: u64) -> PathBuf {
        self.kept.join("files").join(inode.to_string())
    }

    fn folder(&self, inode: u64) -> PathBuf {
        self.kept.join("folders").join(inode.to_string())
    }
}
