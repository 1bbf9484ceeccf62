//! A search that is stopped and taken up, or played in shards, finds what it would have found in one go.

use thunderhead::systems;
use thunderhead_props::explore::{Checkpoint, CheckpointError, Findings, Search, Shard, Strategy};

/// A variant that fails often, so that there is more to keep than what is kept.
fn search(strategy: Strategy, shard: &str) -> Search<'static> {
    let system = systems::find("relay").expect("the relay is registered");
    let variant = system.variant("acks-early").expect("it is a variant");
    let shard = shard.parse().expect("a shard");
    Search { seed: 7, runs: 1_700, shard, ..Search::new(system, variant, strategy) }
}

/// All there is to know about what was found.
fn all(findings: &Findings) -> String {
    let Findings { runs, trace_hash, complete, seen, broken, .. } = findings;
    let broken: Vec<_> = broken
        .iter()
        .map(|b| (&b.violation, &b.also, b.times, b.seed, b.shrunk_from, &b.case.tape))
        .collect();
    format!("{runs} {trace_hash} {complete:?} {seen:?} {broken:?}")
}

fn whole(strategy: Strategy) -> String {
    let findings = search(strategy, "1/1").run(&mut |_| true).unwrap();
    assert!(!findings.broken.is_empty(), "there is something to compare");
    all(&findings)
}

/// Plays a shard for so many batches.
fn played(search: &Search, from: Option<&Checkpoint>, batches: u32) -> (Checkpoint, Findings) {
    let (mut left, mut last) = (batches, from.cloned().unwrap_or_default());
    let findings = search.take_up(from, &mut |_| {}, &mut |progress, saved| {
        assert_eq!(progress.runs, saved().runs);
        (left, last) = (left - 1, saved());
        left > 0
    });
    (last, findings.unwrap())
}

#[test]
fn a_search_that_is_stopped_after_every_batch_finds_the_same() {
    for strategy in [Strategy::Random, Strategy::Pct] {
        let search = search(strategy, "1/1");
        let (mut saved, mut findings) = played(&search, None, 1);
        let mut stops = 0;
        while saved.runs < search.runs {
            assert_eq!(findings.runs, saved.runs);
            (saved, findings) = played(&search, Some(&saved), 1);
            stops += 1;
        }
        assert_eq!(stops, 3, "1,700 runs are three batches and a part of one");
        assert_eq!(all(&findings), whole(strategy));
        let again = search.take_up(Some(&saved), &mut |_| {}, &mut |_, _| unreachable!()).unwrap();
        assert_eq!(all(&again), whole(strategy), "it has been finished");
    }
}

#[test]
fn shards_put_together_in_their_order_are_the_whole() {
    for of in [1, 2, 3, 5] {
        let shards: Vec<(Shard, Checkpoint)> = (1..=of)
            .map(|number| {
                let search = search(Strategy::Random, &format!("{number}/{of}"));
                (search.shard, played(&search, None, u32::MAX).0)
            })
            .collect();
        let parts: Vec<(Shard, &Checkpoint)> =
            shards.iter().map(|(shard, saved)| (*shard, saved)).collect();
        let merged = search(Strategy::Random, "1/1").merge(&parts).unwrap();
        assert_eq!(all(&merged), whole(Strategy::Random), "{of} shards");
    }
}

#[test]
fn what_another_search_has_saved_is_refused() {
    let search = search(Strategy::Random, "1/1");
    let (saved, _) = played(&search, None, 2);
    let refused = |search: &Search, saved: &Checkpoint, why: &str| {
        let answer = search.take_up(Some(saved), &mut |_| {}, &mut |_, _| unreachable!());
        match answer {
            Err(CheckpointError::Other(text)) => assert!(text.contains(why), "{text}"),
            other => panic!("{other:?}"),
        }
    };
    let with = |change: &dyn Fn(&mut Checkpoint)| {
        let mut saved = saved.clone();
        change(&mut saved);
        saved
    };
    refused(&Search { seed: 8, ..search.clone() }, &saved, "the system has changed");
    refused(&search, &with(&|saved| saved.first = None), "the system has changed");
    refused(&search, &with(&|saved| saved.runs -= 1), "another number of runs");
    refused(&search, &with(&|saved| saved.runs = u64::MAX), "another number of runs");
    refused(&search, &with(&|saved| saved.blocks.truncate(1)), "another number of hashes");
    refused(&search, &with(&|saved| saved.seen.clear()), "other things that sometimes happen");
    let unknown =
        |saved: &mut Checkpoint| drop(saved.broken.insert("hope".into(), Default::default()));
    refused(&search, &with(&unknown), "does not promise `hope`");
    let without_seeds =
        |saved: &mut Checkpoint| saved.broken.values_mut().for_each(|one| one.seeds.clear());
    refused(&search, &with(&without_seeds), "too few or too many seeds");
}
