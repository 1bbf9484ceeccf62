//! Counters, in the text format of Prometheus.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What is counted. The threads add to it, and `/metrics` reads it.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Responses by the hundreds of their status: index 2 counts 200 to 299.
    responses: [AtomicU64; 6],
    pub connections: AtomicU64,
    pub ticks: AtomicU64,
    pub commits: AtomicU64,
    pub commit_microseconds: AtomicU64,
    pub rows: AtomicU64,
    pub calls_kept: AtomicU64,
    pub tasks: AtomicU64,
    pub hosts: AtomicU64,
    pub instances: AtomicU64,
    pub messages: AtomicU64,
    /// Pictures that are being looked at or wait for it.
    pub classifying: AtomicU64,
}

impl Metrics {
    pub fn responded(&self, status: u16) {
        self.responses[usize::from(status / 100).min(5)].fetch_add(1, Relaxed);
    }

    pub fn text(&self) -> String {
        let mut text = String::from("# TYPE thunderhead_responses_total counter\n");
        for (class, count) in self.responses.iter().enumerate().skip(1) {
            let _ = writeln!(
                text,
                "thunderhead_responses_total{{class=\"{class}xx\"}} {}",
                count.load(Relaxed)
            );
        }
        let all = [
            ("connections", "gauge", &self.connections),
            ("ticks_total", "counter", &self.ticks),
            ("commits_total", "counter", &self.commits),
            ("commit_microseconds_total", "counter", &self.commit_microseconds),
            ("rows_written_total", "counter", &self.rows),
            ("engine_calls", "gauge", &self.calls_kept),
            ("engine_tasks", "gauge", &self.tasks),
            ("engine_hosts", "gauge", &self.hosts),
            ("engine_instances", "gauge", &self.instances),
            ("engine_messages", "gauge", &self.messages),
            ("pictures_waiting", "gauge", &self.classifying),
        ];
        for (name, kind, value) in all {
            let value = value.load(Relaxed);
            let _ = write!(text, "# TYPE thunderhead_{name} {kind}\nthunderhead_{name} {value}\n");
        }
        text
    }
}
