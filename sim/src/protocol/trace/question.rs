//! What was asked in a call and what was answered, as a history tells it.

use super::OutcomeId;
use super::abbreviation;
use super::text::{Length, Text};
use super::truncate::columns;
use crate::protocol::op::Op;
use crate::protocol::outcome::{Outcome, Reply};
use crate::services::sqlite::TIED;
use crate::services::workflow::{self, AttemptResult, Progress};
use crate::services::{d1, sqlite};
use crate::values::count::count;

/// A text is never cut to fewer columns than this.
const NARROWEST: usize = 40;
/// The answers of a batch are added up when they take more columns than this.
const BATCH_MAX: usize = 24;

impl Text<'_> {
    /// What was asked in a call and, when it is known, what came of it, to be broken into so many lines.
    pub(super) fn call(
        &self,
        verb: &str,
        call: u32,
        outcome: Option<OutcomeId>,
        lines: usize,
    ) -> String {
        let (op, head) = (self.trace.op(call), format!("{verb:<6} #{call} "));
        let mut asked = self.question(op);
        if verb == "step" {
            asked = asked.replacen("finishStep ", "", 1);
        }
        let outcome = outcome.map(|outcome| self.trace.outcome(outcome));
        let told = outcome.map_or(String::new(), |outcome| self.answer(op, outcome));
        // A step's result is told once.
        let told = match told.as_str() {
            told if told.is_empty() || asked.ends_with(&format!(": {told}")) => String::new(),
            told => format!(" ={TIED}{told}"),
        };
        // The number of the call is no part of it: the same question is cut at the same place.
        let width = self.room(lines).saturating_sub(columns("effect #999 ")).max(NARROWEST);
        if self.length != Length::Short || columns(&asked) + columns(&told) <= width {
            return format!("{head}{asked}{told}");
        }
        let share = if outcome.is_some_and(failed) { width * 2 / 3 } else { width * 2 / 5 };
        // Whom it is about and which method, step or table it is are not cut for the sake of the answer.
        let spare = width.saturating_sub(columns(&self.name(op, &asked)) + columns(" {…}"));
        let room = width.saturating_sub(columns(&asked)).max(share.min(spare).max(width / 5));
        let told = abbreviation::fit(&told, room);
        let room = width - columns(&told);
        format!("{head}{}{told}", self.fitted_question(op, &asked, room))
    }

    /// What was asked in a call, without its number.
    pub(super) fn asked(&self, call: u32) -> String {
        let text = self.call("", call, None, 1);
        text.trim_start().split_once(' ').map_or(String::new(), |(_, asked)| asked.to_string())
    }

    /// The question of an engine is told without the engine, which is in the column of actors.
    pub(super) fn question(&self, op: &Op) -> String {
        let text = format!("{op:#}");
        let engine = match op {
            Op::Workflow(op) if self.length != Length::Wide => op.engine(),
            _ => None,
        };
        let text = match engine.filter(|engine| self.subjects.instance(engine).is_some()) {
            Some(engine) => {
                text.replacen(&format!(" {engine}"), "", 1).replacen("workflow.", "", 1)
            }
            None => text,
        };
        self.plain(&text)
    }

    /// A question up to its body: `object.rpc ORGANIZATION:acme onDelete`, `d1.run LIBRARY: INSERT INTO artifacts`.
    fn name(&self, op: &Op, asked: &str) -> String {
        if let Op::D1(op) = op {
            return abbreviation::table(&abbreviation::lists(asked)).to_string() + &more(op);
        }
        let starts = [" \"", " {", " [", ": ", " bytes ", "?"];
        let body = starts.iter().filter_map(|start| asked.find(start)).min();
        asked[..body.unwrap_or(asked.len())].into()
    }

    fn fitted_question(&self, op: &Op, asked: &str, room: usize) -> String {
        let Op::D1(op) = op else { return abbreviation::fit(asked, room) };
        let more = more(op);
        match &op.method {
            d1::Method::Batch(statements) if !more.is_empty() && columns(asked) > room => {
                let first = format!("d1.batch {}: {:#}", op.database, statements[0]);
                let room = room.saturating_sub(columns(&more));
                abbreviation::fit_sql(&self.plain(&first), room) + &more
            }
            _ => abbreviation::fit_sql(asked, room),
        }
    }

    /// What came of a call, as far as its question has not said so.
    fn answer(&self, op: &Op, outcome: &Outcome) -> String {
        let told = match outcome {
            Ok(reply) => format!("{reply:#}"),
            Err(error) => format!("error: {error}"),
        };
        let told = match (op, outcome) {
            (Op::D1(op), Ok(Reply::D1(reply))) => {
                let short = self.length == Length::Short;
                written(op, &reply.answer, short).unwrap_or(told)
            }
            (
                Op::Workflow(workflow::Op::Create { options, .. }),
                Ok(Reply::Workflow(workflow::Reply::Instance { id })),
            ) if options.id.as_ref() == Some(id) && self.length != Length::Wide => "created".into(),
            (Op::Workflow(op), Ok(Reply::Workflow(workflow::Reply::Step(progress)))) => {
                match self.length {
                    Length::Wide => told,
                    _ => step(op, progress).unwrap_or(told),
                }
            }
            (Op::Workflow(workflow::Op::Begin { .. }), Ok(_)) if self.length != Length::Wide => {
                told.replacen("begun ", "", 1)
            }
            _ => told,
        };
        self.plain(&told)
    }

    pub(super) fn told(&self, outcome: OutcomeId) -> String {
        let told = match self.trace.outcome(outcome) {
            Ok(reply) => format!("{reply:#}"),
            Err(error) => format!("error: {error}"),
        };
        self.plain(&told)
    }
}

/// How many statements of a batch follow the first.
fn more(op: &d1::Op) -> String {
    match &op.method {
        d1::Method::Batch(statements) if statements.len() > 1 => {
            format!("; and {} more", statements.len() - 1)
        }
        _ => String::new(),
    }
}

/// Whether an answer is an error, of which a reader needs the words.
fn failed(outcome: &Outcome) -> bool {
    let thrown = |progress: &Progress| matches!(progress, Progress::Thrown(_));
    match outcome {
        Err(_) => true,
        Ok(Reply::Workflow(workflow::Reply::Step(progress))) => thrown(progress),
        _ => false,
    }
}

/// What statements that write have changed, even when that is nothing; what others found.
fn written(op: &d1::Op, answer: &d1::Answer, short: bool) -> Option<String> {
    let one = |statement: &d1::Statement, result: &d1::D1Result| {
        let idle = result.results.is_empty() && result.meta.changes == 0;
        if idle && !sqlite::only_reads(&statement.sql) {
            "0 changes".into()
        } else {
            format!("{result:#}")
        }
    };
    match (&op.method, answer) {
        (d1::Method::All(statement) | d1::Method::Run(statement), d1::Answer::Result(result)) => {
            Some(one(statement, result))
        }
        (d1::Method::Batch(statements), d1::Answer::Batch(results)) => {
            let each = statements.iter().zip(results).map(|(asked, result)| one(asked, result));
            let each = each.collect::<Vec<_>>().join("; ");
            if !short || columns(&each) <= BATCH_MAX {
                return Some(each);
            }
            let sum = |of: fn(&d1::D1Result) -> usize| results.iter().map(of).sum();
            let changes = count(sum(|result| result.meta.changes as usize), "change");
            let rows: usize = sum(|result| result.results.len());
            let rows = (rows > 0).then(|| format!(", {}", count(rows, "row")));
            Some(changes + &rows.unwrap_or_default())
        }
        _ => None,
    }
}

/// Where a step stands after an attempt.
fn step(op: &workflow::Op, progress: &Progress) -> Option<String> {
    match (op, progress) {
        (workflow::Op::BeginStep { .. } | workflow::Op::FinishStep { .. }, Progress::Until(at)) => {
            Some(format!("again{TIED}at{TIED}{at}"))
        }
        (
            workflow::Op::FinishStep { result: AttemptResult::Err(error), .. },
            Progress::Thrown(thrown),
        ) if thrown.message.ends_with(&*error.message) => Some(format!("throws{TIED}it")),
        // The first attempt is the usual case.
        (workflow::Op::BeginStep { .. }, Progress::Run { attempt: 1, .. }) => Some(String::new()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Event, EventKind, Trace};
    use super::*;
    use crate::protocol::outcome::Error;
    use crate::services::workflow::{Engine, StepKey};
    use crate::values::time::Time;

    /// The effect of a call to a service, as a line.
    fn effect(actors: &[&str], op: Op, outcome: Result<Reply, Error>) -> String {
        let mut trace = Trace::new(actors.iter().map(|name| (*name).into()).collect());
        trace.set_op(0, op);
        let outcome = trace.keep(outcome);
        let kind = EventKind::Effect { call: 0, outcome };
        trace.push(Event { at: Time::ZERO, actor: 0, kind });
        trace.to_string()
    }

    #[test]
    fn of_a_batch_the_first_statement_has_its_own_bindings() {
        let one = d1::Statement::new(format!("insert into a values ({}?)", "?, ".repeat(20)));
        let two = d1::Statement::new("update b set c = 'd' where e = ?").bind(["two"]);
        let op = Op::D1(d1::Op::batch("DB", [one.bind(["one"]), two]));
        let results = vec![d1::D1Result::default(); 2];
        let text = effect(&["d1"], op, Ok(Reply::D1(d1::Answer::Batch(results).into())));
        assert!(text.contains("['one']; and 1 more = 0 changes; 0 changes"), "{text}");
        assert!(!text.contains("two"), "{text}");
    }

    #[test]
    fn an_error_is_told_before_the_question_and_a_method_is_never_cut() {
        let args = format!("{{\"key\":\"{}\"}}", "x".repeat(90));
        let op =
            Op::Rpc { object: "ROOM:a".into(), method: "aMethod".into(), args: args[..].into() };
        let error = "the words of an error of the platform";
        let text = effect(&["ROOM:a"], op, Err(Error::app(error)));
        let start = "object.rpc ROOM:a aMethod {";
        assert!(text.contains(start) && text.contains(&format!("= error: {error}")), "{text}");
    }

    #[test]
    fn a_step_is_told_of_its_instance_with_what_comes_next() {
        let engine = Engine { workflow: "W".into(), id: "a".into(), generation: 7 };
        let error = workflow::StepError::error("no");
        let result = AttemptResult::Err(error.clone());
        let step = StepKey::new("save", 1);
        let op = workflow::Op::FinishStep { engine, step, attempt: 1, result };
        let answer = |progress| Ok(Reply::Workflow(workflow::Reply::Step(progress)));
        let told = |actors: &[&str], progress| {
            effect(actors, Op::Workflow(op.clone()), answer(progress)).trim().to_string()
        };
        let again = Progress::Until(Time::from_ms(20_018));
        assert!(
            told(&["workflows", "W/a"], again)
                .ends_with("W/a        step   #0 save#1: threw Error: no = again at 20.018s")
        );
        let thrown = Progress::Thrown(error);
        assert!(told(&["workflows", "W/a"], thrown).ends_with("threw Error: no = throws it"));
    }
}
