//! One worker: a connection of its own, that obeys orders. Whether it is a thread or a process is
//! no business of this module.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use engine::vfs::CountingVfs;
use engine::{Connection, Library, Source};
use lab::level::overlaid;
use lab::trial::ReadBack;

use super::DATABASE;
use super::client::Client;
use super::clock::{Monotonic, Nanos, wake_punctually};
use super::message::{Answer, BusyCounts, Closing, Kind, Order, PartReport, Report, WorkerSpec};
use super::pace::{Course, Ended, Task, carry_out};
use super::parameters::{Parameters, Waiting};
use crate::drive::die_with_the_parent;
use crate::error::TrialError;
use crate::measure::{CpuTime, peak_memory_bytes};
use crate::parameters::Parameters as _;
use crate::target::sqlite::{self, Counts};
use crate::trial::Trial;
use crate::workload::sql;

/// What does the operations of a worker.
pub(in crate::workload) trait Operator {
    /// Does operation `number`, which begins now; how it ended.
    fn operate(&mut self, number: u64, now: Nanos) -> Result<Ended, TrialError>;

    /// What stood in the way since this was asked last.
    fn take_busy(&mut self) -> BusyCounts;

    /// What became of the parts of the operations since this was asked last; nothing where they have none.
    fn take_parts(&mut self) -> Result<Vec<PartReport>, TrialError> {
        Ok(Vec::new())
    }
}

/// The pause of the even busy handler.
const EVEN_PAUSE: Duration = Duration::from_millis(1);

/// Works in a process of its own: the first line of `input` is the specification, each further one
/// an order; each line of `output` is an answer.
///
/// # Errors
/// When answers cannot be written; whatever goes wrong in the work is an answer.
pub fn work(input: impl BufRead, output: impl Write) -> io::Result<()> {
    let mut output = output;
    let mut lines = input.lines();
    let first = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let spec: WorkerSpec = match serde_json::from_str(&first) {
        Ok(spec) => spec,
        Err(error) => {
            let why = format!("the specification of a worker cannot be read: {error}");
            return send(&mut output, &Answer::Failed(why));
        }
    };
    die_with_the_parent();
    if spec.parent.is_some_and(is_gone) {
        return Ok(());
    }
    let mut unsent = Ok(());
    let orders = lines.map_while(|line| serde_json::from_str(&line.ok()?).ok());
    let mut answer = |answer: Answer| {
        if unsent.is_ok() {
            unsent = send(&mut output, &answer);
        }
    };
    let library = Source::from_str(&spec.engine).and_then(|source| Library::load(&source));
    match library {
        Ok(library) => obey(&spec, &Arc::new(library), orders, &mut answer),
        Err(error) => answer(Answer::Failed(error.to_string())),
    }
    unsent
}

/// Whether the process is no longer this one's parent: it died before this one asked to die with it.
pub(in crate::workload) fn is_gone(parent: u32) -> bool {
    let found = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    found.and_then(|pid| u32::try_from(pid).ok()) != Some(parent)
}

fn send(output: &mut impl Write, answer: &Answer) -> io::Result<()> {
    serde_json::to_writer(&mut *output, answer)?;
    output.write_all(b"\n")?;
    output.flush()
}

/// Opens a connection, carries out the orders, and closes it after the last.
pub(super) fn obey(
    spec: &WorkerSpec,
    library: &Arc<Library>,
    orders: impl Iterator<Item = Order>,
    answer: &mut dyn FnMut(Answer),
) {
    match attend(spec, library, orders, answer) {
        Ok(Some(closing)) => answer(Answer::Finished(Box::new(closing))),
        Ok(None) => {}
        Err(TrialError::CannotRun(why)) => answer(Answer::CannotRun(why)),
        Err(error) => answer(Answer::Failed(error.to_string())),
    }
}

/// None where the orders ended without the one to finish, so that nobody waits for an answer.
fn attend(
    spec: &WorkerSpec,
    library: &Arc<Library>,
    orders: impl Iterator<Item = Order>,
    answer: &mut dyn FnMut(Answer),
) -> Result<Option<Closing>, TrialError> {
    wake_punctually();
    // Scripts of the user's own have no parameters for how they wait: theirs are the defaults.
    let parameters = Parameters::read(&overlaid(&Parameters::defaults(), &spec.settings))?;
    let counter = match spec.counting {
        true => Some(Arc::new(CountingVfs::register(library)?)),
        false => None,
    };
    let connection = open(spec, library, &parameters, counter.as_ref())?;
    let counter = counter.as_ref();
    if !follow(spec, &parameters, &connection, counter, orders, answer)? {
        return Ok(None);
    }
    let closing = Closing {
        read_back: read_back(spec, &connection, &parameters)?,
        peak_memory: spec.parent.and_then(|_| peak_memory_bytes()),
    };
    connection.close()?;
    Ok(Some(closing))
}

/// What is in force on the connection. Where the application has a handler of its own the PRAGMA
/// `busy_timeout` answers 0 (<https://sqlite.org/c3ref/busy_handler.html>: one takes the place of the
/// other), and what is in force is the limit that the handler keeps.
fn read_back(
    spec: &WorkerSpec,
    connection: &Connection,
    parameters: &Parameters,
) -> Result<ReadBack, TrialError> {
    let mut read_back = sqlite::read_back(&spec.name(), connection)?;
    if parameters.waiting == Waiting::EvenHandler {
        let limit = parameters.busy_timeout.0.as_millis().to_string();
        read_back.pragmas.insert("busy_timeout".to_owned(), limit);
    }
    Ok(read_back)
}

fn open(
    spec: &WorkerSpec,
    library: &Arc<Library>,
    parameters: &Parameters,
    counter: Option<&Arc<CountingVfs>>,
) -> Result<Connection, TrialError> {
    let trial = Trial {
        seed: spec.seed,
        counter: counter.cloned(),
        ..Trial::detached(&spec.settings, library, &spec.directory)
    };
    let mut connection = sqlite::open(&trial, &spec.directory.join(DATABASE))?;
    if parameters.waiting == Waiting::EvenHandler {
        let most = parameters.busy_timeout.0.as_millis() / EVEN_PAUSE.as_millis();
        connection.busy_handler(move |calls| {
            let again = u128::from(calls) < most;
            if again {
                std::thread::sleep(EVEN_PAUSE);
            }
            again
        })?;
    }
    Ok(connection)
}

/// Carries out orders until the one to finish; whether that came.
fn follow(
    spec: &WorkerSpec,
    parameters: &Parameters,
    connection: &Connection,
    counter: Option<&Arc<CountingVfs>>,
    orders: impl Iterator<Item = Order>,
    answer: &mut dyn FnMut(Answer),
) -> Result<bool, TrialError> {
    let mut client: Box<dyn Operator + '_> = match spec.kind {
        Kind::Client => Box::new(sql::client(connection, spec)?),
        Kind::Writer | Kind::Reader => {
            Box::new(Client::prepare(connection, spec, parameters, Monotonic)?)
        }
    };
    answer(Answer::Opened);
    let mut attempted = 0;
    for order in orders {
        let Order::Work(task) = order else {
            return Ok(true);
        };
        let counts = Counts::of(counter, std::slice::from_ref(connection))?;
        let cpu = CpuTime::now()?;
        let course =
            carry_out(&Monotonic, &task, attempted, |number, now| client.operate(number, now))?;
        let cpu = CpuTime::now()?.since(cpu);
        attempted += course.attempted;
        let cpu = spec.parent.map(|_| (cpu.user, cpu.system));
        let counts = counts.map(|counts| counts.end(connection)).transpose()?;
        answer(Answer::Worked(Box::new(Report {
            busy: client.take_busy(),
            cpu,
            counts: counts.unwrap_or_default(),
            parts: client.take_parts()?,
            ..report(course)?
        })));
    }
    Ok(false)
}

/// What became of the operations, without what else was noted.
fn report(course: Course) -> Result<Report, TrialError> {
    Ok(Report {
        latency: course.latency.latency()?,
        late: course.late.latency()?,
        offered: course.offered,
        attempted: course.attempted,
        given_up: course.given_up,
        unserved: course.unserved,
        slots: course.slots,
        last_end: course.last_end,
        busy: BusyCounts::default(),
        cpu: None,
        counts: BTreeMap::new(),
        parts: Vec::new(),
    })
}

/// A task that lasts so long from `start` on, and is stopped after as long again.
pub(in crate::workload) fn task(pace: super::pace::Pace, start: u64, duration: Duration) -> Task {
    let end = start + duration.as_nanos() as u64;
    Task { pace, start, end, stop: end + duration.as_nanos() as u64, most: 0, think: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn junk_instead_of_a_specification_is_answered() {
        let mut output = Vec::new();
        work("junk\n".as_bytes(), &mut output).unwrap();
        let answer: Answer = serde_json::from_slice(&output).unwrap();
        assert!(matches!(answer, Answer::Failed(why) if why.contains("specification")));
    }
}
