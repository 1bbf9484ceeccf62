//! The program as a server that listens at an address of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server; it is killed with the test.
pub struct Server {
    child: Child,
    pub address: String,
}

impl Server {
    pub fn start(folder: &Path, args: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_thunderhead"))
            .args(args)
            .current_dir(folder)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program is there");
        let mut line = String::new();
        let out = child.stdout.take().expect("it is piped");
        BufReader::new(out).read_line(&mut line).expect("it says where it listens");
        let address = line.trim().strip_prefix("listening on http://").expect(&line).to_string();
        Server { child, address }
    }

    /// The whole answer to these bytes.
    pub fn asks(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it has ended, and has its exit code.
    pub fn exit_code(mut self) -> Option<i32> {
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
