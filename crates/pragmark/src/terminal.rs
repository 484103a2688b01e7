//! The terminal as the interface of use cases: notices, questions, signals and progress.

use std::io::{IsTerminal, Write, stderr, stdin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use app::signals::ignored_signals;
use app::{BuildObserver, Error, Interface, Result};
use runner::Observer;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

use crate::exit::{self, Exit};
use crate::progress::{Builds, Task, Trials, is_bar_wanted};

/// How often a question looks for a signal.
const POLL: Duration = Duration::from_millis(100);

/// The flag of [`Interface::interrupted`], once signals are watched for.
static FLAG: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);

/// The terminal at hand, or what takes its place.
pub struct Terminal {
    /// Whether progress is shown by a bar.
    bar: bool,
}

impl Terminal {
    /// Makes an interface that shows progress by a bar where standard error is a terminal that can show one.
    pub fn new() -> Terminal {
        Terminal { bar: is_bar_wanted() }
    }

    /// Makes an interface that shows progress by lines, for processes that run for days.
    pub fn lines() -> Terminal {
        Terminal { bar: false }
    }
}

impl Interface for Terminal {
    fn say(&self, lines: &str) {
        tell!("{lines}");
    }

    fn voice(&self) -> Arc<dyn Fn(&str) + Send + Sync> {
        Arc::new(|lines| tell!("{lines}"))
    }

    fn report(&self, error: &Error) {
        exit::report(error);
    }

    fn can_ask(&self) -> bool {
        stdin().is_terminal()
    }

    fn confirm(&self, question: &str) -> Result<bool> {
        let interrupted = self.interrupted()?;
        eprint!("{question} [y/N] ");
        let lost =
            |error: std::io::Error| Error::unusable(format!("cannot ask on the terminal: {error}"));
        stderr().flush().map_err(lost)?;
        // On a thread of its own, because reading goes on after a signal.
        let (sender, answers) = channel();
        thread::spawn(move || {
            let mut answer = String::new();
            let read = stdin().read_line(&mut answer).map(|_| answer);
            // Nobody waits for it any more after a signal.
            let _ = sender.send(read);
        });
        loop {
            match answers.recv_timeout(POLL) {
                Ok(answer) => {
                    let answer = answer.map_err(lost)?;
                    return Ok(matches!(answer.trim(), "y" | "Y" | "yes"));
                }
                Err(RecvTimeoutError::Timeout) if !interrupted.load(Ordering::Relaxed) => {}
                Err(_) => return Ok(false),
            }
        }
    }

    /// Returns a flag that becomes true at Ctrl-C, SIGTERM or SIGHUP. SIGHUP stays ignored if it is: `nohup` has this process
    /// outlive its terminal. SIGINT does not: shells ignore it for what a script puts into the background, but whoever sends
    /// it there means it.
    fn interrupted(&self) -> Result<Arc<AtomicBool>> {
        let mut known = FLAG.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flag) = known.as_ref() {
            return Ok(Arc::clone(flag));
        }
        let flag = Arc::new(AtomicBool::new(false));
        let is_ignored = ignored_signals();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if signal != SIGHUP || !is_ignored(signal) {
                signal_hook::flag::register(signal, Arc::clone(&flag)).map_err(|error| {
                    Error::unusable(format!("cannot watch for Ctrl-C: {error}"))
                })?;
            }
        }
        *known = Some(Arc::clone(&flag));
        Ok(flag)
    }

    fn show_run(&self) -> Box<dyn Observer> {
        Box::new(Trials::new(self.bar))
    }

    fn show_builds(&self, expected_s: Vec<f64>, jobs: usize) -> BuildObserver<'_> {
        let mut builds = Builds::new(expected_s, jobs, self.bar);
        Box::new(move |event| builds.event(event))
    }

    fn show_task(&self) -> Box<dyn app::Task> {
        Box::new(Task::new(self.bar))
    }
}

/// Has a signal end the process once the copies of databases in its work folders are removed. For commands that keep nothing of
/// unfinished work.
pub fn remove_copies_at_signal() -> Result<()> {
    let interrupted = Terminal::lines().interrupted()?;
    thread::spawn(move || {
        while !interrupted.load(Ordering::Relaxed) {
            thread::sleep(POLL);
        }
        // An engine that is being built ends what it has started by itself.
        thread::sleep(3 * POLL);
        app::files::remove_work_folders();
        std::process::exit(Exit::Interrupted.code().into())
    });
    Ok(())
}

/// Has a write beyond the limit of file sizes (`ulimit -f`) fail with an error that can be reported, instead of ending the
/// process. What the process starts is not affected: a handler does not outlast exec.
pub fn report_file_limit() -> Result<()> {
    let registered = signal_hook::flag::register(SIGXFSZ, Arc::default());
    registered
        .map(drop)
        .map_err(|error| Error::unusable(format!("cannot watch for SIGXFSZ: {error}")))
}
