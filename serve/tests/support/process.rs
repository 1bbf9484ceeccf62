//! A server in a process of its own: the test's own program, which is told by its environment that it is to serve.

use std::io::{BufRead, BufReader, Lines, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use thunderhead::systems;
use thunderhead_serve::{Commits, Config, Halt, Mistake, Outside, Stop, When};

use super::forgetful::Forgetful;

const DATA: &str = "THUNDERHEAD_TEST_DATA";
const COMMITS: &str = "THUNDERHEAD_TEST_COMMITS";
const MISTAKE: &str = "THUNDERHEAD_TEST_MISTAKE";
const HALT: &str = "THUNDERHEAD_TEST_HALT";

const MISTAKES: [(&str, Mistake); 3] = [
    ("early", Mistake::AnswersEarly),
    ("later", Mistake::NotifiesLater),
    ("lease", Mistake::LeaseCounts),
];

/// The places at which a server is killed in any case: in the middle of a delivery, when the workflow is there and the
/// message is not acknowledged; before a put is written; when its bytes are and it is not; and after that. The delivery
/// comes first, when there is no other.
pub const HALTS: [(&str, &str, When); 4] = [
    ("delivery", "instance", When::After),
    ("before", "object", When::Before),
    ("between", "object", When::Between),
    ("after", "object", When::After),
];

/// Serves and does not come back, if that is what this process is for.
pub fn serve_if_asked() {
    let Ok(data) = std::env::var(DATA) else { return };
    let commits = match std::env::var(COMMITS).as_deref() {
        Ok("each") => Commits::EachEvent,
        _ => Commits::Together,
    };
    let mistake = std::env::var(MISTAKE).ok();
    let mistake = MISTAKES
        .iter()
        .find(|(name, _)| Some(*name) == mistake.as_deref())
        .map(|(_, mistake)| *mistake);
    let system = systems::find("uploads").unwrap();
    let config = Config {
        system: system.clone(),
        variant: system.reference().clone(),
        data: data.into(),
        listen: "127.0.0.1:0".parse().unwrap(),
        user: Some("ann@acme".parse().unwrap()),
        tells: true,
        outside: Outside::REAL,
        commits,
        mistake,
        halt: std::env::var(HALT).ok().and_then(|halt| {
            let (_, kind, when) = HALTS.iter().find(|(name, ..)| *name == halt)?;
            Some(Halt { kind, when: *when, told: || println!("halted") })
        }),
    };
    // It goes on until all work is done when its standard input ends.
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        ended.send(()).unwrap();
    });
    let stop = async {
        end.await.unwrap();
        Stop::AtRest
    };
    thunderhead_serve::serve(config, stop, |ready| {
        println!("listening on http://{}", ready.address)
    })
    .unwrap();
    std::process::exit(0);
}

/// A server that runs.
pub struct Server {
    child: Child,
    input: Option<ChildStdin>,
    said: Lines<BufReader<ChildStdout>>,
    pub address: SocketAddr,
}

impl Server {
    /// Starts one, and returns when it takes requests. `test` is the test that calls this.
    pub fn start(
        test: &str,
        data: &Path,
        commits: Commits,
        mistake: Option<Mistake>,
        halt: Option<&str>,
        disk: Option<&Forgetful>,
    ) -> Server {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([test, "--exact", "--nocapture"]).env(DATA, data);
        if commits == Commits::EachEvent {
            command.env(COMMITS, "each");
        }
        if let Some((name, _)) = MISTAKES.iter().find(|(_, known)| Some(*known) == mistake) {
            command.env(MISTAKE, name);
        }
        if let Some(halt) = halt {
            command.env(HALT, halt);
        }
        disk.into_iter().for_each(|disk| disk.put_under(&mut command));
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(data.with_extension("log"))
            .unwrap();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = said.by_ref().map_while(Result::ok).find_map(|line| {
            let at = line.find("listening on http://")?;
            line[at + "listening on http://".len()..].parse().ok()
        });
        let log = || std::fs::read_to_string(data.with_extension("log")).unwrap_or_default();
        let address = address.unwrap_or_else(|| panic!("the server did not start: {}", log()));
        Server { child, input, said, address }
    }

    /// Waits until it stands still where it was told to.
    pub fn halted(&mut self) {
        let mut said = self.said.by_ref().map_while(Result::ok);
        assert!(said.any(|line| line == "halted"), "the server ended");
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Lets it do what is left, and waits for it.
    pub fn finish(mut self) {
        drop(self.input.take());
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}
