//! The workers of a trial together: started, given orders all at once, listened to, and stopped.
//!
//! Whatever happens, nothing that was started is left: a thread ends when nobody gives orders any
//! more, a process is killed when the crew is dropped, dies with the trial's process (where the
//! kernel can do that), and belongs to the process group that the parent of the trial kills.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use engine::{Library, Origin};
use process::{Group, Process, described};

use super::message::{Answer, Closing, Order, Report, WorkerSpec};
use super::pace::Task;
use super::parameters::Workers;
use super::worker;
use crate::error::TrialError;

/// The hidden subcommand of pragmark under which a worker process runs.
const SUBCOMMAND: &str = "contention-worker";

/// Every worker of a trial.
pub(in crate::workload) struct Crew(Vec<Member>);

struct Member {
    name: String,
    line: Line,
}

/// The way to a worker.
enum Line {
    Thread {
        orders: Option<Sender<Order>>,
        answers: Receiver<Answer>,
        thread: Option<JoinHandle<()>>,
    },
    Process {
        process: Process,
        orders: ChildStdin,
        answers: Lines<BufReader<ChildStdout>>,
    },
}

/// The name by which another process loads the same engine.
pub(in crate::workload) fn engine_name(library: &Library) -> String {
    match &library.identity().origin {
        Origin::Embedded => "default".to_owned(),
        Origin::System(_) => "system".to_owned(),
        Origin::File(path) => path.display().to_string(),
    }
}

impl Crew {
    /// Starts a worker for each specification and waits until its connection is open.
    ///
    /// # Errors
    /// When one cannot be started or cannot open its connection.
    pub(in crate::workload) fn start(
        specs: Vec<WorkerSpec>,
        workers: Workers,
        library: &Arc<Library>,
    ) -> Result<Crew, TrialError> {
        let mut crew = Crew(Vec::with_capacity(specs.len()));
        for spec in specs {
            let name = spec.name();
            let line = match workers {
                Workers::Threads => thread(spec, library),
                Workers::Processes => process(&spec),
            }
            .map_err(|error| cannot_start(&name, &error))?;
            let mut member = Member { name, line };
            match member.listen()? {
                Answer::Opened => crew.0.push(member),
                other => return Err(member.unexpected(&other)),
            }
        }
        Ok(crew)
    }

    /// Gives each worker its task at once, then waits for all reports, in the order of the workers.
    ///
    /// # Errors
    /// The first worker's that could not do its part.
    pub(in crate::workload) fn work(&mut self, tasks: &[Task]) -> Result<Vec<Report>, TrialError> {
        for (member, task) in self.0.iter_mut().zip(tasks) {
            member.order(Order::Work(*task))?;
        }
        let report = |member: &mut Member| match member.listen()? {
            Answer::Worked(report) => Ok(*report),
            other => Err(member.unexpected(&other)),
        };
        self.0.iter_mut().map(report).collect()
    }

    /// Has the workers close their connections one after another, so that none stands in the way of
    /// another's, and waits for their end.
    ///
    /// # Errors
    /// The first worker's that could not close.
    pub(in crate::workload) fn finish(mut self) -> Result<Vec<Closing>, TrialError> {
        let mut closings = Vec::new();
        for member in &mut self.0 {
            member.order(Order::Finish)?;
            match member.listen()? {
                Answer::Finished(closing) => closings.push(*closing),
                other => return Err(member.unexpected(&other)),
            }
        }
        Ok(closings)
    }
}

fn cannot_start(name: &str, error: &std::io::Error) -> TrialError {
    TrialError::CannotRun(format!("{name} cannot be started: {error}"))
}

fn thread(spec: WorkerSpec, library: &Arc<Library>) -> std::io::Result<Line> {
    let (orders, incoming) = channel();
    let (outgoing, answers) = channel();
    let library = Arc::clone(library);
    let thread = Builder::new().name(spec.name()).spawn(move || {
        worker::obey(&spec, &library, incoming.into_iter(), &mut |answer| {
            // Nobody listens any more when another worker has failed.
            let _ = outgoing.send(answer);
        });
    })?;
    Ok(Line::Thread { orders: Some(orders), answers, thread: Some(thread) })
}

fn process(spec: &WorkerSpec) -> std::io::Result<Line> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(SUBCOMMAND).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = Process::start(&mut command, Group::Shared).map_err(std::io::Error::other)?;
    let pipes = process.take_input().zip(process.take_output());
    let (orders, answers) = pipes.ok_or_else(|| std::io::Error::other("its pipes are missing"))?;
    let mut line = Line::Process { process, orders, answers: BufReader::new(answers).lines() };
    line.write(spec)?;
    Ok(line)
}

impl Line {
    /// Writes a line to a process.
    fn write(&mut self, message: &impl serde::Serialize) -> std::io::Result<()> {
        let Line::Process { orders, .. } = self else {
            return Ok(());
        };
        let mut text = serde_json::to_vec(message)?;
        text.push(b'\n');
        orders.write_all(&text)?;
        orders.flush()
    }
}

impl Member {
    fn order(&mut self, order: Order) -> Result<(), TrialError> {
        let sent = match &mut self.line {
            Line::Thread { orders, .. } => {
                orders.as_ref().is_some_and(|orders| orders.send(order).is_ok())
            }
            line @ Line::Process { .. } => line.write(&order).is_ok(),
        };
        if sent {
            return Ok(());
        }
        // What it said last tells more than that it takes no orders.
        let answer = self.listen()?;
        Err(self.unexpected(&answer))
    }

    fn listen(&mut self) -> Result<Answer, TrialError> {
        let answer = match &mut self.line {
            Line::Thread { answers, .. } => answers.recv().ok(),
            Line::Process { answers, .. } => answers
                .next()
                .and_then(Result::ok)
                .and_then(|line| serde_json::from_str(&line).ok()),
        };
        answer.ok_or_else(|| {
            let why = self.ended();
            self.failed(why)
        })
    }

    /// How a worker came to its end without an answer.
    fn ended(&mut self) -> String {
        match &mut self.line {
            Line::Thread { .. } => "its thread ended without an answer".to_owned(),
            Line::Process { process, .. } => {
                let status = process.kill().map(described).unwrap_or_default();
                format!("its process ended without an answer ({status})")
            }
        }
    }

    fn unexpected(&self, answer: &Answer) -> TrialError {
        match answer {
            Answer::CannotRun(why) => TrialError::CannotRun(why.clone()),
            Answer::Failed(why) => self.failed(why.clone()),
            other => self.failed(format!("it answered out of turn: {other:?}")),
        }
    }

    fn failed(&self, why: String) -> TrialError {
        TrialError::Worker { who: self.name.clone(), why }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        // First nobody gets orders any more, so that all end side by side.
        for member in &mut self.0 {
            if let Line::Thread { orders, .. } = &mut member.line {
                orders.take();
            }
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // A process is killed by its own drop.
        if let Line::Thread { orders, thread, .. } = self {
            orders.take();
            if let Some(thread) = thread.take() {
                // A panic was noticed by the missing answer.
                let _ = thread.join();
            }
        }
    }
}
