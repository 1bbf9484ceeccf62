//! What is wrong with a script is said where it is wrong, with what to do about it.

mod support;

use support::{scratch, thunderhead};

/// Plays a script of which one line is replaced, and expects an objection at `place`.
fn objects(case: &str, lines: &[&str], place: &str, said: &[&str]) {
    let folder = scratch(&format!("bad-{case}"));
    let text = lines.join("\n");
    std::fs::write(folder.join("a.toml"), &text).expect("the folder is ours");
    for command in ["run", "trace"] {
        let done = thunderhead(&folder, &[command, "a.toml"]);
        assert_eq!(done.code, 2, "{case}: {}{}", done.stdout, done.stderr);
        assert_eq!(done.stdout, "", "{case}");
        let expected = format!("error: a.toml:{place}: ");
        assert!(done.stderr.starts_with(&expected), "{case}: expected {expected}\n{}", done.stderr);
        for words in said {
            assert!(done.stderr.contains(words), "{case}: expected {words}\n{}", done.stderr);
        }
        assert!(done.stderr.contains('^'), "{case}: {}", done.stderr);
    }
}

const STORY: &str = "story = \"A test.\"";
const SYSTEM: &str = "system = \"relay\"";
const REQUESTS: &str = "requests = [{ at = \"0s\", fetch = \"PUT /cat.jpg\" }]";

fn line(case: &str, line: &str, column: usize, said: &[&str]) {
    objects(case, &[STORY, SYSTEM, REQUESTS, line], &format!("4:{column}"), said);
}

#[test]
fn broken_toml_and_unknown_or_missing_fields_are_pointed_at() {
    objects("toml", &[STORY, SYSTEM, "send = [{ at = "], "3:15", &["not TOML", "cut off"]);
    line("field", "sed = 7", 1, &["no field `sed`", "did you mean `seed`?", "story, system"]);
    objects("story", &[SYSTEM], "1:1", &["no `story`", "one sentence"]);
    objects("system", &[STORY], "1:1", &["no `system`"]);
    line("kind", "faults = [{ on = \"r2.put\" }]", 11, &["no `kind`", "thunderhead list"]);
    let ends = "`storm_ends_at` is a string, not a number";
    line("type", "storm_ends_at = 60", 17, &[ends, "\"250ms\""]);
    // The earlier name of a field is read, but not beside the new one.
    line("earlier", "calm = 60", 8, &[ends]);
    line("twice", "send = []", 1, &["a script has no field `send`"]);
    line("list", "expect = \"always\"", 10, &["`expect` is a list", "write expect = ["]);
    line("negative", "seed = -1", 8, &["`seed` cannot be -1", "not negative"]);
    line("both", "seed = 1\ntape = []", 8, &["a seed or a tape, not both"]);
}

#[test]
fn names_of_requests_are_plain_and_different() {
    let requests = "requests = [{ fetch = \"GET /\", name = \"a b\" }]";
    let said = ["`a b` is no name", "letters, digits"];
    objects("name", &[STORY, SYSTEM, requests], "3:39", &said);
    let requests =
        "requests = [{ fetch = \"GET /\", name = \"a\" }, { fetch = \"GET /\", name = \"a\" }]";
    let said = ["two requests have the name `a`", "another name"];
    objects("name-twice", &[STORY, SYSTEM, requests], "3:72", &said);
}

#[test]
fn unknown_names_are_met_with_the_known_ones() {
    line(
        "drawn",
        "drawn_faults = [\"delay\", \"lose_repy\"]",
        26,
        &["`lose_repy`", "mean `lose_reply`?"],
    );
    let faults = "faults = [{ kind = \"gremlins\", on = \"r2.put\" }]";
    line("fault", faults, 20, &["unknown fault `gremlins`", "known are: delay, fail"]);
    let faults = "faults = [{ kind = \"fail\", on = \"r2.pot x\" }]";
    line("call", faults, 33, &["no call `r2.pot`", "did you mean `r2.put`?"]);
    let faults = "faults = [{ kind = \"fail\", on = \"rely>r2.put\" }]";
    line("caller", faults, 33, &["nobody called `rely` makes calls here", "mean `relay`?"]);
    let faults = "faults = [{ kind = \"fail\", on = \"r2.put photo/*\" }]";
    line("target", faults, 33, &["no `r2.put` is about `photo/*` here", "mean `photos/*`?"]);
    let faults = "faults = [{ kind = \"fail\", on = \"queue.send upload\" }]";
    line("queue", faults, 33, &["about `upload` here", "mean `uploads`?"]);
    let faults = "faults = [{ kind = \"fail\", on = \"r2.put\", code = 10002 }]";
    line("code", faults, 50, &["code 10002", "did you mean `10001`?"]);
    let faults = "faults = [{ kind = \"fail\", on = \"ai.run\", code = 10001 }]";
    line("code-ai", faults, 50, &["`fail` has no code 10001 here", "known are: 3003"]);
    let faults = "faults = [{ kind = \"few_labels\", on = \"ai.run\", code = 5 }]";
    line("code-labels", faults, 56, &["`few_labels` has no code 5 here"]);
    let faults = "faults = [{ kind = \"delay\", on = \"r2.put\", code = 1 }]";
    line("code-delay", faults, 51, &["`code` means nothing for `delay`"]);
    let faults = "faults = [{ kind = \"evict\", on = \"ROOM:a\" }]";
    line("object", faults, 34, &["no worker `ROOM:a` to crash"]);
    let faults = "faults = [{ kind = \"evict\", on = \"relay\" }]";
    line("evict-worker", faults, 34, &["`relay` is not a durable object", "`CLASS:name`"]);
    let faults = "faults = [{ kind = \"crash\", on = \"relay\", code = 1 }]";
    line("lose-worker", faults, 34, &["`relay` is not a durable object"]);
    let faults = "faults = [{ kind = \"crash\", on = \"rel*\", at = \"1s\" }]";
    line("victims", faults, 34, &["a crash at a time has one victim"]);
    let faults =
        "faults = [{ kind = \"crash\", on = \"ORGANIZATION:a\", at = \"1s\", by = \"5s\" }]";
    let lines = [STORY, "system = \"uploads\"", REQUESTS, faults];
    objects("by-object", &lines, "4:34", &["does not stay down", "leave `by` out"]);
    let faults = "faults = [{ kind = \"fail\", on = \"queue.deliver\", code = 10250 }]";
    line("code-none", faults, 57, &["`fail` has no codes on `queue.deliver`"]);
    let faults = "faults = [{ kind = \"stale_read\", on = \"d1.raw\", code = 0 }]";
    line("code-lag", faults, 56, &["`stale_read` has no code 0 here"]);
    let faults = "faults = [{ kind = \"crash\", on = \"rely\", at = \"1s\" }]";
    line("host", faults, 34, &["no worker `rely` to crash", "did you mean `relay`?"]);
    line("model", "model = \"resnet5\"", 9, &["no model `resnet5`", "mean `resnet50`?"]);
    line("variant", "variant = \"referense\"", 11, &["relay has no variant", "mean `reference`?"]);
    line("timing", "timing = \"fast\"", 10, &["unknown timing `fast`", "\"latency\" or \"order\""]);
    objects(
        "system-name",
        &[STORY, "system = \"really\""],
        "2:10",
        &["no system `really`", "relay"],
    );
    line(
        "promise",
        "expect = [\"always two receipts\"]",
        11,
        &["promises no `two receipts`", "one receipt per upload"],
    );
    line(
        "word",
        "expect = [\"alway one receipt per upload\"]",
        11,
        &["`alway`", "did you mean `always`?"],
    );
    let expect = "expect = [\"always every upload has its receipt\"]";
    line("sort", expect, 11, &["write \"eventually every upload has its receipt\""]);
}

#[test]
fn times_chances_requests_and_tapes_must_make_sense() {
    for (case, time, said) in [
        ("backwards", "-3s", "time does not run backwards"),
        ("parsecs", "5 parsecs", "`parsecs` is not a unit of time"),
        ("unitless", "5", "`5` has no unit"),
    ] {
        line(case, &format!("calm = \"{time}\""), 8, &[said, "\"250ms\""]);
        let send = format!("send = [{{ at = \"{time}\", fetch = \"PUT /a\" }}]");
        objects(&format!("send-{case}"), &[STORY, SYSTEM, &send], "3:16", &[said]);
    }
    let faults = "seed = 1\nfaults = [{ kind = \"fail\", on = \"r2.*\", chance = \"often\" }]";
    objects("chance", &[STORY, SYSTEM, faults], "4:50", &["`often` is not a chance", "\"10%\""]);
    let faults = "faults = [{ kind = \"fail\", on = \"r2.*\", chance = \"10%\" }]";
    line("seedless", faults, 50, &["without a seed", "add a `seed`"]);
    let faults = "faults = [{ kind = \"fail\", on = \"r2.*\", by = \"3s\" }]";
    line("by", faults, 46, &["`by` means nothing for `fail`", "belongs to `delay`"]);
    line("tape", "tape = [\"verdict relay>r2.put\"]", 9, &["not a choice", "relay → r2.put (2nd)"]);
    let tape = "tape = [\"lose_repy on relay → r2.put (1st)\"]";
    line("tape-fault", tape, 9, &["unknown fault `lose_repy`", "lose_reply"]);
    let tape = "tape = [\"lose_reply on relay → r2.put (1st)\"]";
    line("tape-drawn", tape, 9, &["`lose_reply` is not among the drawn faults"]);
    for (case, send, column, said) in [
        ("to", "fetch = \"PUT /a\", to = \"wbe\"", 34, "did you mean `web`?"),
        ("method", "fetch = \"put /a\"", 19, "`put` is not a method"),
        ("path", "fetch = \"PUT a\"", 19, "does not begin with `/`"),
        ("fetch", "body = \"x\"", 9, "no `fetch`"),
        ("body", "fetch = \"PUT /a\", body = 7", 36, "string or bytes, not a number"),
        ("hex", "fetch = \"PUT /a\", body = { hex = \"xyz\" }", 44, "`xyz` is not hexadecimal"),
        ("no-bytes", "fetch = \"PUT /a\", body = {}", 36, "one of hex, file, picture, not 0"),
        (
            "two-bodies",
            "fetch = \"PUT /a\", body = { hex = \"\", file = \"a.toml\" }",
            36,
            "one of hex, file, picture, not 2",
        ),
        ("no-name", "fetch = \"PUT /a\", body = { file = \"\" }", 45, "`file` is empty"),
        ("nowhere", "fetch = \"PUT /a\", body = { file = \"no.jpg\" }", 36, "the file `no.jpg`: "),
        ("folder", "fetch = \"PUT /a\", body = { file = \".\" }", 36, "it is a folder"),
        ("device", "fetch = \"PUT /a\", body = { file = \"/dev/zero\" }", 36, "pipe or a device"),
    ] {
        let send = format!("send = [{{ {send} }}]");
        objects(case, &[STORY, SYSTEM, &send], &format!("3:{column}"), &[said]);
    }
}

#[test]
fn a_body_that_is_too_large_is_pointed_at() {
    let folder = scratch("bad-large");
    let send = |file: &str, retries: u32| {
        let script = format!(
            "{STORY}\n{SYSTEM}\nrequests = [{{ fetch = \"PUT /a\", body = {{ file = \"{file}\" }}, retries = {retries} }}]"
        );
        std::fs::write(folder.join("a.toml"), script).expect("the folder is ours");
        thunderhead(&folder, &["run", "a.toml"])
    };
    for (file, bytes) in [("fits", 4 << 20), ("large", (8 << 20) + 1)] {
        std::fs::write(folder.join(file), vec![0; bytes]).expect("the folder is ours");
    }
    let done = send("fits", 0);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{}", done.stdout);
    for (file, retries, said) in [
        ("fits", 2, "with their retries, all requests send 12582"),
        ("large", 0, "it has more than 8388608 bytes"),
    ] {
        let done = send(file, retries);
        assert_eq!((done.code, done.stdout.as_str()), (2, ""));
        assert!(done.stderr.starts_with("error: a.toml:3:40: "), "{}", done.stderr);
        assert!(done.stderr.contains(said), "{}", done.stderr);
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let folder = scratch("bad-nowhere");
    let done = thunderhead(&folder, &["run", "nowhere.toml", "--json"]);
    assert_eq!(done.code, 2);
    assert!(done.stderr.contains("nowhere.toml"), "{}", done.stderr);
    let json = done.json();
    assert_eq!(json["ok"], false);
    assert!(json["error"].as_str().unwrap().contains("nowhere.toml"));
}
