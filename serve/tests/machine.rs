//! The engine driven from outside, without a disk and a network: what it must not do, step by step.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use thunderhead::model::{Choice, Model, Numbers};
use thunderhead::systems;
use thunderhead_sim::{
    Body, Changes, Cloud, Machine, MachineConfig, Request, Response, Size, Time, ai,
};

/// A machine with a clock that the test moves.
struct Driven {
    machine: Machine,
    now: Time,
}

impl Driven {
    fn new(mount: &dyn Fn(&mut Cloud)) -> Driven {
        Driven::with(&MachineConfig::default(), mount)
    }

    fn with(config: &MachineConfig, mount: &dyn Fn(&mut Cloud)) -> Driven {
        let mut machine = Machine::new(config, mount);
        machine.recover(Time::ZERO);
        Driven { machine, now: Time::ZERO }
    }

    fn uploads() -> Driven {
        Driven::new(&|cloud| systems::find("uploads").unwrap().reference().mount(cloud))
    }

    fn wait(&mut self, duration: Duration) {
        self.now = self.now + duration;
        self.machine.advance(self.now, usize::MAX);
    }

    /// Asks, and lets so much time pass for the answer.
    fn ask(&mut self, method: &str, path: &str, within: Duration) -> Option<u16> {
        let answer = Rc::new(RefCell::new(None));
        let place = answer.clone();
        let request = Request::new(method, path, "meow");
        self.machine.request(request, move |given| *place.borrow_mut() = Some(given));
        self.machine.advance(self.now, usize::MAX);
        self.wait(within);
        answer.take().map(|given| given.map_or(0, |response| response.status))
    }
}

fn has(changes: &Changes, kind: &str) -> bool {
    changes.rows.iter().any(|row| row.kind == kind)
}

#[test]
fn a_put_and_its_notification_are_changes_of_the_same_event() {
    let driven = Driven::uploads();
    driven.machine.request(Request::new("PUT", "/acme/cat.jpg?as=ann@acme", "meow"), |_| ());
    // One event at a time, which is the most that a crash can tell apart.
    let steps: Vec<Changes> = (0..100)
        .map(|_| {
            driven.machine.advance(Time::ZERO, 1);
            driven.machine.take_changes()
        })
        .collect();
    let stored: Vec<&Changes> = steps.iter().filter(|changes| has(changes, "object")).collect();
    assert_eq!(stored.len(), 1);
    assert!(has(stored[0], "message"), "{stored:?}");
}

#[test]
fn a_request_that_only_reads_changes_nothing() {
    let mut driven = Driven::uploads();
    let minute = Duration::from_secs(60);
    assert_eq!(driven.ask("PUT", "/acme/cat.jpg?as=ann@acme", minute), Some(201));
    assert!(!driven.machine.take_changes().is_empty());
    assert_eq!(driven.ask("GET", "/acme?as=ann@acme", minute), Some(200));
    let changes = driven.machine.take_changes();
    assert!(changes.is_empty(), "{changes:?}");
}

#[test]
fn what_the_engine_holds_does_not_grow_with_what_it_has_done() {
    let mut driven = Driven::uploads();
    let mut largest =
        [Size { calls: 0, tasks: 0, hosts: 0, instances: 0, messages: 0, pictures: 0 }; 2];
    let uploads = 1_200;
    for upload in 0..uploads {
        let path = format!("/acme/{}.jpg?as=ann@acme", upload % 7);
        assert_eq!(driven.ask("PUT", &path, Duration::from_millis(300)), Some(201));
        driven.machine.take_changes();
        let (size, half) = (driven.machine.size(), &mut largest[upload / (uploads / 2)]);
        assert_eq!(size.pictures, 0, "a picture is remembered");
        half.calls = half.calls.max(size.calls);
        half.tasks = half.tasks.max(size.tasks);
        half.hosts = half.hosts.max(size.hosts);
    }
    let [first, second] = largest;
    assert!(second.calls <= first.calls.max(1_100), "{first:?}, then {second:?}");
    assert!(
        second.tasks <= first.tasks && second.hosts <= first.hosts,
        "{first:?}, then {second:?}"
    );
}

#[test]
fn a_handler_that_panics_ends_its_host_and_not_the_machine() {
    let mut driven = Driven::new(&|cloud| {
        cloud.worker("web").fetch(|_env, request| async move {
            assert!(request.path != "/boom", "as planned");
            Ok(Response::new(200, ""))
        });
    });
    let minute = Duration::from_secs(60);
    assert_eq!(driven.ask("GET", "/", minute), Some(200));
    assert_eq!(driven.ask("GET", "/boom", minute), Some(0), "the client learns that it was lost");
    assert_eq!(driven.ask("GET", "/", minute), Some(200), "the host has started again");
}

#[test]
fn a_picture_that_is_given_away_holds_up_nobody_and_is_given_again_when_its_model_panics() {
    let looks = Arc::new(AtomicU32::new(0));
    let counter = looks.clone();
    let choice = Choice::Resnet50(Numbers::F32);
    let model = Model::new(choice, "panics once", vec!["one".into()], move |picture: &Body| {
        assert!(counter.fetch_add(1, Relaxed) > 0, "as planned");
        Ok(ai::by_content(picture))
    });
    let system = systems::uploads_with(&model);
    let config = MachineConfig { gives_away: true, ..MachineConfig::default() };
    let mut driven = Driven::with(&config, &|cloud| system.reference().mount(cloud));
    let minute = Duration::from_secs(60);
    assert_eq!(driven.ask("PUT", "/acme/cat.jpg?as=ann@acme", minute), Some(201));
    for look in 1..=2 {
        let mut given = driven.machine.take_inferences();
        assert_eq!(given.len(), 1);
        assert_eq!(driven.ask("GET", "/acme/cat.jpg?as=ann@acme", Duration::ZERO), Some(200));
        assert!(!driven.machine.is_at_rest());
        driven.machine.answer(given.remove(0).run());
        assert_eq!(looks.load(Relaxed), look);
        // The answer, and the pause after which the step is tried again.
        driven.wait(minute);
        driven.wait(minute);
    }
    assert!(driven.machine.take_inferences().is_empty());
    // What watches over the upload sees that all is well.
    (0..48).for_each(|_| driven.wait(60 * minute));
    assert!(driven.machine.take_inferences().is_empty() && driven.machine.is_at_rest());
}

#[test]
fn the_clock_does_not_go_back_behind_what_was_written() {
    let mount = |cloud: &mut Cloud| systems::find("relay").unwrap().reference().mount(cloud);
    let mut driven = Driven::new(&mount);
    driven.wait(Duration::from_secs(100));
    assert_eq!(driven.ask("PUT", "/cat.jpg", Duration::ZERO), Some(201));
    let mut next = Machine::new(&MachineConfig::default(), &mount);
    for row in driven.machine.take_changes().rows {
        next.restore_row(row.kind, &row.key, &row.value.unwrap(), row.body).unwrap();
    }
    // The wall clock was set back meanwhile.
    next.recover(Time::from_ms(5));
    assert_eq!(next.now(), Time::ZERO + Duration::from_secs(100));
    next.advance(Time::from_ms(6), usize::MAX);
    assert_eq!(next.now(), Time::ZERO + Duration::from_secs(100));
}
