//! A replay by several processes: each executes the lanes of its own, and all begin at one moment.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::str::FromStr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use engine::vfs::CountingVfs;
use engine::{Library, Source};
use lab::trial::Measured;
use process::{Group, Process};

use super::lane::{self, Shared};
use super::memory;
use super::message::{Answer, Done, Order, Part, Summary, TimesRecord};
use super::plan::Plan;
use super::source::{self, Recording};
use super::tape::Take;
use super::times::Times;
use super::turns::Turns;
use crate::drive::die_with_the_parent;
use crate::error::TrialError;
use crate::locks::{locked, unlocked};
use crate::measure::{CpuTime, peak_memory_bytes};
use crate::target::sqlite::{Counts, Opening};
use crate::trial::Trial;
use crate::workload::common::{Elapsed, Stopwatch, add};
use crate::workload::contention::worker::is_gone;
use crate::workload::team::{Gate, together};

/// The hidden subcommand of pragmark under which such a process runs.
const SUBCOMMAND: &str = "replay-worker";

/// Executes the parts by a process each; what they have done, put together, and how long that took.
///
/// # Errors
/// The first one of a process that could not do its part; the others are ended.
pub(super) fn execute(
    parts: Vec<Part>,
    measured: &mut Measured,
) -> Result<(Summary, Times, Elapsed), TrialError> {
    let mut crew = Crew::start(parts)?;
    crew.listen(|answer| matches!(answer, Answer::Ready))?;
    let watch = Stopwatch::start()?;
    crew.order(Order::Begin)?;
    crew.listen(|answer| matches!(answer, Answer::Done))?;
    let elapsed = watch.stop()?;
    *measured = elapsed.times();
    crew.order(Order::Leave)?;
    let (mut summary, mut all) = (Summary::default(), None::<Times>);
    for answer in crew.listen(|answer| matches!(answer, Answer::Left(_)))? {
        let Answer::Left(done) = answer else { continue };
        note_use(&done, measured);
        let times = done.times.read()?;
        match &mut all {
            Some(all) => all.add(&times),
            None => all = Some(times),
        }
        summary.add(done.report);
        measured.connections.extend(done.connections);
    }
    let times = all.ok_or_else(|| TrialError::Measuring("no process took part".to_owned()))?;
    Ok((summary, times, elapsed))
}

/// Adds what a process used to the figures.
fn note_use(done: &Done, measured: &mut Measured) {
    add(measured, "cpu_user_s", done.cpu.0);
    add(measured, "cpu_system_s", done.cpu.1);
    if let Some(bytes) = done.peak_memory {
        add(measured, "peak_memory_bytes", bytes);
    }
    for (metric, count) in done.counts.iter().flatten() {
        add(measured, metric, *count);
    }
}

/// The processes of a replay.
struct Crew {
    orders: Vec<ChildStdin>,
    /// The number of a process and its answer; none when it has ended.
    answers: Receiver<(usize, Option<Answer>)>,
    // They are killed before the readers of their answers are joined.
    processes: Vec<Process>,
    _readers: Vec<JoinHandle<()>>,
}

impl Crew {
    fn start(parts: Vec<Part>) -> Result<Crew, TrialError> {
        let (sender, answers) = channel();
        let mut crew =
            Crew { orders: Vec::new(), answers, processes: Vec::new(), _readers: Vec::new() };
        for (number, part) in parts.into_iter().enumerate() {
            let started = crew.add(number, &part, sender.clone());
            started.map_err(|error| {
                TrialError::CannotRun(format!("process {} cannot be started: {error}", number + 1))
            })?;
        }
        Ok(crew)
    }

    fn add(
        &mut self,
        number: usize,
        part: &Part,
        answers: Sender<(usize, Option<Answer>)>,
    ) -> io::Result<()> {
        let mut command = Command::new(std::env::current_exe()?);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process =
            Process::start(pipes.arg(SUBCOMMAND), Group::Shared).map_err(io::Error::other)?;
        let ends = process.take_input().zip(process.take_output());
        let (orders, output) = ends.ok_or_else(|| io::Error::other("its pipes are missing"))?;
        self.processes.push(process);
        self.orders.push(orders);
        self._readers.push(std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let answer = serde_json::from_str(&line).ok();
                let is_last = answer.is_none();
                if answers.send((number, answer)).is_err() || is_last {
                    return;
                }
            }
            // Nobody listens any more where another one has failed.
            let _ = answers.send((number, None));
        }));
        write_line(&mut self.orders[number], part)
    }

    fn order(&mut self, order: Order) -> Result<(), TrialError> {
        for (number, orders) in self.orders.iter_mut().enumerate() {
            write_line(orders, &order).map_err(|error| failed(number, &error.to_string()))?;
        }
        Ok(())
    }

    /// Waits for an answer of each process.
    fn listen(&self, is_wanted: impl Fn(&Answer) -> bool) -> Result<Vec<Answer>, TrialError> {
        let mut all = Vec::with_capacity(self.processes.len());
        let mut has_answered = vec![false; self.processes.len()];
        while all.len() < self.processes.len() {
            match self.answers.recv() {
                Ok((number, Some(answer))) if is_wanted(&answer) => {
                    has_answered[number] = true;
                    all.push(answer);
                }
                // After its last answer, a process ends.
                Ok((number, None)) if has_answered[number] => {}
                Ok((_, Some(Answer::CannotRun(why)))) => return Err(TrialError::CannotRun(why)),
                Ok((number, Some(Answer::Failed(why)))) => return Err(failed(number, &why)),
                Ok((number, _)) => return Err(failed(number, "it ended without an answer")),
                Err(_) => return Err(TrialError::Measuring("no process answers".to_owned())),
            }
        }
        Ok(all)
    }
}

fn failed(number: usize, why: &str) -> TrialError {
    TrialError::Worker { who: format!("process {}", number + 1), why: why.to_owned() }
}

fn write_line(output: &mut impl Write, message: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

/// Works in a process of its own: the first line of `input` is the part of the replay, each further one an order; each
/// line of `output` is an answer.
///
/// # Errors
/// When answers cannot be written; whatever goes wrong in the work is an answer.
pub fn work(input: impl BufRead + Send, output: impl Write + Send) -> io::Result<()> {
    die_with_the_parent();
    let mut talk = Talk { input, output };
    let answer = match talk.read::<Part>() {
        Ok(part) if is_gone(part.parent) => return Ok(()),
        Ok(part) => take_part(part, &mut talk),
        Err(error) => Err(TrialError::Measuring(error.to_string())),
    };
    match answer {
        Ok(done) => talk.say(&Answer::Left(Box::new(done))),
        Err(TrialError::CannotRun(why)) => talk.say(&Answer::CannotRun(why)),
        Err(error) => talk.say(&Answer::Failed(error.to_string())),
    }
}

/// The lines between a process and the replay.
struct Talk<I, O> {
    input: I,
    output: O,
}

impl<I: BufRead, O: Write> Talk<I, O> {
    fn read<T: serde::de::DeserializeOwned>(&mut self) -> io::Result<T> {
        let mut line = String::new();
        self.input.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }

    fn say(&mut self, answer: &Answer) -> io::Result<()> {
        write_line(&mut self.output, answer)
    }

    /// Answers, and waits for an order.
    fn reach(&mut self, answer: &Answer) -> Result<(), TrialError> {
        let order = self.say(answer).and_then(|()| self.read::<Order>());
        let order = order.map_err(|error| TrialError::Measuring(error.to_string()));
        order.map(drop)
    }
}

/// Executes the lanes of a part.
fn take_part<I, O>(part: Part, talk: &mut Talk<I, O>) -> Result<Done, TrialError>
where
    I: BufRead + Send,
    O: Write + Send,
{
    let library = Arc::new(Library::load(&Source::from_str(&part.engine)?)?);
    let counter = match part.counting {
        true => Some(Arc::new(CountingVfs::register(&library)?)),
        false => None,
    };
    let trial = Trial { counter, ..Trial::detached(&part.settings, &library, &part.directory) };
    let mut recording = Recording::of(&source::open(&part.trace)?, &part.trace, &part.directory)?;
    recording.confine(&part.settings);
    recording.left_out = part.left_out;
    let (take, plan) = (Take::open(part.take)?, Plan::open(part.plan)?);
    let turns = part.turns.as_deref().map(Turns::open).transpose();
    let turns = turns.map_err(|error| TrialError::Measuring(error.to_string()))?;
    let opening = Opening::of(&trial)?;
    let _held = memory::hold(&opening, &recording)?;
    let shared = Shared {
        recording: &recording,
        take: &take,
        plan: &plan,
        opening: &opening,
        turns: turns.map(Arc::new),
        ends_early: !recording.sets("wal_autocheckpoint"),
        speed: part.speed,
        counts: Mutex::new(Counts::of(trial.counter.as_ref(), &[])?),
        times: Mutex::new(Times::of(part.timed.into_iter())),
    };
    let reports = perform(&shared, part.lanes, |gate| act(gate, &shared, talk));
    if let (Err(_), Some(turns)) = (&reports, &shared.turns) {
        turns.fail();
    }
    let (reports, cpu) = reports?;
    Ok(Done {
        connections: reports.iter().filter_map(|it| it.read_back.clone()).collect(),
        report: Summary::of(reports),
        times: TimesRecord::of(&unlocked(shared.times))?,
        counts: unlocked(shared.counts).map(Counts::finish),
        cpu: (cpu.user, cpu.system),
        peak_memory: peak_memory_bytes(),
    })
}

/// Lets the lanes begin and leave as the replay orders; the CPU time that they took.
fn act<I: BufRead, O: Write>(
    gate: &Gate,
    shared: &Shared<'_>,
    talk: &mut Talk<I, O>,
) -> Result<CpuTime, TrialError> {
    gate.wait_until_ready();
    talk.reach(&Answer::Ready)?;
    let cpu = CpuTime::now()?;
    gate.begin()?;
    gate.wait_until_done();
    let cpu = CpuTime::now()?.since(cpu);
    if let Some(counts) = &mut *locked(&shared.counts) {
        counts.pause(&[])?;
    }
    talk.reach(&Answer::Done)?;
    gate.dismiss();
    Ok(cpu)
}

/// Executes lanes in threads of this process; what they report, and what `watch` returns, which lets them begin.
///
/// # Errors
/// A lane's, or that of `watch`.
pub(super) fn perform<S>(
    shared: &Shared<'_>,
    lanes: Vec<usize>,
    watch: impl FnOnce(&Gate) -> Result<S, TrialError>,
) -> Result<(Vec<lane::Report>, S), TrialError> {
    together(lanes, watch, |lane, gate| lane::execute(lane, shared, gate))
}
