//! One worker: a thread or a process with a connection of its own, which carries out the trial's requests.

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

use super::messages::{
    BusyCounts, Channel, PartReport, Request, Response, TaskReport, WorkerClosing, WorkerSpec,
    follow_parent,
};
use super::pacing::{Ended, Monotonic, Nanos, request_precise_wakeups, run_task};
use crate::error::{Result, TrialError};
use crate::measure::{CpuTime, peak_memory_bytes};
use crate::target::sqlite::{self, Counts};
use crate::trial::{Trial, load_library};
use engine::vfs::CountingVfs;
use engine::{Connection, Library};

/// The file of the database, in the directory of the trial.
pub(crate) const DATABASE: &str = "test.db";

/// The operations of a worker.
pub(crate) trait Client {
    /// Carries out operation `number`, which begins now. Returns how it ended.
    fn operate(&mut self, number: u64, now: Nanos) -> Result<Ended>;

    /// Returns how often locks stood in the way since the last call.
    fn take_busy(&mut self) -> BusyCounts;

    /// Returns reports on the parts of the operations since the last call, if they have parts.
    fn take_parts(&mut self) -> Vec<PartReport> {
        Vec::new()
    }
}

/// Prepares the client of a worker on its connection.
pub(crate) type PrepareClient =
    for<'c> fn(&'c Connection, &WorkerSpec) -> Result<Box<dyn Client + 'c>>;

/// Length of a pause of the even busy handler.
const EVEN_PAUSE: Duration = Duration::from_millis(1);

/// Works in a process of its own: the first line of `input` is the specification, each further line a request; each line of
/// `output` is a response.
///
/// # Errors
/// Responses cannot be written. Whatever goes wrong in the work is a response.
pub(crate) fn serve_process(
    input: impl BufRead,
    output: impl Write,
    prepare: PrepareClient,
) -> io::Result<()> {
    let mut channel = Channel::new(input, output);
    let spec: WorkerSpec = match channel.receive() {
        Ok(spec) => spec,
        Err(error) => {
            let why = format!("the specification of a worker cannot be read: {error}");
            return channel.send(&Response::Failed(why));
        }
    };
    if spec.parent.is_some_and(|parent| !follow_parent(parent)) {
        return Ok(());
    }
    let library = match load_library(&spec.engine, &spec.settings) {
        Ok(library) => library,
        Err(error) => return channel.send(&Response::Failed(error.to_string())),
    };
    let worker = Worker { spec: &spec, library: &library, prepare };
    let last =
        worker.serve(&mut |response| channel.send(&response).and_then(|()| channel.receive()).ok());
    last.map_or(Ok(()), |last| channel.send(&last))
}

/// Sends a response, and receives the next request; `None` if there is none any more.
pub(crate) type Exchange<'e> = &'e mut dyn FnMut(Response) -> Option<Request>;

/// A worker, with its specification and its library.
pub(crate) struct Worker<'w> {
    pub(crate) spec: &'w WorkerSpec,
    pub(crate) library: &'w Arc<Library>,
    pub(crate) prepare: PrepareClient,
}

impl Worker<'_> {
    /// Opens a connection, carries out the requests, and closes it after the last. Returns the last response, if anybody waits for
    /// it.
    pub(crate) fn serve(&self, exchange: Exchange<'_>) -> Option<Response> {
        match self.work(exchange) {
            Ok(closing) => closing.map(|closing| Response::Finished(Box::new(closing))),
            Err(TrialError::CannotRun(why)) => Some(Response::CannotRun(why)),
            Err(error) if error.is_mistake() => Some(Response::Mistake(error.to_string())),
            Err(error) => Some(Response::Failed(error.to_string())),
        }
    }

    /// Returns `None` if the requests ended without [`Request::Finish`], so that nobody waits for a response.
    fn work(&self, exchange: Exchange<'_>) -> Result<Option<WorkerClosing>> {
        let spec = self.spec;
        request_precise_wakeups();
        let register = || CountingVfs::register(self.library, None).map(Arc::new);
        let counter = spec.counting.then(register).transpose()?;
        let connection = self.open(counter.clone())?;
        let client = (self.prepare)(&connection, spec)?;
        if !self.carry_out_requests(&connection, counter.as_ref(), client, exchange)? {
            return Ok(None);
        }
        // Where the application has a busy handler of its own, the PRAGMA `busy_timeout` returns 0
        // (<https://sqlite.org/c3ref/busy_handler.html>: one replaces the other), and the limit that the handler keeps is in force.
        let mut read_back = sqlite::read_back(&spec.name(), &connection)?;
        if spec.waits_evenly {
            let limit = sqlite::busy_timeout(&spec.settings).as_millis().to_string();
            read_back.pragmas.insert("busy_timeout".to_owned(), limit);
        }
        // Closing may check the log in, which is not the work.
        let peak_memory = spec.parent.and_then(|_| peak_memory_bytes());
        connection.close()?;
        Ok(Some(WorkerClosing { read_back, peak_memory }))
    }

    fn open(&self, counter: Option<Arc<CountingVfs>>) -> Result<Connection> {
        let spec = self.spec;
        let trial =
            Trial { counter, ..Trial::detached(&spec.settings, self.library, &spec.directory) };
        let mut connection = sqlite::open(&trial, &spec.directory.join(DATABASE))?;
        if spec.waits_evenly {
            let most = sqlite::busy_timeout(&spec.settings).as_millis() / EVEN_PAUSE.as_millis();
            connection.busy_handler(move |calls| {
                let retry = u128::from(calls) < most;
                if retry {
                    std::thread::sleep(EVEN_PAUSE);
                }
                retry
            })?;
        }
        Ok(connection)
    }

    /// Carries out requests. Returns whether the last one was to finish.
    fn carry_out_requests(
        &self,
        connection: &Connection,
        counter: Option<&Arc<CountingVfs>>,
        mut client: Box<dyn Client + '_>,
        exchange: Exchange<'_>,
    ) -> Result<bool> {
        let mut attempted = 0;
        let mut request = exchange(Response::Ready);
        while let Some(Request::Work(task)) = request {
            let counts = Counts::of(counter, std::slice::from_ref(connection))?;
            let cpu = CpuTime::now()?;
            let progress =
                run_task(&Monotonic, &task, attempted, |number, now| client.operate(number, now))?;
            let cpu = CpuTime::now()?.since(cpu);
            attempted += progress.attempted;
            let counts = counts.map(|counts| counts.end(connection)).transpose()?;
            let report = TaskReport {
                progress,
                busy: client.take_busy(),
                cpu: self.spec.parent.map(|_| cpu),
                counts: counts.unwrap_or_default(),
                parts: client.take_parts(),
            };
            request = exchange(Response::Worked(Box::new(report)));
        }
        Ok(request.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn junk_instead_of_a_specification_is_answered() {
        let mut output = Vec::new();
        let prepare: PrepareClient = |_, _| Err(TrialError::Measuring("unused".to_owned()));
        serve_process("junk\n".as_bytes(), &mut output, prepare).unwrap();
        let response: Response = serde_json::from_slice(&output).unwrap();
        assert!(matches!(response, Response::Failed(why) if why.contains("specification")));
    }
}
