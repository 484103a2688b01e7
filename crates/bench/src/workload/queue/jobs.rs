//! What one worker does, and the tasks it does it with.

use std::time::Instant;

use lab::seed::{Seed, SplitMix64};

use super::marks::{Marks, Op};
use super::parameters::{OUTPUTS, Output, Parameters, STATEMENTS_OF_A_LIFE, Work};
use crate::error::TrialError;
use crate::target::queue::{Change, Session, Status, Task, TaskId};
use crate::workload::common::expect;

/// What a task has to say at every step, as in the program that is followed here.
const OUTPUT: &str = "Some kind of output and whatever";

/// The moment of a trial: what is scheduled up to then is due.
pub(super) const NOW: i64 = 1_000_000;

/// Tasks that a listing gives at most.
const LISTED: usize = 100;

/// Makes tasks: their ids are random, as those of the program that is followed here.
pub(super) struct Maker {
    ids: SplitMix64,
    args: String,
}

impl Maker {
    /// Tasks of one worker and repetition, or those that are there before.
    pub(super) fn new(seed: Seed, payload_bytes: usize) -> Maker {
        let padding = match payload_bytes {
            0 => String::new(),
            bytes => format!(",\"{}\"", payload(seed.child("payload"), bytes)),
        };
        Maker { ids: seed.generator(), args: format!("[\"a\",\"b\",\"c\"{padding}]") }
    }

    /// A task that is due at `scheduled_at`.
    fn task(&mut self, scheduled_at: i64) -> Task {
        let high = u128::from(self.ids.next_u64()) << 64;
        Task {
            id: TaskId(high | u128::from(self.ids.next_u64())),
            status: Status::Pending,
            cmd: "example".to_owned(),
            args: self.args.clone(),
            scheduled_at,
            output: String::new(),
        }
    }

    /// So many tasks that are due.
    pub(super) fn due(&mut self, count: usize) -> Vec<Task> {
        let mut due = |_| {
            let scheduled_at = self.ids.below(NOW as u64) as i64;
            self.task(scheduled_at)
        };
        (0..count).map(&mut due).collect()
    }

    /// So many tasks that are not due yet, and must not be touched.
    pub(super) fn not_due(&mut self, count: usize) -> Vec<Task> {
        (0..count).map(|number| self.task(NOW + 1 + number as i64)).collect()
    }
}

/// Random letters: a server that compresses what is large can do nothing with them, and JSON need not
/// escape them.
fn payload(seed: Seed, bytes: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut choice = seed.generator();
    let letter = |_: usize| char::from(LETTERS[choice.below(64) as usize]);
    (0..bytes).map(letter).collect()
}

/// The part of one worker.
pub(super) struct Part<'p> {
    pub(super) parameters: &'p Parameters,
    /// Tasks of its own, which it adds.
    pub(super) tasks: Vec<Task>,
    /// Tasks that are there.
    pub(super) stored: &'p [Task],
    /// For random choices.
    pub(super) seed: Seed,
}

/// What a worker has done.
pub(super) struct Done {
    pub(super) marks: Marks,
    /// The tasks that it added and left there.
    pub(super) added: Vec<Task>,
    /// The tasks that it was given by the schedule.
    pub(super) claimed: Vec<TaskId>,
}

/// Does the part.
pub(super) fn job(
    part: Part<'_>,
    session: &mut dyn Session,
    began: Instant,
) -> Result<Done, TrialError> {
    let room = part.parameters.operations() / part.parameters.workers;
    let mut done =
        Done { marks: Marks::with_room(room + 1), added: Vec::new(), claimed: Vec::new() };
    done.marks.start(began);
    match part.parameters.work {
        Work::Insert => insert(part, session, &mut done)?,
        Work::LifeCycle => lives(part, session, &mut done.marks)?,
        Work::Schedule => schedule(session, &mut done)?,
        Work::Get => get(&part, session, &mut done.marks)?,
        Work::List => list(&part, session, &mut done.marks)?,
    }
    Ok(done)
}

fn insert(part: Part<'_>, session: &mut dyn Session, done: &mut Done) -> Result<(), TrialError> {
    for task in &part.tasks {
        session.insert(task)?;
        done.marks.end(Op::Insert, 1);
    }
    done.added = part.tasks;
    Ok(())
}

/// A statement in the life of a task.
fn live(
    session: &mut dyn Session,
    task: &mut Task,
    statement: usize,
    appends: bool,
) -> Result<Op, TrialError> {
    const LAST: usize = STATEMENTS_OF_A_LIFE - 1;
    match statement {
        0 => session.insert(task).map(|()| Op::Insert),
        1 => {
            task.status = Status::Processing;
            session.update(task, Change::Status).map(|()| Op::Status)
        }
        LAST => session.delete(task).map(|()| Op::Delete),
        number => {
            let output = format!("{}{OUTPUT}", number - (LAST - OUTPUTS));
            let change = if appends {
                task.output.push_str(&output);
                Change::Appended(&output)
            } else {
                task.output.clone_from(&output);
                Change::Output
            };
            session.update(task, change).map(|()| Op::Output)
        }
    }
}

fn lives(part: Part<'_>, session: &mut dyn Session, marks: &mut Marks) -> Result<(), TrialError> {
    let grouped = part.parameters.statements_per_txn;
    let appends = part.parameters.output == Output::Append;
    for mut task in part.tasks {
        if grouped == 1 {
            for statement in 0..STATEMENTS_OF_A_LIFE {
                let op = live(session, &mut task, statement, appends)?;
                marks.end(op, 1);
            }
            continue;
        }
        for from in (0..STATEMENTS_OF_A_LIFE).step_by(grouped) {
            let to = (from + grouped).min(STATEMENTS_OF_A_LIFE);
            session.begin()?;
            for statement in from..to {
                live(session, &mut task, statement, appends)?;
            }
            session.commit()?;
            marks.end(Op::Transaction, (to - from) as u32);
        }
    }
    Ok(())
}

/// Until nothing is due any more.
fn schedule(session: &mut dyn Session, done: &mut Done) -> Result<(), TrialError> {
    while let Some(task) = session.claim(NOW)? {
        done.marks.end(Op::Claim, 1);
        let wanted = "processing";
        expect("the status of a claimed task", task.status.name(), wanted)?;
        done.claimed.push(task.id);
        session.delete(&task)?;
        done.marks.end(Op::Delete, 1);
    }
    Ok(())
}

fn get(part: &Part<'_>, session: &mut dyn Session, marks: &mut Marks) -> Result<(), TrialError> {
    let mut choice = part.seed.generator();
    for _ in 0..part.parameters.tasks {
        let wanted = &part.stored[choice.below(part.stored.len() as u64) as usize];
        let found = session.get(wanted.id)?;
        if found.as_ref() != Some(wanted) {
            let what = format!("the task {}", wanted.id);
            let found = found.map_or("missing", |_| "another");
            return Err(TrialError::wrong(what, found, "as it was stored"));
        }
        marks.end(Op::Get, 1);
    }
    Ok(())
}

fn list(part: &Part<'_>, session: &mut dyn Session, marks: &mut Marks) -> Result<(), TrialError> {
    for _ in 0..part.parameters.tasks {
        let found = session.list(Status::Pending, LISTED)?;
        let wanted = part.stored.len().min(LISTED);
        expect("the number of tasks listed", found.len(), wanted)?;
        marks.end(Op::List, 1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_payload_is_random_letters_of_the_seed_within_json() {
        const BYTES: usize = 10_000;
        let args = |seed| Maker::new(Seed(seed), BYTES).due(1).remove(0).args;
        let words: Vec<String> = serde_json::from_str(&args(1)).unwrap();
        let payload = &words[3];
        assert_eq!((words.len(), payload.len()), (4, BYTES));
        // What a compressor lives on is strings that come again.
        let strings: BTreeSet<&[u8]> = payload.as_bytes().windows(4).collect();
        assert!(strings.len() > BYTES * 99 / 100, "{}", strings.len());
        assert_eq!(args(1), args(1));
        assert_ne!(args(1), args(2));
    }
}
