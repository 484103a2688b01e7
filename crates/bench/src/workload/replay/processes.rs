//! A replay by several processes: each executes threads of its own, and all begin at one moment.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use engine::vfs::CountingVfs;
use serde::{Deserialize, Serialize};

use super::executor::{Options, Shared, execute_threads};
use super::figures::{Times, Totals};
use super::outcome::Summary;
use super::plan::Plan;
use super::progress::Progress;
use super::source::{self, LeftOut, Recording};
use super::stand_in;
use crate::drive::messages::{Channel, ChildWorker, follow_parent, read_message};
use crate::measure::{CpuTime, peak_memory_bytes};
use crate::trial::load_library;
use crate::workload::prelude::*;

/// The hidden subcommand of pragmark that runs such a process.
const SUBCOMMAND: &str = "replay-worker";

/// The specification of a process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ProcessSpec {
    /// Every setting of the variant.
    pub(super) settings: Settings,
    pub(super) engine: String,
    pub(super) trace: PathBuf,
    pub(super) directory: PathBuf,
    /// The process of the trial.
    pub(super) parent: u32,
    /// Statements that are not replayed.
    pub(super) left_out: HashMap<i64, LeftOut>,
    /// Its part of the plan.
    pub(super) plan: Plan,
    /// The threads that it executes.
    pub(super) threads: Vec<usize>,
    /// The file of the common progress; `None` if connections are not held to the recorded order.
    pub(super) progress: Option<PathBuf>,
    /// The divisor of pauses; `None` without pauses.
    pub(super) speed: Option<f64>,
    /// The normalised statements whose times are kept apart.
    pub(super) timed: Vec<i64>,
    /// Whether its file operations are counted.
    pub(super) counting: bool,
}

/// A request to a process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Request {
    /// Execute the threads.
    Begin,
    /// Close the connections, report and end.
    Finish,
}

/// The response of a process.
#[derive(Debug, Serialize, Deserialize)]
enum Response {
    /// It waits for the request to begin.
    Ready,
    /// The threads are executed.
    Executed,
    /// The connections are closed.
    Finished(Box<ProcessReport>),
    /// The variant cannot be run here.
    CannotRun(String),
    /// Something failed.
    Failed(String),
}

/// The last report of a process.
#[derive(Debug, Serialize, Deserialize)]
struct ProcessReport {
    times: Times,
    summary: Summary,
    /// Counts of its file operations and page caches, by metric, in a counting trial.
    counts: Option<BTreeMap<String, f64>>,
    cpu: CpuTime,
    peak_memory: Option<f64>,
}

/// Executes a replay by a process for each specification. Returns the sums of their reports and the time in seconds.
///
/// # Errors
/// The first error of a process; the others are ended.
pub(super) fn execute(specs: &[ProcessSpec], measured: &mut Measured) -> Result<Totals> {
    let mut pool = ProcessPool::start(specs)?;
    pool.receive(|response| matches!(response, Response::Ready))?;
    let watch = Stopwatch::start()?;
    pool.send(Request::Begin)?;
    pool.receive(|response| matches!(response, Response::Executed))?;
    let elapsed = watch.stop()?;
    *measured = elapsed.times();
    pool.send(Request::Finish)?;
    let first = specs.first();
    let first = first.ok_or_else(|| TrialError::Measuring("no process took part".to_owned()))?;
    let (mut summary, mut times) = (Summary::default(), Times::new(&first.timed));
    for response in pool.receive(|response| matches!(response, Response::Finished(_)))? {
        let Response::Finished(report) = response else { continue };
        add(measured, "cpu_user_s", report.cpu.user);
        add(measured, "cpu_system_s", report.cpu.system);
        if let Some(bytes) = report.peak_memory {
            add(measured, "peak_memory_bytes", bytes);
        }
        for (metric, count) in report.counts.iter().flatten() {
            add(measured, metric, *count);
        }
        times.add(&report.times);
        summary.add(report.summary);
    }
    Ok(Totals { times, summary, seconds: elapsed.seconds })
}

/// The processes of a replay.
struct ProcessPool {
    processes: Vec<ChildWorker>,
    /// The number of a process and its response; `None` when it has ended. A process may wait for another one, so all are
    /// listened to at the same time.
    responses: Receiver<(usize, Option<Response>)>,
}

impl ProcessPool {
    fn start(specs: &[ProcessSpec]) -> Result<ProcessPool> {
        let (sender, responses) = channel();
        let mut processes = Vec::with_capacity(specs.len());
        for (number, spec) in specs.iter().enumerate() {
            let (process, output) = ChildWorker::start(SUBCOMMAND, spec).map_err(|error| {
                TrialError::CannotRun(format!("process {} cannot be started: {error}", number + 1))
            })?;
            processes.push(process);
            let sender = sender.clone();
            std::thread::spawn(move || forward(number, output, &sender));
        }
        Ok(ProcessPool { processes, responses })
    }

    fn send(&mut self, request: Request) -> Result<()> {
        for (number, process) in self.processes.iter_mut().enumerate() {
            process.send(&request).map_err(|error| failed(number, &error.to_string()))?;
        }
        Ok(())
    }

    /// Waits for a response of each process.
    fn receive(&self, is_wanted: impl Fn(&Response) -> bool) -> Result<Vec<Response>> {
        let mut all = Vec::with_capacity(self.processes.len());
        let mut has_answered = vec![false; self.processes.len()];
        while all.len() < self.processes.len() {
            match self.responses.recv() {
                Ok((number, Some(response))) if is_wanted(&response) => {
                    has_answered[number] = true;
                    all.push(response);
                }
                // After its last response, a process ends.
                Ok((number, None)) if has_answered[number] => {}
                Ok((_, Some(Response::CannotRun(why)))) => return Err(TrialError::CannotRun(why)),
                Ok((number, Some(Response::Failed(why)))) => return Err(failed(number, &why)),
                Ok((number, _)) => return Err(failed(number, "it ended without an answer")),
                Err(_) => return Err(TrialError::Measuring("no process answers".to_owned())),
            }
        }
        Ok(all)
    }
}

/// Forwards the responses of a process until it ends.
fn forward(number: usize, mut output: impl BufRead, responses: &Sender<(usize, Option<Response>)>) {
    loop {
        let response = read_message(&mut output).ok();
        let is_last = response.is_none();
        // Nobody receives any more when another process has failed.
        if responses.send((number, response)).is_err() || is_last {
            return;
        }
    }
}

fn failed(number: usize, why: &str) -> TrialError {
    TrialError::worker(format!("process {}", number + 1), why)
}

/// Works in a process of its own: the first line of `input` is the specification, each further line a request; each line of
/// `output` is a response.
///
/// # Errors
/// Responses cannot be written. Whatever goes wrong in the work is a response.
pub fn work(input: impl BufRead + Send, output: impl Write + Send) -> io::Result<()> {
    let mut channel = Channel::new(input, output);
    let report = match channel.receive::<ProcessSpec>() {
        Ok(spec) if !follow_parent(spec.parent) => return Ok(()),
        Ok(spec) => execute_spec(spec, &mut channel),
        Err(error) => Err(TrialError::measuring(error)),
    };
    channel.send(&match report {
        Ok(report) => Response::Finished(Box::new(report)),
        Err(TrialError::CannotRun(why)) => Response::CannotRun(why),
        Err(error) => Response::Failed(error.to_string()),
    })
}

/// Sends a response, and waits for the next request.
fn respond(channel: &mut Channel<impl BufRead, impl Write>, response: &Response) -> Result<()> {
    let request = channel.send(response).and_then(|()| channel.receive::<Request>());
    request.map(drop).map_err(TrialError::measuring)
}

/// Executes the threads of a process.
fn execute_spec(
    spec: ProcessSpec,
    channel: &mut Channel<impl BufRead, impl Write>,
) -> Result<ProcessReport> {
    let library = load_library(&spec.engine, &spec.settings)?;
    stand_in(&library, spec.settings.get("stand_in").and_then(Level::as_text).unwrap_or(""))?;
    let counter =
        spec.counting.then(|| CountingVfs::register(&library, None).map(Arc::new)).transpose()?;
    let trial = Trial { counter, ..Trial::detached(&spec.settings, &library, &spec.directory) };
    let mut recording = Recording::of(&source::open(&spec.trace)?, &spec.trace, &spec.directory)?;
    recording.confine(&spec.settings);
    recording.left_out = spec.left_out;
    let progress = spec.progress.as_deref().map(Progress::open).transpose();
    let progress = progress.map_err(TrialError::measuring)?;
    let options =
        Options { progress: progress.map(Arc::new), speed: spec.speed, timed: spec.timed };
    let shared = Shared::new(&trial, &recording, &spec.plan, options)?;
    let executed =
        execute_threads(&shared, spec.threads, |gate| coordinate(gate, &shared, channel));
    if let (Err(_), Some(progress)) = (&executed, &shared.options.progress) {
        progress.fail();
    }
    let (summary, cpu) = executed?;
    Ok(ProcessReport {
        summary,
        times: unlocked(shared.times),
        counts: unlocked(shared.counts).map(|counts| counts.metrics),
        cpu,
        peak_memory: peak_memory_bytes(),
    })
}

/// Lets the threads begin and end as the trial requests. Returns the CPU time of their work.
fn coordinate(
    gate: &Gate,
    shared: &Shared<'_>,
    channel: &mut Channel<impl BufRead, impl Write>,
) -> Result<CpuTime> {
    gate.wait_until_ready();
    respond(channel, &Response::Ready)?;
    let cpu = CpuTime::now()?;
    gate.begin()?;
    gate.wait_until_done();
    let cpu = CpuTime::now()?.since(cpu);
    if let Some(counts) = &mut *locked(&shared.counts) {
        counts.pause(&[])?;
    }
    respond(channel, &Response::Executed)?;
    gate.dismiss();
    Ok(cpu)
}
