//! Every fault can be asked for by name, and then it happens.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use thunderhead_sim::*;

use crate::support::{count, lines, mount, play, uploads};

fn one(rule: ScriptedFault) -> Run {
    play(uploads(&[0]), vec![rule])
}

#[test]
fn without_faults_nothing_goes_wrong() {
    let run = play(uploads(&[0]), vec![]);
    assert_eq!(run.end, End::Quiet);
    assert_eq!(count(&run, "FAULT") + count(&run, "CRASH") + count(&run, "error"), 0);
    assert_eq!(lines(&run, "log"), ["worker log got 0"]);
}

#[test]
fn a_delay_holds_the_request_back() {
    let by = Some(Duration::from_secs(7));
    let run = one(ScriptedFault { by, ..ScriptedFault::once(Fault::Delay, "r2.put") });
    assert_eq!(lines(&run, "FAULT"), ["web FAULT delay on #1 by 7.000s"]);
    assert!(run.trace.to_string().contains("7.001s"), "{}", run.trace);
    assert_eq!(lines(&run, "return #1").len(), 1);
}

#[test]
fn a_delay_beyond_patience_takes_effect_after_the_caller_gave_up() {
    let by = Some(Duration::from_secs(60));
    let run = one(ScriptedFault { by, ..ScriptedFault::once(Fault::Delay, "r2.put") });
    let text = run.trace.to_string();
    let gave_up = text.find("return #1 error: Network connection lost.").expect("gave up");
    let effect = text.find("effect #1 r2.put").expect("took effect all the same");
    assert!(gave_up < effect, "{text}");
    assert_eq!(count(&run, "return #1"), 1);
}

#[test]
fn a_failure_has_the_code_asked_for_and_no_effect() {
    let run = one(ScriptedFault {
        code: Some(10043),
        ..ScriptedFault::once(Fault::Fail, "r2.put photos/*")
    });
    assert!(lines(&run, "return #1")[0].contains("(10043)"), "{}", run.trace);
    assert_eq!(count(&run, "effect #1"), 0);
}

#[test]
fn a_lost_request_never_takes_effect() {
    let run = one(ScriptedFault::once(Fault::LoseRequest, "web>r2.put"));
    assert_eq!(count(&run, "effect"), 0);
    assert_eq!(lines(&run, "return #1"), ["web return #1 error: Network connection lost."]);
}

#[test]
fn a_lost_reply_leaves_the_effect() {
    let run = one(ScriptedFault::once(Fault::LoseReply, "r2.put"));
    assert_eq!(count(&run, "effect #1"), 1);
    assert_eq!(lines(&run, "return #1"), ["web return #1 error: Network connection lost."]);
}

#[test]
fn a_late_reply_follows_its_effect_after_the_time_asked_for() {
    let by = Some(Duration::from_secs(7));
    let run = one(ScriptedFault { by, ..ScriptedFault::once(Fault::LateReply, "r2.put") });
    assert_eq!(lines(&run, "FAULT"), ["web FAULT late_reply on #1 by 7.000s"]);
    let text = run.trace.to_string();
    let seconds = |part: &str| -> f64 {
        let line = text.lines().find(|line| line.contains(part)).expect(part);
        line.split_whitespace().next().unwrap().trim_end_matches('s').parse().unwrap()
    };
    assert!(seconds("effect #1") < 1.0 && seconds("return #1") >= 7.0, "{text}");
    assert_eq!(count(&run, "error"), 0);
}

#[test]
fn a_late_reply_beyond_patience_is_not_heard() {
    let by = Some(Duration::from_secs(60));
    let run = one(ScriptedFault { by, ..ScriptedFault::once(Fault::LateReply, "r2.put") });
    assert_eq!(count(&run, "effect #1"), 1);
    assert_eq!(lines(&run, "return #1"), ["web return #1 error: Network connection lost."]);
}

#[test]
fn late_replies_are_drawn_when_they_are_asked_for() {
    let faults: FaultSet = [Fault::LateReply].into_iter().collect();
    let scenario =
        Scenario { requests: uploads(&[0, 3]), drawn_faults: faults, ..Scenario::default() };
    let drawn = (0..50).any(|seed| {
        let source = Source::Random { seed, swarm: Swarm::of_seed(seed, faults) };
        count(&simulate(&scenario, &source, &mount).unwrap(), "late_reply") > 0
    });
    assert!(drawn && !FaultSet::explored().contains(Fault::LateReply));
}

#[test]
fn an_outage_refuses_every_call_to_its_target_until_it_is_over() {
    let by = Some(Duration::from_secs(10));
    let outage = ScriptedFault { by, ..ScriptedFault::once(Fault::Outage, "r2.put") };
    let run = play(uploads(&[0, 4_000, 20_000]), vec![outage]);
    let faults = lines(&run, "FAULT");
    assert_eq!(faults.len(), 2, "{}", run.trace);
    assert!(faults[0].starts_with("web FAULT outage on #1 by 10.000s"), "{}", faults[0]);
    assert!(faults[1].contains("outage") && faults[1].contains("by 6.000s"), "{}", faults[1]);
    let puts = lines(&run, "effect").iter().filter(|line| line.contains("r2.put")).count();
    assert_eq!(puts, 1, "{}", run.trace);
    assert_eq!(lines(&run, "log"), ["worker log got 2"]);
}

#[test]
fn an_outage_of_one_service_spares_the_others() {
    let by = Some(Duration::from_secs(10));
    let outage = ScriptedFault { by, ..ScriptedFault::once(Fault::Outage, "fetch web/*") };
    let run = play(uploads(&[0, 20_000]), vec![outage]);
    assert_eq!(lines(&run, "FAULT"), ["client FAULT outage on #0 by 10.000s"]);
    assert_eq!(lines(&run, "return #0"), ["client return #0 error: Network connection lost."]);
    assert_eq!(lines(&run, "log"), ["worker log got 1"]);
}

#[test]
fn a_blackout_ends_every_host_after_the_effect() {
    let run = one(ScriptedFault::once(Fault::Blackout, "r2.put"));
    assert_eq!(lines(&run, "CRASH").len(), 2, "{}", run.trace);
    assert_eq!(count(&run, "effect #1"), 1);
    assert_eq!(count(&run, "return #1"), 0);
    assert_eq!(count(&run, "boot"), 2, "{}", run.trace);
    assert_eq!(lines(&run, "log"), ["worker log got 0"]);
}

#[test]
fn a_story_tells_every_fault_on_a_call_without_gaps() {
    for kind in fault::ALL.iter().filter(|kind| kind.classes.contains(&CallClass::Service)) {
        let by = kind.by.then_some(Duration::from_secs(7));
        let run = one(ScriptedFault { by, ..ScriptedFault::once(kind.fault, "r2.put") });
        let strikes = |event: &Event| match event.kind {
            EventKind::Fault { fault, .. } | EventKind::Crash { fault, .. } => fault == kind.fault,
            _ => false,
        };
        let at = run.trace.events().iter().position(strikes).expect(kind.name);
        let story = run.trace.story(&[at], &[]);
        let (_, told) = story.faults.first().expect(kind.name);
        assert!(told.contains("r2.put") && !told.contains(['{', '}']), "{}: {told}", kind.name);
        assert_eq!(kind.by, told.contains(" 7 s"), "{}: {told}", kind.name);
    }
}

#[test]
fn outages_and_blackouts_are_drawn_when_they_are_asked_for() {
    for (fault, told) in [(Fault::Outage, "outage"), (Fault::Blackout, "blackout")] {
        let faults: FaultSet = [fault].into_iter().collect();
        let scenario =
            Scenario { requests: uploads(&[0, 3]), drawn_faults: faults, ..Scenario::default() };
        let drawn = (0..50).any(|seed| {
            let source = Source::Random { seed, swarm: Swarm::of_seed(seed, faults) };
            count(&simulate(&scenario, &source, &mount).unwrap(), told) > 0
        });
        assert!(drawn && !FaultSet::explored().contains(fault), "{fault}");
    }
}

#[test]
fn a_duplicate_takes_effect_twice_and_answers_once() {
    let run = one(ScriptedFault::once(Fault::Duplicate, "r2.put"));
    assert_eq!(count(&run, "effect #1"), 2);
    assert_eq!(count(&run, "return #1"), 1);
    assert_eq!(count(&run, "got 0"), 2, "two puts are two events");
}

#[test]
fn a_duplicate_delivery_reaches_two_invocations_at_once() {
    let run = one(ScriptedFault::once(Fault::Duplicate, "queue.deliver events"));
    assert_eq!(count(&run, "begin"), 3, "the request and two deliveries\n{}", run.trace);
    assert_eq!(lines(&run, "settle").len(), 2);
    assert!(lines(&run, "settle")[1].contains("settled before"), "{}", run.trace);
}

#[test]
fn a_reordered_batch_begins_with_the_newest() {
    let run =
        play(uploads(&[0, 100, 200]), vec![ScriptedFault::once(Fault::Reorder, "queue.deliver")]);
    assert_eq!(lines(&run, "FAULT"), ["queues FAULT reorder"]);
    assert_eq!(lines(&run, "got")[0], "worker log got 1");
}

#[test]
fn a_lost_event_never_reaches_its_queue() {
    let run = one(ScriptedFault::once(Fault::LoseEvent, "r2.notify"));
    assert_eq!(count(&run, "queue.deliver"), 0);
    assert_eq!(lines(&run, "return #0"), ["client return #0 201"]);
}

#[test]
fn a_crash_before_the_effect_leaves_nothing() {
    let run = one(ScriptedFault::once(Fault::CrashBefore, "r2.put"));
    assert_eq!(lines(&run, "CRASH"), ["web CRASH crash_before on #1"]);
    assert_eq!(count(&run, "effect"), 0);
    assert_eq!(lines(&run, "return #0"), ["client return #0 error: Network connection lost."]);
    assert_eq!(lines(&run, "boot"), ["web boot life 2"]);
}

#[test]
fn a_crash_after_the_effect_leaves_it_and_no_reply() {
    let run = one(ScriptedFault::once(Fault::CrashAfter, "r2.put"));
    assert_eq!(count(&run, "effect #1"), 1);
    assert_eq!(count(&run, "return #1"), 0);
    assert_eq!(count(&run, "got 0"), 1);
}

#[test]
fn a_worker_that_dies_with_its_result_is_given_the_batch_again() {
    for fault in [Fault::CrashBefore, Fault::CrashAfter] {
        let run = one(ScriptedFault::once(fault, "queue.deliver"));
        let handled = if fault == Fault::CrashBefore { 1 } else { 2 };
        assert_eq!(count(&run, "got 0"), handled, "{}", run.trace);
        assert!(lines(&run, "settle")[0].contains("retried"), "{}", run.trace);
        assert!(lines(&run, "settle")[1].contains("acked"), "{}", run.trace);
    }
}

#[test]
fn a_result_that_is_lost_makes_the_lease_end() {
    let run = one(ScriptedFault::once(Fault::LoseReply, "queue.deliver"));
    assert_eq!(count(&run, "got 0"), 2);
    assert!(run.trace.to_string().contains("905."), "fifteen minutes later\n{}", run.trace);
}

#[test]
fn a_crash_after_a_poll_leaves_its_requests_on_their_way() {
    let run = one(ScriptedFault::once(Fault::Crash, "web"));
    assert_eq!(lines(&run, "CRASH"), ["web CRASH crash"]);
    assert_eq!(count(&run, "effect #1"), 1, "{}", run.trace);
    assert_eq!(count(&run, "return #1"), 0);
}

#[test]
fn a_kill_happens_at_its_time() {
    let kills = vec![Kill { at: Time::from_ms(2), host: "web".into(), down: None }];
    let scenario = Scenario { requests: uploads(&[0]), kills, ..Scenario::default() };
    let run = simulate(&scenario, &Source::Tape(Tape::benign()), &mount).unwrap();
    assert_eq!(count(&run, "CRASH"), 1);
    assert!(run.trace.to_string().contains("0.002s"), "{}", run.trace);
}

#[test]
fn a_rule_skips_and_stops_as_it_says() {
    let rule =
        ScriptedFault { skip: 1, times: 1, ..ScriptedFault::once(Fault::LoseRequest, "r2.put") };
    let run = play(uploads(&[0, 1_000, 2_000]), vec![rule]);
    assert_eq!(lines(&run, "FAULT"), ["web FAULT lose_request on #4"]);
}

#[test]
fn a_filter_leaves_other_calls_alone() {
    for on in ["r2.get", "r2.put photos/elsewhere", "web>r2.get", "fetch web/elsewhere"] {
        assert_eq!(count(&one(ScriptedFault::once(Fault::LoseRequest, on)), "FAULT"), 0, "{on}");
    }
}

/// Each fault that can strike a bucket or a queue is met in exploration too, not only when a script
/// asks for it; `storms.rs` has the others, on a system that uses everything.
#[test]
fn every_fault_of_buckets_and_queues_is_drawn_within_two_hundred_seeds() {
    let elsewhere =
        [Fault::FewLabels, Fault::Mood, Fault::FalseExists, Fault::StaleRead, Fault::Evict];
    let faults: FaultSet =
        FaultSet::explored().iter().filter(|fault| !elsewhere.contains(fault)).collect();
    let scenario =
        Scenario { requests: uploads(&[0, 3, 1_000]), drawn_faults: faults, ..Scenario::default() };
    let mut unseen: Vec<Fault> = faults.iter().collect();
    for seed in 0..200 {
        let source = Source::Random { seed, swarm: Swarm::of_seed(seed, faults) };
        let run = simulate(&scenario, &source, &mount).unwrap();
        unseen.retain(|seen| {
            !run.trace.events().iter().any(|event| match &event.kind {
                EventKind::Fault { fault, .. } | EventKind::Crash { fault, .. } => fault == seen,
                _ => false,
            })
        });
    }
    assert_eq!(unseen, []);
}
