//! A few seconds of every input: the corpus, and inputs made from it.

use thunderhead_fuzz::{ALL, Input, files, images};

fn named(name: &str) -> Input {
    ALL.into_iter().find(|input| input.name == name).expect("there is such an input")
}

/// Reads `cases` inputs, the same each time: a test must not find today what it did not find yesterday. What fails is
/// told by its number and its text.
fn holds(name: &str, cases: u64) {
    let input = named(name);
    let mut known = (input.examples)();
    known.extend(files(&input.corpus()).into_iter().map(|(_, bytes)| bytes));
    for seed in 0..cases {
        let bytes = (input.mutated)(seed, &known, &(input.words)());
        let read = (input.check)(&bytes);
        assert!(read.is_ok(), "seed {seed}: {read:?}\n{}", String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn everything_in_the_corpus_is_read_or_refused() {
    for input in ALL {
        let files = files(&input.corpus());
        assert!(!files.is_empty(), "{} has no corpus", input.name);
        for (name, bytes) in files {
            assert_eq!((input.check)(&bytes), Ok(()), "{}/{name}", input.name);
        }
    }
}

#[test]
fn every_example_is_valid_and_holds() {
    for input in ALL {
        for bytes in (input.examples)() {
            assert_eq!((input.check)(&bytes), Ok(()), "{}", String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn scripts_are_read_or_refused() {
    holds("scripts", 400);
}

#[test]
fn tapes_are_read_or_refused() {
    holds("tapes", 400);
}

#[test]
fn failure_files_are_read_or_refused() {
    holds("failures", 300);
}

#[test]
fn notifications_are_read_or_refused() {
    holds("notifications", 4_000);
}

#[test]
fn addresses_are_allowed_or_refused() {
    holds("addresses", 8_000);
}

#[test]
fn images_are_decoded_or_refused() {
    holds("images", 2_000);
}

/// Or the checksums would keep everything behind them from being tried.
#[test]
fn many_mutated_pictures_of_each_format_are_still_decoded() {
    let input = named("images");
    let words = (input.words)();
    for signature in [&b"\xff\xd8"[..], b"\x89PNG", b"RIFF", b"GIF", b"BM"] {
        let mut examples = (input.examples)();
        examples.retain(|example| example.starts_with(signature));
        let decoded = (0..400)
            .filter(|seed| images::decoded(&(input.mutated)(*seed, &examples, &words)).is_ok());
        let decoded = decoded.count();
        assert!((15..360).contains(&decoded), "{decoded} of 400 {signature:?} are decoded");
    }
}

#[test]
fn mutations_of_one_number_are_the_same_and_most_scripts_are_still_toml() {
    let input = named("scripts");
    let examples = (input.examples)();
    let words = (input.words)();
    assert_eq!((input.mutated)(7, &examples, &words), (input.mutated)(7, &examples, &words));
    let parsed = (0..400).filter(|seed| {
        let bytes = (input.mutated)(*seed, &examples, &words);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        thunderhead_sim::Script::parse("a.toml", &text)
            .err()
            .is_none_or(|error| !error.wrong.starts_with("not TOML"))
    });
    assert!(parsed.count() > 80, "too few inputs get beyond the grammar");
}
