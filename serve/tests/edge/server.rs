//! A server on a thread of the test.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;

use thunderhead::systems;
use thunderhead_serve::{Commits, Config, Ready, ServeError, Stop};

use super::client::Client;
use super::sites::OUTSIDE;

pub struct Server {
    pub address: SocketAddr,
    pub sign_in: Option<String>,
    pub stop: tokio::sync::oneshot::Sender<Stop>,
    pub thread: JoinHandle<Result<(), ServeError>>,
}

pub fn config(system: &str, data: &Path, user: Option<&str>) -> Config {
    let system = systems::find(system).unwrap();
    Config {
        system: system.clone(),
        variant: system.reference().clone(),
        data: data.into(),
        listen: "127.0.0.1:0".parse().unwrap(),
        user: user.map(|user| user.parse().unwrap()),
        tells: true,
        outside: OUTSIDE,
        commits: Commits::Together,
        mistake: None,
        halt: None,
    }
}

pub fn start(config: Config) -> Server {
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let (ready, started) = mpsc::channel::<Ready>();
    let thread = std::thread::spawn(move || {
        let stop = async { stopped.await.unwrap_or(Stop::Soon) };
        thunderhead_serve::serve(config, stop, |at| ready.send(at.clone()).unwrap())
    });
    match started.recv() {
        Ok(Ready { address, sign_in }) => Server { address, sign_in, stop, thread },
        Err(_) => panic!("it did not start: {:?}", thread.join().unwrap()),
    }
}

impl Server {
    pub fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut client = Client::connect(self.address).unwrap();
        // The key of a client of `generations`; the requests to other systems need none.
        client.authorization = Some("Bearer key-of-ann".into());
        let answer = client.ask(method, path, body.as_bytes());
        let (status, body) = answer.unwrap();
        (status, String::from_utf8(body).unwrap())
    }

    pub fn end(self, how: Stop) {
        self.stop.send(how).unwrap();
        self.thread.join().unwrap().unwrap();
    }
}

/// A folder that is empty.
pub fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    drop(std::fs::remove_dir_all(&path));
    path
}
