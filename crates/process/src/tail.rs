//! The end of what a program wrote.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::process::ChildStderr;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Bytes of a program's messages that are kept, the last ones.
pub(crate) const KEPT: usize = 2_000;

/// How long error output may go on after the end of its process: processes that left the group may keep
/// the pipe open for as long as they like.
const GRACE: Duration = Duration::from_secs(2);

/// The end of a pipe's content, collected by a thread.
#[derive(Debug)]
pub(crate) struct Tail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    /// Disconnected at the end of the content.
    open: Receiver<()>,
}

impl Tail {
    pub(crate) fn collect(pipe: ChildStderr) -> Tail {
        let (sender, open) = channel();
        let kept = Arc::default();
        let tail = Tail { kept: Arc::clone(&kept), open };
        thread::spawn(move || {
            keep_last(pipe, &kept);
            drop(sender);
        });
        tail
    }

    pub(crate) fn text(&self) -> String {
        let _ = self.open.recv_timeout(GRACE);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        trimmed(kept.make_contiguous())
    }
}

fn keep_last(mut pipe: impl Read, kept: &Mutex<VecDeque<u8>>) {
    let mut chunk = [0; 1_024];
    loop {
        let read = match pipe.read(&mut chunk) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => return,
            Ok(read) => read,
        };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&chunk[..read]);
        let excess = kept.len().saturating_sub(KEPT);
        kept.drain(..excess);
    }
}

/// The end of a file, such as a log.
///
/// # Errors
/// When it cannot be read.
pub fn end_of(mut file: impl Read + Seek) -> io::Result<String> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(KEPT as u64)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(trimmed(&bytes))
}

fn trimmed(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}
