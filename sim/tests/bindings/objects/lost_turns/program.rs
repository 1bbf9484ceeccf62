//! Handlers as data: what they do to their storage, and where they await.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use thunderhead_sim::sqlite::Value;
use thunderhead_sim::*;

/// One thing that a handler does.
#[derive(Clone, Copy, Debug)]
enum Step {
    Put(u32),
    Delete(u32),
    Insert(u32),
    SetAlarm(u32),
    DeleteAlarm,
    Say,
    Sleep,
    CallOut,
    /// The steps up to `End` or `Roll` are one transaction, in which the handler may await.
    Begin,
    End,
    Roll,
    Throw,
    Abort,
}

/// What a handler does, in order.
#[derive(Clone, Debug)]
pub struct Program(Vec<Step>);

impl Program {
    /// A program of a few steps; half of all steps are followed by an await.
    pub fn drawn(rng: &mut Rng, transactions: bool) -> Program {
        let mut steps = Vec::new();
        for _ in 0..1 + rng.below(5) {
            let n = rng.below(3);
            match rng.below(if transactions { 13 } else { 12 }) {
                0..=1 => steps.push(Step::Put(n)),
                2 => steps.push(Step::Delete(n)),
                3..=4 => steps.push(Step::Insert(n)),
                5..=7 => steps.push(Step::SetAlarm(n)),
                8 => steps.push(Step::DeleteAlarm),
                9..=10 => steps.push(Step::Say),
                11 if rng.chance(300) => {
                    steps.push(if rng.chance(512) { Step::Throw } else { Step::Abort });
                }
                12 => {
                    let inside = Program::drawn(rng, false).0;
                    // What is said in a transaction leaves before it is known whether that is kept.
                    let barred =
                        |step: &Step| matches!(step, Step::Throw | Step::Abort | Step::Say);
                    steps.push(Step::Begin);
                    steps.extend(inside.into_iter().filter(|step| !barred(step)));
                    steps.push(if rng.chance(512) { Step::End } else { Step::Roll });
                }
                _ => {}
            }
            match rng.below(4) {
                0 => steps.push(Step::Sleep),
                1 => steps.push(Step::CallOut),
                _ => {}
            }
        }
        Program(steps)
    }

    pub fn text(&self) -> String {
        self.to_string()
    }

    fn parse(text: &str) -> Program {
        let number = |word: &str| word.parse().unwrap();
        let steps = text.split_whitespace().map(|word| match word.split_at(1) {
            ("p", n) => Step::Put(number(n)),
            ("d", n) => Step::Delete(number(n)),
            ("i", n) => Step::Insert(number(n)),
            ("a", n) => Step::SetAlarm(number(n)),
            ("x", _) => Step::DeleteAlarm,
            ("s", _) => Step::Say,
            ("z", _) => Step::Sleep,
            ("o", _) => Step::CallOut,
            ("(", _) => Step::Begin,
            (")", _) => Step::End,
            ("]", _) => Step::Roll,
            ("t", _) => Step::Throw,
            ("b", _) => Step::Abort,
            _ => unreachable!("{word}"),
        });
        Program(steps.collect())
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.0 {
            match step {
                Step::Put(n) => write!(f, "p{n} ")?,
                Step::Delete(n) => write!(f, "d{n} ")?,
                Step::Insert(n) => write!(f, "i{n} ")?,
                Step::SetAlarm(n) => write!(f, "a{n} ")?,
                Step::DeleteAlarm => f.write_str("x ")?,
                Step::Say => f.write_str("s ")?,
                Step::Sleep => f.write_str("z ")?,
                Step::CallOut => f.write_str("o ")?,
                Step::Begin => f.write_str("( ")?,
                Step::End => f.write_str(") ")?,
                Step::Roll => f.write_str("] ")?,
                Step::Throw => f.write_str("t ")?,
                Step::Abort => f.write_str("b ")?,
            }
        }
        Ok(())
    }
}

/// An object that plays programs and logs what it does, for the model.
#[derive(Clone)]
pub struct Scripted {
    ctx: ObjectState,
    env: Env,
    alarm: Program,
    /// How often the alarm has rung in this run.
    rings: Rc<Cell<u32>>,
}

/// So often the alarm plays its program: one that sets itself each time would never end.
const RINGS_MAX: u32 = 6;

thread_local! {
    /// Numbers what is written, so that no two writes are alike.
    static WRITES: Cell<u32> = const { Cell::new(0) };
}

impl Scripted {
    pub fn new(ctx: ObjectState, env: Env, alarm: Program, rings: Rc<Cell<u32>>) -> Scripted {
        ctx.storage().exec("create table if not exists t(n integer, w integer)", &[]).unwrap();
        Scripted { ctx, env, alarm, rings }
    }

    /// A number for a write, which is also written under a key of its own: every turn that does anything
    /// changes something.
    fn mark(&self) -> Result<u32, Error> {
        let mark = WRITES.get() + 1;
        WRITES.set(mark);
        self.ctx.storage().put("mark", mark.to_string())?;
        Ok(mark)
    }

    fn log(&self, text: String) {
        self.env.log(text);
    }

    /// What the storage holds now, as the model prints it.
    fn look(&self) -> Result<(), Error> {
        let storage = self.ctx.storage();
        let keys: Vec<String> = (storage.list(&Default::default())?.into_iter())
            .map(|(key, value)| format!("{key}={}", value.text().unwrap()))
            .collect();
        let rows = storage.exec("select n, w from t order by w", &[])?.to_array();
        let rows: Vec<String> =
            rows.iter().map(|row| format!("{}:{}", whole(&row[0].1), whole(&row[1].1))).collect();
        let alarm = storage.get_alarm().map_or("none".into(), |at| at.as_ms().to_string());
        self.log(format!("sees {} | {} | {alarm}", keys.join(","), rows.join(",")));
        Ok(())
    }

    async fn play(&self, steps: &[Step]) -> Result<(), Error> {
        let storage = self.ctx.storage();
        let mut at = 0;
        while let Some(step) = steps.get(at) {
            at += 1;
            match *step {
                Step::Put(n) => {
                    let mark = self.mark()?;
                    self.log(format!("put {mark} {n}"));
                    storage.put(&format!("k{n}"), mark.to_string())?;
                }
                Step::Delete(n) => {
                    self.log(format!("delete {} {n}", self.mark()?));
                    storage.delete(&format!("k{n}"))?;
                }
                Step::Insert(n) => {
                    let mark = self.mark()?;
                    self.log(format!("insert {mark} {n}"));
                    let bindings = [Value::Integer(n.into()), Value::Integer(mark.into())];
                    storage.exec("insert into t values (?, ?)", &bindings)?;
                }
                Step::SetAlarm(n) => {
                    let due = self.env.now() + Duration::from_millis(u64::from(n) * 40);
                    self.log(format!("alarm {} {}", self.mark()?, due.as_ms()));
                    storage.set_alarm(due)?;
                }
                Step::DeleteAlarm => {
                    self.log(format!("unalarm {}", self.mark()?));
                    storage.delete_alarm();
                }
                Step::Say => {
                    let mark = self.mark()?;
                    self.log(format!("say {mark}"));
                    self.ctx.broadcast(mark.to_string());
                }
                Step::Sleep => self.env.sleep(Duration::from_millis(7)).await,
                Step::CallOut => drop(self.env.bucket("shelf").head("k").await),
                Step::Throw => return Err(Error::app("thrown")),
                Step::Abort => self.ctx.abort(None).await,
                Step::Begin => {
                    let inside: Vec<Step> = (steps[at..].iter().copied())
                        .take_while(|step| !matches!(step, Step::End | Step::Roll))
                        .collect();
                    at += inside.len();
                    let keep = matches!(steps[at], Step::End);
                    at += 1;
                    let object = self.clone();
                    let work = async move {
                        object.log("begin".into());
                        object.look()?;
                        // Boxed, because a future cannot contain itself.
                        Box::pin(object.play(&inside)).await?;
                        object.log(if keep { "keep" } else { "roll" }.into());
                        if keep { Ok(()) } else { Err(Error::app("rolled back")) }
                    };
                    let _ = self.ctx.transaction(work).await;
                }
                Step::End | Step::Roll => unreachable!("consumed with its beginning"),
            }
        }
        Ok(())
    }
}

fn whole(value: &Value) -> i64 {
    match *value {
        Value::Integer(whole) => whole,
        _ => unreachable!("a column of whole numbers has nothing else"),
    }
}

impl DurableObject for Scripted {
    async fn rpc(&self, _method: &str, args: Body) -> Result<Body, Error> {
        self.look()?;
        let program = Program::parse(args.text().unwrap());
        self.play(&program.0).await?;
        let mark = self.mark()?;
        self.log(format!("answer {mark}"));
        Ok(Body::from(mark.to_string()))
    }

    async fn alarm(&self, info: AlarmInfo) -> Result<(), Error> {
        self.log(format!("rings {} {}", info.scheduled_time.as_ms(), info.retry_count));
        self.look()?;
        self.rings.set(self.rings.get() + 1);
        if self.rings.get() <= RINGS_MAX {
            self.play(&self.alarm.0).await?;
        }
        Ok(())
    }
}
