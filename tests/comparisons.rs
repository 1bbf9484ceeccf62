//! The object of a pair, method by method, and a comparison from its request to its result.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use serde_json::{Value as Json, json};
use thunderhead::systems;
use thunderhead_sim::sqlite::{Row, Value};
use thunderhead_sim::{
    Body, Env, EventKind, Request, Response, Scenario, Source, Stub, Tape, Trace, simulate,
};

const LEFT: &str = "https://prod.example/";
const RIGHT: &str = "https://staging.example/";
const KEY: &str = "0123456789abcdef0123456789abcdef";

/// Lets somebody talk to the reference in good weather; what happened.
fn talk<F: Future<Output = ()> + 'static>(work: impl Fn(Env) -> F + Copy + 'static) -> Trace {
    let system = systems::find("comparisons").expect("it is registered");
    let run = simulate(&Scenario::default(), &Source::Tape(Tape::benign()), &|cloud| {
        system.reference().mount(cloud);
        cloud.client("somebody", work);
    });
    let trace = run.expect("there is nothing that could not fit").trace;
    let panic = trace.events().iter().find(|event| matches!(event.kind, EventKind::Panic { .. }));
    assert!(panic.is_none(), "{trace}");
    trace
}

/// The rows that are left in a table, in the order of their rowids.
fn table(trace: &Trace, name: &str) -> Vec<Row> {
    let mut rows = BTreeMap::new();
    for event in trace.events() {
        let EventKind::Rows { changes } = &event.kind else { continue };
        for change in changes.iter().filter(|change| &*change.table == name) {
            match &change.after {
                Some(row) => drop(rows.insert(change.key.clone(), row.clone())),
                None => drop(rows.remove(&change.key)),
            }
        }
    }
    rows.into_values().collect()
}

fn texts(rows: &[Row], column: &str) -> Vec<String> {
    let text = |row: &Row| {
        let value = row.iter().find(|(name, _)| &**name == column).map(|(_, value)| value);
        value.and_then(Value::as_str).unwrap_or("NULL").to_string()
    };
    rows.iter().map(text).collect()
}

fn pair(env: &Env) -> Stub {
    env.durable_object("ENVPAIR_DO").get_by_name(KEY)
}

fn id(n: u32) -> String {
    format!("{KEY}:{n:016x}")
}

async fn call(env: &Env, method: &str, args: Json) -> Json {
    let answer = pair(env).rpc(method, args.to_string()).await.expect("the weather is good");
    serde_json::from_slice(answer.bytes()).unwrap_or_default()
}

async fn create(env: &Env, n: u32) -> Json {
    let comparison = json!({
        "comparisonId": id(n), "leftUrl": LEFT, "rightUrl": RIGHT, "pairKey": KEY,
    });
    call(env, "createComparison", comparison).await
}

async fn save_probe(env: &Env, n: u32, side: &str, status: u16) -> Json {
    let envelope = json!({
        "status": status, "headers": {}, "redirects": [],
        "routing": { "final_url": LEFT, "landing": "/", "secure": true },
        "timing": { "total_ms": 1 }, "body": { "bytes": 0, "sha256": "" },
    });
    call(env, "saveProbe", json!({ "comparisonId": id(n), "side": side, "envelope": envelope }))
        .await
}

async fn save_result(env: &Env, n: u32, result: Json) -> Json {
    call(env, "saveResult", json!({ "comparisonId": id(n), "result": result })).await
}

async fn fail(env: &Env, n: u32, error: &str) -> Json {
    call(env, "failComparison", json!({ "comparisonId": id(n), "error": error })).await
}

async fn get(env: &Env, n: u32) -> Json {
    call(env, "getComparison", json!(id(n))).await
}

mod ring_buffer_retention {
    use super::*;

    #[test]
    fn of_sixty_comparisons_the_newest_fifty_are_retained() {
        let trace = talk(async |env| {
            for n in 0..60 {
                create(&env, n).await;
                env.sleep(Duration::from_secs(1)).await;
            }
        });
        let expected: Vec<String> = (10..60).map(id).collect();
        assert_eq!(texts(&table(&trace, "comparisons"), "id"), expected);
    }

    #[test]
    fn the_oldest_rows_are_deleted_deterministically() {
        let deleted = || {
            let trace = talk(async |env| {
                call(&env, "setKeep", json!(2)).await;
                for n in [5, 3, 9, 1] {
                    create(&env, n).await;
                }
            });
            texts(&table(&trace, "evicted"), "id")
        };
        assert_eq!(deleted(), [id(5), id(3)]);
        assert_eq!(deleted(), deleted());
    }

    /// Sixty calls that arrive in one millisecond are sixty turns with the same timestamp.
    #[test]
    fn comparisons_of_one_millisecond_are_retained_by_the_order_of_their_creation() {
        let trace = talk(async |env| {
            let all: Vec<_> = (0..60)
                .map(|n| {
                    let env = env.clone();
                    env.clone().spawn(async move { drop(create(&env, n).await) })
                })
                .collect();
            for one in all {
                one.await;
            }
        });
        let rows = table(&trace, "comparisons");
        let times: Vec<_> = rows.iter().map(|row| row[1].1.as_i64()).collect();
        assert!(times.iter().all(|time| *time == times[0]), "{times:?}");
        assert_eq!(texts(&rows, "id"), (10..60).map(id).collect::<Vec<_>>());
    }

    #[test]
    fn fewer_are_kept_as_soon_as_it_is_said() {
        let trace = talk(async |env| {
            for n in 0..5 {
                create(&env, n).await;
                save_probe(&env, n, "left", 200).await;
            }
            call(&env, "setKeep", json!(2)).await;
        });
        assert_eq!(texts(&table(&trace, "comparisons"), "id"), [id(3), id(4)]);
        assert_eq!(texts(&table(&trace, "probes"), "comparison_id"), [id(3), id(4)]);
    }

    #[test]
    fn what_was_evicted_does_not_come_back() {
        let trace = talk(async |env| {
            call(&env, "setKeep", json!(1)).await;
            create(&env, 1).await;
            create(&env, 2).await;
            assert_eq!(create(&env, 1).await, json!("evicted"));
            assert_eq!(save_probe(&env, 1, "left", 200).await, json!("evicted"));
            assert_eq!(get(&env, 1).await, json!({ "status": "evicted" }));
        });
        assert_eq!(texts(&table(&trace, "comparisons"), "id"), [id(2)]);
        assert_eq!(table(&trace, "probes").len(), 0);
    }
}

mod probe_idempotency {
    use super::*;

    #[test]
    fn a_probe_that_is_saved_twice_is_one_row_and_the_first() {
        let trace = talk(async |env| {
            create(&env, 1).await;
            assert_eq!(save_probe(&env, 1, "left", 200).await, json!("running"));
            env.sleep(Duration::from_secs(5)).await;
            assert_eq!(save_probe(&env, 1, "left", 503).await, json!("running"));
            save_probe(&env, 1, "right", 200).await;
        });
        let rows = table(&trace, "probes");
        assert_eq!(texts(&rows, "id"), [format!("{}:left", id(1)), format!("{}:right", id(1))]);
        assert!(texts(&rows, "envelope_json")[0].contains(r#""status":200"#));
    }

    #[test]
    fn a_probe_without_its_comparison_is_not_saved() {
        let trace = talk(async |env| {
            assert_eq!(save_probe(&env, 1, "left", 200).await, json!("unknown"));
        });
        assert_eq!(table(&trace, "probes").len(), 0);
    }
}

mod status_transitions {
    use super::*;

    #[test]
    fn running_becomes_completed_by_its_result() {
        talk(async |env| {
            assert_eq!(create(&env, 1).await, json!("running"));
            assert_eq!(get(&env, 1).await, json!({ "status": "running" }));
            assert_eq!(save_result(&env, 1, json!({ "diff": 1 })).await, json!("completed"));
            // The answer was on its way for a millisecond.
            let now = env.now().unix_ms() - 1;
            let completed =
                json!({ "status": "completed", "result": { "diff": 1, "timestamp": now } });
            assert_eq!(get(&env, 1).await, completed);
        });
    }

    #[test]
    fn running_becomes_failed_by_its_error() {
        talk(async |env| {
            create(&env, 1).await;
            assert_eq!(fail(&env, 1, "no").await, json!("failed"));
            assert_eq!(get(&env, 1).await, json!({ "status": "failed", "error": "no" }));
        });
    }

    #[test]
    fn all_transitions_are_idempotent_and_the_first_end_stays() {
        talk(async |env| {
            create(&env, 1).await;
            create(&env, 2).await;
            save_result(&env, 1, json!(1)).await;
            fail(&env, 2, "first").await;
            let ends = [get(&env, 1).await, get(&env, 2).await];
            for n in [1, 2] {
                create(&env, n).await;
                save_result(&env, n, json!("again")).await;
                fail(&env, n, "again").await;
                save_probe(&env, n, "left", 200).await;
            }
            assert_eq!([get(&env, 1).await, get(&env, 2).await], ends);
        });
    }

    #[test]
    fn one_that_never_was_is_unknown_and_not_running() {
        talk(async |env| {
            assert_eq!(get(&env, 1).await, json!({ "status": "unknown" }));
            assert_eq!(save_result(&env, 1, json!(1)).await, json!("unknown"));
            assert_eq!(fail(&env, 1, "no").await, json!("unknown"));
        });
    }
}

async fn ask(env: &Env, method: &str, path: &str, body: Json) -> (u16, Json) {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let request = Request::new(method, path, text);
    let Response { status, body, .. } = env.fetch("web", request).await.expect("good weather");
    (status, json_of(&body))
}

fn json_of(body: &Body) -> Json {
    serde_json::from_slice(body.bytes()).unwrap_or_default()
}

async fn compare(env: &Env, request: &str) -> (u16, String) {
    let body = json!({ "leftUrl": LEFT, "rightUrl": RIGHT, "requestId": request });
    let (status, json) = ask(env, "POST", "/compare", body).await;
    (status, json["comparisonId"].as_str().unwrap_or_default().into())
}

mod comparison_lifecycle {
    use super::*;

    #[test]
    fn a_comparison_is_created_probed_completed_and_retrieved() {
        let trace = talk(async |env| {
            let (status, id) = compare(&env, "first").await;
            assert_eq!(status, 201);
            let path = format!("/compare/{id}");
            assert_eq!(
                ask(&env, "GET", &path, Json::Null).await,
                (200, json!({ "status": "running" }))
            );
            env.sleep(Duration::from_secs(5)).await;
            let (status, state) = ask(&env, "GET", &path, Json::Null).await;
            assert_eq!((status, &state["status"]), (200, &json!("completed")));
            assert_eq!(state["result"]["diff"]["severity"], "major");
            let (_, history) =
                ask(&env, "GET", &format!("/pairs/{}/history", &id[..32]), Json::Null).await;
            // As `getComparison` tells it, which is what the plan has in its history.
            assert_eq!(history, json!([state]));
            let created = env.now().unix_ms() - 5_000;
            let timestamp = state["result"]["timestamp"].as_u64().expect("a time");
            assert!((created..created + 1_000).contains(&timestamp), "{timestamp}");
        });
        assert_eq!(texts(&table(&trace, "probes"), "side"), ["left", "right"]);
        assert_eq!(texts(&table(&trace, "comparisons"), "status"), ["completed"]);
    }

    #[test]
    fn create_comparison_returns_a_stable_id_for_a_request_and_its_spellings() {
        talk(async |env| {
            let (_, first) = compare(&env, "r").await;
            assert_eq!(compare(&env, "r").await, (201, first.clone()));
            let spelt = json!({
                "leftUrl": "HTTPS://PROD.example:443", "rightUrl": RIGHT, "requestId": "r",
            });
            let (_, again) = ask(&env, "POST", "/compare", spelt).await;
            assert_eq!(again["comparisonId"], json!(first));
            let turned = json!({ "leftUrl": RIGHT, "rightUrl": LEFT, "requestId": "r" });
            let (_, other) = ask(&env, "POST", "/compare", turned).await;
            assert_ne!(other["comparisonId"].as_str().map(|id| &id[..32]), Some(&first[..32]));
        });
    }

    #[test]
    fn two_requests_without_a_name_are_two_comparisons() {
        let trace = talk(async |env| {
            let body = json!({ "leftUrl": LEFT, "rightUrl": RIGHT });
            let (_, one) = ask(&env, "POST", "/compare", body.clone()).await;
            let (_, two) = ask(&env, "POST", "/compare", body).await;
            assert_ne!(one, two);
        });
        assert_eq!(table(&trace, "comparisons").len(), 2);
    }

    #[test]
    fn what_cannot_be_compared_is_refused_with_the_reason() {
        let trace = talk(async |env| {
            for (left, said) in [
                ("http://127.0.0.1/", "leftUrl: 127.0.0.1 is not public: loopback"),
                (
                    "https://me@prod.example/",
                    "leftUrl: a URL with a name or a password is not probed",
                ),
                ("prod.example", "leftUrl: not a URL: relative URL without a base"),
            ] {
                let body = json!({ "leftUrl": left, "rightUrl": RIGHT });
                let answer = ask(&env, "POST", "/compare", body).await;
                assert_eq!(answer, (400, json!({ "error": said })));
            }
            assert_eq!(ask(&env, "POST", "/compare", json!("what")).await.0, 400);
            for path in ["/", "/compare/a:b", "/pairs/x/history", "/compare"] {
                assert_eq!(ask(&env, "GET", path, Json::Null).await.0, 404, "{path}");
            }
        });
        assert_eq!(table(&trace, "comparisons").len(), 0);
    }
}

mod settings {
    use super::*;

    async fn set(env: &Env, authorization: Option<&str>, body: Json) -> Response {
        let request = Request::new("PUT", "/keep", body.to_string());
        let request = match authorization {
            Some(value) => request.with_header("authorization", value),
            None => request,
        };
        env.fetch("web", request).await.expect("good weather")
    }

    fn keep(keep: impl Into<Json>) -> Json {
        json!({ "leftUrl": LEFT, "rightUrl": RIGHT, "keep": keep.into() })
    }

    #[test]
    fn an_operator_changes_them_and_a_wrong_number_is_refused_with_what_is_right() {
        let trace = talk(async |env| {
            for header in ["Bearer a-token-of-operators", "bearer  a-token-of-operators "] {
                assert_eq!(set(&env, Some(header), keep(2)).await.status, 204, "{header}");
            }
            let operator = Some("Bearer a-token-of-operators");
            for wrong in [keep(0), keep(1_001), keep(-1), keep("2"), json!({ "keep": 2 }), json!(2)]
            {
                assert_eq!(set(&env, operator, wrong.clone()).await.status, 400, "{wrong}");
            }
            let answer = set(&env, operator, keep(0)).await;
            let said = json!({ "error": "a pair keeps from 1 to 1000 comparisons" });
            assert_eq!(json_of(&answer.body), said);
        });
        assert_eq!(table(&trace, "_cf_KV").len(), 1);
    }

    #[test]
    fn who_is_not_known_is_told_401_and_how_and_a_member_403_whatever_is_asked_for() {
        let trace = talk(async |env| {
            for body in [keep(2), keep(0), json!("what")] {
                for header in [
                    None,
                    Some(""),
                    Some("Bearer"),
                    Some("Bearer "),
                    Some("Bearer guessed"),
                    Some("Basic a-token-of-operators"),
                    Some("a-token-of-operators"),
                    Some("Bearer A-TOKEN-OF-OPERATORS"),
                ] {
                    let answer = set(&env, header, body.clone()).await;
                    assert_eq!(answer.status, 401, "{header:?}");
                    assert_eq!(answer.headers.get("www-authenticate"), Some("Bearer"));
                    let said = json_of(&answer.body)["error"].to_string();
                    assert!(said.contains("authorization: Bearer TOKEN"), "{said}");
                }
                let answer = set(&env, Some("Bearer a-token-of-members"), body).await;
                let said = json!({ "error": "settings are changed by operators only" });
                assert_eq!((answer.status, json_of(&answer.body)), (403, said));
            }
        });
        assert_eq!(table(&trace, "_cf_KV").len(), 0);
    }
}

mod redirects {
    use super::*;

    /// How a comparison with this on its right side ends.
    fn end(right: &'static str) -> (String, String) {
        let system = systems::find("comparisons").expect("it is registered");
        let run = simulate(&Scenario::default(), &Source::Tape(Tape::benign()), &|cloud| {
            system.reference().mount(cloud);
            cloud.client("somebody", |env| async move {
                let body = json!({ "leftUrl": "https://prod.example/old", "rightUrl": right });
                ask(&env, "POST", "/compare", body).await;
            });
        });
        let rows = table(&run.expect("it fits").trace, "comparisons");
        (texts(&rows, "result_json")[0].clone(), texts(&rows, "error")[0].clone())
    }

    #[test]
    fn redirects_are_followed_and_reported() {
        let (result, _) = end("https://staging.example/old");
        let result: Json = serde_json::from_str(&result).expect("it is JSON");
        let changes = result["diff"]["changes"].as_array().expect("there are changes");
        let what: Vec<_> = changes.iter().map(|change| change["what"].as_str()).collect();
        assert_eq!(what, [Some("landing"), Some("redirects")], "{changes:?}");
        assert_eq!(changes[1]["right"], "302 prod.example/new");
    }

    #[test]
    fn what_leads_inside_or_nowhere_fails_the_comparison_with_the_reason() {
        for (right, said) in [
            ("https://trap.example/", "169.254.169.254 is not public: link-local"),
            ("https://trap.example/number", "169.254.169.254 is not public: link-local"),
            (
                "https://trap.example/name",
                "inside.example resolves inside: 169.254.169.254 is not public: link-local",
            ),
            ("https://trap.example/loop", "https://trap.example/loop redirects without end"),
            ("https://trap.example/hops/6", "https://trap.example/hops/6 redirects without end"),
            ("https://trap.example/file", "http and https are probed, not file"),
            ("https://trap.example/malformed", "not a URL: invalid IPv6 address"),
            ("https://inside.example/", "inside.example resolves inside: 169.254.169.254 is"),
            ("https://INSIDE.example./", "inside.example. resolves inside: 169.254.169.254 is"),
            ("https://empty.example/", "empty.example has no address"),
            ("https://nobody.example/", "nobody.example has no address"),
            ("https://93.184.215.1/", "no worker called `93.184.215.1` serves requests"),
            ("https://prod.example:8443/", "no worker called `93.184.215.14:8443` serves requests"),
        ] {
            let (result, error) = end(right);
            assert_eq!(result, "NULL", "{right}");
            assert!(error.contains(said), "{right}: {error}");
        }
    }

    #[test]
    fn a_redirect_that_does_not_say_where_to_is_an_answer() {
        let (result, _) = end("https://trap.example/nowhere");
        let result: Json = serde_json::from_str(&result).expect("it is JSON");
        assert_eq!(result["diff"]["changes"][0]["what"], "status");
        assert_eq!(result["diff"]["changes"][0]["right"], "302");
    }

    #[test]
    fn five_redirects_are_followed_and_an_address_is_asked_as_it_stands() {
        for right in ["https://trap.example/hops/5", "https://93.184.215.66/hops/5"] {
            let (result, error) = end(right);
            assert_eq!(error, "NULL", "{right}");
            assert!(result.contains("307 /hops/0"), "{right}: {result}");
        }
    }
}
