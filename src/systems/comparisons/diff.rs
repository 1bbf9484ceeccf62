//! What differs between two environments, and how grave that is. Nothing goes in but the two
//! envelopes, so the same envelopes always give the same answer.

use serde::{Deserialize, Serialize};

use super::envelope::{Redirect, SignalEnvelope};

/// The difference between two environments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvDiff {
    /// The gravest of the changes; none when there are none.
    pub severity: Option<Severity>,
    /// What changes from left to right, in a fixed order.
    pub changes: Vec<Change>,
}

/// One thing that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// `status`, `landing`, `secure`, `redirects`, `header NAME`, `body` or `timing`.
    pub what: String,
    /// How grave it is.
    pub severity: Severity,
    /// What the left has, if anything.
    pub left: Option<String>,
    /// What the right has, if anything.
    pub right: Option<String>,
}

/// How grave a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Info,
    /// Users may notice.
    Minor,
    /// Visitors are treated differently.
    Major,
    /// One of them does not work.
    Critical,
}

/// Headers that differ from answer to answer and say nothing about an environment.
const VOLATILE: &[&str] =
    &["age", "cf-ray", "date", "etag", "expires", "last-modified", "set-cookie", "x-request-id"];
/// Headers that protect visitors.
const PROTECTIVE: &[&str] = &[
    "access-control-allow-origin",
    "content-security-policy",
    "strict-transport-security",
    "x-content-type-options",
    "x-frame-options",
];
/// One is slower than the other when it takes so many times as long, and so much longer.
const SLOWER_TIMES: u64 = 4;
const SLOWER_MS: u64 = 1_000;

impl EnvDiff {
    /// Compares two envelopes.
    pub fn between(left: &SignalEnvelope, right: &SignalEnvelope) -> EnvDiff {
        let mut changes = Vec::new();
        let mut differs = |what: &str, severity, left: Option<String>, right: Option<String>| {
            if left != right {
                changes.push(Change { what: what.into(), severity, left, right });
            }
        };
        let number = |n: u16| Some(n.to_string());
        let grave = status_severity(left.status, right.status);
        differs("status", grave, number(left.status), number(right.status));
        let landing = |envelope: &SignalEnvelope| Some(envelope.routing.landing.clone());
        differs("landing", Severity::Major, landing(left), landing(right));
        let secure = |envelope: &SignalEnvelope| Some(envelope.routing.secure.to_string());
        differs("secure", Severity::Critical, secure(left), secure(right));
        differs("redirects", Severity::Minor, way(&left.redirects), way(&right.redirects));
        for name in left
            .headers
            .keys()
            .chain(right.headers.keys().filter(|name| !left.headers.contains_key(*name)))
        {
            if !VOLATILE.contains(&&**name) {
                let grave = header_severity(name);
                let value = |envelope: &SignalEnvelope| envelope.headers.get(name).cloned();
                differs(&format!("header {name}"), grave, value(left), value(right));
            }
        }
        let body = |envelope: &SignalEnvelope| {
            Some(format!("{} bytes {}", envelope.body.bytes, envelope.body.sha256))
        };
        differs("body", Severity::Minor, body(left), body(right));
        let (slow, fast) = (
            left.timing.total_ms.max(right.timing.total_ms),
            left.timing.total_ms.min(right.timing.total_ms),
        );
        if slow >= fast.saturating_mul(SLOWER_TIMES) && slow - fast >= SLOWER_MS {
            let time = |envelope: &SignalEnvelope| Some(format!("{} ms", envelope.timing.total_ms));
            differs("timing", Severity::Info, time(left), time(right));
        }
        let severity = changes.iter().map(|change| change.severity).max();
        EnvDiff { severity, changes }
    }
}

fn status_severity(left: u16, right: u16) -> Severity {
    if (left >= 500) != (right >= 500) {
        Severity::Critical
    } else if left / 100 != right / 100 {
        Severity::Major
    } else {
        Severity::Minor
    }
}

fn header_severity(name: &str) -> Severity {
    if PROTECTIVE.contains(&name) { Severity::Major } else { Severity::Minor }
}

/// A chain of redirects as one text; none when there were none.
fn way(redirects: &[Redirect]) -> Option<String> {
    let hops: Vec<String> =
        redirects.iter().map(|hop| format!("{} {}", hop.status, hop.to)).collect();
    (!hops.is_empty()).then(|| hops.join(", "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::systems::comparisons::envelope::{BodyFacts, Routing, Timing};

    fn envelope() -> SignalEnvelope {
        SignalEnvelope {
            status: 200,
            headers: [("server", "a"), ("date", "now"), ("x-frame-options", "DENY")]
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
            redirects: Vec::new(),
            routing: Routing {
                final_url: "https://a.example/".into(),
                landing: "/".into(),
                secure: true,
            },
            timing: Timing { total_ms: 20 },
            body: BodyFacts::of(b"hello"),
        }
    }

    /// What an alteration of the right side is reported as.
    fn check(alter: impl Fn(&mut SignalEnvelope), expected: &[(&str, Severity)]) {
        let (left, mut right) = (envelope(), envelope());
        alter(&mut right);
        let diff = EnvDiff::between(&left, &right);
        let found: Vec<(&str, Severity)> =
            diff.changes.iter().map(|change| (&*change.what, change.severity)).collect();
        assert_eq!(found, expected);
        assert_eq!(diff.severity, expected.iter().map(|(_, severity)| *severity).max());
    }

    #[test]
    fn every_fact_that_differs_is_reported_with_its_weight() {
        check(|_| {}, &[]);
        check(|right| right.status = 503, &[("status", Severity::Critical)]);
        check(|right| right.status = 404, &[("status", Severity::Major)]);
        check(|right| right.status = 204, &[("status", Severity::Minor)]);
        check(|right| right.routing.landing = "/login".into(), &[("landing", Severity::Major)]);
        check(|right| right.routing.secure = false, &[("secure", Severity::Critical)]);
        let hop = || Redirect { status: 302, to: "/".into() };
        check(|right| right.redirects.push(hop()), &[("redirects", Severity::Minor)]);
        let server =
            |right: &mut SignalEnvelope| drop(right.headers.insert("server".into(), "b".into()));
        check(server, &[("header server", Severity::Minor)]);
        let frames = |right: &mut SignalEnvelope| drop(right.headers.remove("x-frame-options"));
        check(frames, &[("header x-frame-options", Severity::Major)]);
        check(|right| right.body = BodyFacts::of(b"bye"), &[("body", Severity::Minor)]);
        check(|right| right.timing.total_ms = 2_000, &[("timing", Severity::Info)]);
    }

    #[test]
    fn what_says_nothing_about_an_environment_is_no_change() {
        check(|right| right.timing.total_ms = 79, &[]);
        check(|right| drop(right.headers.insert("date".into(), "later".into())), &[]);
        check(|right| drop(right.headers.insert("age".into(), "3".into())), &[]);
        check(|right| right.routing.final_url = "https://b.example/".into(), &[]);
    }

    fn any_envelope() -> impl Strategy<Value = SignalEnvelope> {
        let headers = prop::collection::btree_map("[a-c]", "[a-c]", 0..3);
        let hops = prop::collection::vec((301u16..304, "/[a-b]"), 0..3);
        (100u16..600, headers, hops, "/[a-c]", any::<bool>(), 0u64..5_000, "[a-b]{0,2}").prop_map(
            |(status, headers, hops, landing, secure, total_ms, body)| SignalEnvelope {
                status,
                headers: headers.into_iter().collect(),
                redirects: hops.into_iter().map(|(status, to)| Redirect { status, to }).collect(),
                routing: Routing { final_url: String::new(), landing, secure },
                timing: Timing { total_ms },
                body: BodyFacts::of(body.as_bytes()),
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn an_environment_does_not_differ_from_itself(envelope in any_envelope()) {
            let diff = EnvDiff::between(&envelope, &envelope);
            prop_assert_eq!(diff, EnvDiff { severity: None, changes: Vec::new() });
        }

        #[test]
        fn the_way_back_is_the_way_there_mirrored(left in any_envelope(), right in any_envelope()) {
            let there = EnvDiff::between(&left, &right);
            let mut back = EnvDiff::between(&right, &left);
            for change in &mut back.changes {
                std::mem::swap(&mut change.left, &mut change.right);
            }
            back.changes.sort_by(|a, b| a.what.cmp(&b.what));
            let mut sorted = there.clone();
            sorted.changes.sort_by(|a, b| a.what.cmp(&b.what));
            prop_assert_eq!(sorted, back);
        }

        #[test]
        fn a_stored_envelope_gives_the_same_diff(left in any_envelope(), right in any_envelope()) {
            let stored = |envelope: &SignalEnvelope| -> SignalEnvelope {
                let json = serde_json::to_string(envelope).expect("plain data");
                serde_json::from_str(&json).expect("what was written")
            };
            let diff = EnvDiff::between(&left, &right);
            prop_assert_eq!(EnvDiff::between(&stored(&left), &stored(&right)), diff);
        }
    }
}
