//! KV asked directly, to the millisecond: a storm is over before a location has forgotten what it believed.

use thunderhead_sim::Time;
use thunderhead_sim::kv::{Error, Kv, ListOptions, Op, PutOptions, Reply};

/// One namespace, in which the tests use one key.
struct Settings(Kv);

impl Settings {
    fn new() -> Settings {
        let mut kv = Kv::default();
        kv.create_namespace("settings").unwrap();
        Settings(kv)
    }

    fn ask(&mut self, ms: u64, op: &Op, lag: u64) -> Result<Reply, Error> {
        self.0.apply(Time::from_ms(ms), op, lag)
    }

    fn put(&mut self, ms: u64, value: &str) {
        self.ask(ms, &Op::put("settings", "theme", value, PutOptions::default()), 0).unwrap();
    }

    /// What a location reads that does not know the `lag` latest writes.
    fn get(&mut self, ms: u64, lag: u64) -> Option<String> {
        match self.ask(ms, &Op::get("settings", "theme"), lag) {
            Ok(Reply::Value(found)) => found.map(|entry| entry.value.text().unwrap().to_string()),
            other => panic!("{other:?}"),
        }
    }

    /// The keys that such a location lists.
    fn list(&mut self, ms: u64, lag: u64) -> Vec<String> {
        match self.ask(ms, &Op::list("settings", ListOptions::default()), lag) {
            Ok(Reply::Listing(page)) => page.keys.iter().map(|key| key.name.to_string()).collect(),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_location_may_not_know_a_write_for_ninety_seconds() {
    let mut kv = Settings::new();
    kv.put(0, "light");
    kv.put(5_000, "dark");
    assert_eq!(kv.get(94_999, 1).as_deref(), Some("light"));
    assert_eq!(kv.get(95_000, 1).as_deref(), Some("dark"));
}

#[test]
fn a_location_may_believe_whatever_a_key_was_in_the_last_ninety_seconds() {
    let mut kv = Settings::new();
    for (at, value) in [(0, "a"), (10_000, "b"), (60_000, "c"), (100_000, "d")] {
        kv.put(at, value);
    }
    // Nobody has read any of them. "a" was replaced more than ninety seconds ago.
    for (lag, believed) in [(0, "d"), (1, "c"), (2, "b"), (3, "b"), (u64::MAX, "b")] {
        assert_eq!(kv.get(101_000, lag).as_deref(), Some(believed), "{lag}");
    }
}

#[test]
fn a_location_remembers_for_ninety_seconds_that_a_key_was_not_there() {
    for (at, believed) in [(89_999, None), (90_000, Some("light"))] {
        let mut kv = Settings::new();
        assert_eq!(kv.get(0, 0), None);
        kv.put(1_000, "light");
        assert_eq!(kv.get(at, 1).as_deref(), believed);
    }
}

#[test]
fn a_list_may_lack_the_latest_write_for_ninety_seconds() {
    let mut kv = Settings::new();
    kv.put(5_000, "light");
    assert!(kv.list(94_999, 1).is_empty());
    assert_eq!(kv.list(95_000, 1), ["theme"]);
}

#[test]
fn a_value_is_gone_from_the_second_on_at_which_it_expires() {
    let mut kv = Settings::new();
    let options = PutOptions { expiration_ttl: Some(60), ..PutOptions::default() };
    kv.ask(0, &Op::put("settings", "theme", "light", options), 0).unwrap();
    assert_eq!(kv.get(59_999, 0).as_deref(), Some("light"));
    assert_eq!(kv.list(59_999, 0), ["theme"]);
    assert_eq!(kv.get(60_000, 0), None);
    assert!(kv.list(60_000, 0).is_empty());
}

#[test]
fn a_value_is_kept_for_sixty_seconds_at_least_and_cached_for_thirty() {
    let mut kv = Settings::new();
    let mut said =
        |op: Op| kv.ask(0, &op, 0).map_or_else(|error| error.to_string(), |_| "ok".into());
    let put = |ttl: i64| {
        let options = PutOptions { expiration_ttl: Some(ttl), ..PutOptions::default() };
        Op::put("settings", "theme", "light", options)
    };
    let get = |ttl: i64| Op::Get {
        namespace: "settings".into(),
        key: "theme".into(),
        cache_ttl: Some(ttl),
    };
    assert_eq!(
        said(put(59)),
        "KV PUT failed: 400 Invalid expiration_ttl of 59. Expiration TTL must be at least 60."
    );
    assert_eq!(
        said(get(29)),
        "KV GET failed: 400 Invalid cache_ttl of 29. Cache TTL must be at least 30."
    );
    assert_eq!([said(put(60)), said(get(30))], ["ok", "ok"]);
}

#[test]
fn a_hundred_keys_are_read_at_once_and_no_more() {
    let mut kv = Settings::new();
    let bulk = |count: usize| Op::GetBulk {
        namespace: "settings".into(),
        keys: (0..count).map(|i| format!("k{i}").into()).collect(),
    };
    assert!(kv.ask(0, &bulk(100), 0).is_ok());
    let error = kv.ask(0, &bulk(101), 0).unwrap_err();
    let expected = "KV GET_BULK failed: 400 You can request a maximum of 100 keys";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_storm_draws_three_errors_for_a_write_and_two_for_a_read() {
    let texts = |op: Op| op.refusals().iter().map(Error::to_string).collect::<Vec<String>>();
    assert_eq!(
        texts(Op::put("settings", "theme", "light", PutOptions::default())),
        [
            "KV PUT failed: 429 Too Many Requests",
            "KV PUT failed: 500 Internal Server Error",
            "KV PUT failed: 503 Service Unavailable",
        ]
    );
    assert_eq!(texts(Op::delete("settings", "theme")).len(), 3);
    assert_eq!(
        texts(Op::get("settings", "theme")),
        ["KV GET failed: 500 Internal Server Error", "KV GET failed: 503 Service Unavailable"]
    );
}
