//! Questions on the terminal.

use std::io::{IsTerminal, Write, stderr, stdin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::failure::Failure;

/// How often it is looked whether a signal has come.
const LOOK: Duration = Duration::from_millis(100);

/// Whether somebody can answer.
pub fn can_ask() -> bool {
    stdin().is_terminal()
}

/// Asks a question to be answered by yes or no; a signal ends the waiting and counts as no.
pub fn confirmed(question: &str, interrupted: &AtomicBool) -> Result<bool, Failure> {
    eprint!("{question} [y/N] ");
    let unheard =
        |error: std::io::Error| Failure::unusable(format!("cannot ask on the terminal: {error}"));
    stderr().flush().map_err(unheard)?;
    // On a thread of its own, because reading goes on after a signal.
    let (sender, answers) = channel();
    thread::spawn(move || {
        let mut answer = String::new();
        let read = stdin().read_line(&mut answer).map(|_| answer);
        // Nobody waits for it any more after a signal.
        let _ = sender.send(read);
    });
    loop {
        match answers.recv_timeout(LOOK) {
            Ok(answer) => {
                let answer = answer.map_err(unheard)?;
                return Ok(matches!(answer.trim(), "y" | "Y" | "yes"));
            }
            Err(RecvTimeoutError::Timeout) if !interrupted.load(Ordering::Relaxed) => {}
            Err(_) => return Ok(false),
        }
    }
}
