//! The workers of a trial: started together, given tasks at once, and stopped.
//!
//! No worker outlives the pool, however the trial ends: a thread ends when its channel is closed, and a process is a
//! [`ChildWorker`].

use std::io::BufReader;
use std::process::ChildStdout;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use engine::Library;
use lab::trial::Measured;

use super::messages::{ChildWorker, Request, Response, TaskReport, WorkerSpec, read_message};
use super::pacing::Task;
use super::worker::{self, PrepareClient};
use crate::error::{Result, TrialError};
use crate::workload::common::add;

/// The hidden subcommand of pragmark that runs a worker process.
const SUBCOMMAND: &str = "contention-worker";

/// The workers of a trial.
pub(crate) struct WorkerPool(Vec<Worker>);

struct Worker {
    name: String,
    link: Link,
}

/// The connection to a worker.
enum Link {
    /// A thread of this process.
    Thread {
        requests: Option<Sender<Request>>,
        responses: Receiver<Response>,
        thread: Option<JoinHandle<()>>,
    },
    /// A process of its own.
    Process { child: ChildWorker, responses: BufReader<ChildStdout> },
}

impl WorkerPool {
    /// Starts a worker for each specification, and waits until its connection is open. A thread works with `library` and
    /// the client that `prepare` returns.
    ///
    /// # Errors
    /// A worker cannot be started or cannot open its connection.
    pub(crate) fn start(
        specs: Vec<WorkerSpec>,
        library: &Arc<Library>,
        prepare: PrepareClient,
    ) -> Result<WorkerPool> {
        let mut pool = WorkerPool(Vec::with_capacity(specs.len()));
        for spec in specs {
            let name = spec.name();
            let link = match spec.parent {
                None => start_thread(spec, library, prepare),
                Some(_) => ChildWorker::start(SUBCOMMAND, &spec)
                    .map(|(child, responses)| Link::Process { child, responses }),
            };
            let link = link.map_err(|error| {
                TrialError::CannotRun(format!("{name} cannot be started: {error}"))
            })?;
            let mut worker = Worker { name, link };
            match worker.receive()? {
                Response::Ready => pool.0.push(worker),
                other => return Err(worker.unexpected(other)),
            }
        }
        Ok(pool)
    }

    /// Gives each worker its task at once. Returns all reports, in the order of the workers.
    ///
    /// # Errors
    /// The error of the first worker that failed.
    pub(crate) fn work(&mut self, tasks: &[Task]) -> Result<Vec<TaskReport>> {
        for (worker, task) in self.0.iter_mut().zip(tasks) {
            worker.send(Request::Work(*task))?;
        }
        let report = |worker: &mut Worker| match worker.receive()? {
            Response::Worked(report) => Ok(*report),
            other => Err(worker.unexpected(other)),
        };
        self.0.iter_mut().map(report).collect()
    }

    /// Has the workers close their connections one after another, so that none stands in the way of another, and notes the
    /// settings of the connections and the memory of processes.
    ///
    /// # Errors
    /// The error of the first worker that could not close.
    pub(crate) fn finish(mut self, measured: &mut Measured) -> Result<()> {
        for worker in &mut self.0 {
            worker.send(Request::Finish)?;
            let closing = match worker.receive()? {
                Response::Finished(closing) => *closing,
                other => return Err(worker.unexpected(other)),
            };
            measured.connections.push(closing.read_back);
            if let Some(bytes) = closing.peak_memory {
                add(measured, "peak_memory_bytes", bytes);
            }
        }
        Ok(())
    }
}

fn start_thread(
    spec: WorkerSpec,
    library: &Arc<Library>,
    prepare: PrepareClient,
) -> std::io::Result<Link> {
    let (requests, incoming) = channel();
    let (outgoing, responses) = channel();
    let library = Arc::clone(library);
    let thread = Builder::new().name(spec.name()).spawn(move || {
        // Nobody receives any more when another worker has failed.
        let worker = worker::Worker { spec: &spec, library: &library, prepare };
        let last = worker.serve(&mut |response| {
            let _ = outgoing.send(response);
            incoming.recv().ok()
        });
        // The same.
        let _ = last.map(|last| outgoing.send(last));
    })?;
    Ok(Link::Thread { requests: Some(requests), responses, thread: Some(thread) })
}

impl Worker {
    fn send(&mut self, request: Request) -> Result<()> {
        let sent = match &mut self.link {
            Link::Thread { requests, .. } => {
                requests.as_ref().is_some_and(|requests| requests.send(request).is_ok())
            }
            Link::Process { child, .. } => child.send(&request).is_ok(),
        };
        if sent {
            return Ok(());
        }
        // Its last response tells more than that it takes no requests.
        let response = self.receive()?;
        Err(self.unexpected(response))
    }

    fn receive(&mut self) -> Result<Response> {
        let why = match &mut self.link {
            Link::Thread { responses, .. } => match responses.recv() {
                Ok(response) => return Ok(response),
                Err(_) => "its thread ended without an answer".to_owned(),
            },
            Link::Process { child, responses } => match read_message(responses) {
                Ok(response) => return Ok(response),
                Err(_) => format!("its process ended without an answer ({})", child.kill()),
            },
        };
        Err(self.failed(why))
    }

    fn unexpected(&self, response: Response) -> TrialError {
        match response {
            Response::CannotRun(why) => TrialError::CannotRun(why),
            Response::Mistake(why) => TrialError::Mistake(format!("{}: {why}", self.name)),
            Response::Failed(why) => self.failed(why),
            other => self.failed(format!("it answered out of turn: {other:?}")),
        }
    }

    fn failed(&self, why: String) -> TrialError {
        TrialError::worker(&self.name, why)
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        // All channels are closed first, so that all threads end side by side.
        for worker in &mut self.0 {
            if let Link::Thread { requests, .. } = &mut worker.link {
                requests.take();
            }
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // A process is killed by its own drop.
        if let Link::Thread { requests, thread, .. } = self {
            requests.take();
            if let Some(thread) = thread.take() {
                // A panic was noticed by the missing response.
                let _ = thread.join();
            }
        }
    }
}
