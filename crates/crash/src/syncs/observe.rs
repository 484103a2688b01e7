//! Observes the syncs of a process with `ptrace(2)`, which sees them however the engine calls the system.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use lab::record::SyncCheck;
use nix::libc;
use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::COMMAND;

/// How long a process may take that makes a dozen transactions.
const LIMIT: Duration = Duration::from_secs(30);

/// The system calls after which data is on the medium; not `sync_file_range(2)`, which writes neither the metadata of the
/// file nor the cache of the device.
const SYNCS: [libc::c_long; 4] =
    [libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_syncfs, libc::SYS_sync];

/// Checks as [`super::check`] does; the error is the reason why nothing could be observed.
pub(super) fn check(program: &Path, engine: &str) -> Result<SyncCheck, String> {
    let mut child = Command::new(program)
        .args([COMMAND, engine])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let watched = Watched::new(&child);
    let observed = observed(&mut child, watched.pid);
    if observed.is_err() {
        // A process that is no longer observed would wait for ever.
        kill(watched.pid, Signal::SIGKILL).ok();
        child.wait().ok();
    }
    let reached = observed?;
    let requested = text_of(child.stdout.take());
    let words = text_of(child.stderr.take());
    match requested.trim().parse() {
        Ok(requested) => Ok(SyncCheck::Counted { requested, reached }),
        Err(_) => Err(words.trim().trim_start_matches("error: ").to_owned()),
    }
}

fn text_of(pipe: Option<impl Read>) -> String {
    let mut text = String::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_string(&mut text).ok();
    }
    text
}

/// A process that is killed when it takes too long.
struct Watched {
    pid: Pid,
    /// Dropped when the process has ended.
    _ended: Sender<()>,
}

impl Watched {
    fn new(child: &Child) -> Watched {
        let pid = Pid::from_raw(child.id().cast_signed());
        let (sender, ended) = channel();
        std::thread::spawn(move || {
            if ended.recv_timeout(LIMIT) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                kill(pid, Signal::SIGKILL).ok();
            }
        });
        Watched { pid, _ended: sender }
    }
}

/// Returns the syncs of files, folders left out, until the process ends.
fn observed(child: &mut Child, pid: Pid) -> Result<u64, String> {
    let not_permitted = |error: nix::Error| format!("ptrace: {error}");
    let options = ptrace::Options::PTRACE_O_TRACESYSGOOD | ptrace::Options::PTRACE_O_EXITKILL;
    ptrace::seize(pid, options).map_err(not_permitted)?;
    ptrace::interrupt(pid).map_err(not_permitted)?;
    if let Some(mut orders) = child.stdin.take() {
        orders.write_all(b"begin\n").map_err(|error| error.to_string())?;
    }
    // Each call stops the process twice, before and after.
    let mut stops = 0;
    loop {
        let status = waitpid(pid, Some(WaitPidFlag::__WALL)).map_err(not_permitted)?;
        let signal = match status {
            WaitStatus::Exited(..) => return Ok(stops / 2),
            WaitStatus::Signaled(_, signal, _) => {
                return Err(format!("it ended by {}", signal.as_str()));
            }
            WaitStatus::PtraceSyscall(_) => {
                stops += u64::from(is_sync_of_file(pid).map_err(not_permitted)?);
                None
            }
            WaitStatus::Stopped(_, signal) => Some(signal),
            _ => None,
        };
        ptrace::syscall(pid, signal).map_err(not_permitted)?;
    }
}

/// Returns whether the call for which a process has stopped syncs something other than a folder.
fn is_sync_of_file(pid: Pid) -> nix::Result<bool> {
    let (call, argument) = call(pid)?;
    let opened = format!("/proc/{pid}/fd/{argument}");
    let is_folder = || std::fs::metadata(opened).is_ok_and(|metadata| metadata.is_dir());
    Ok(SYNCS.contains(&call) && !is_folder())
}

/// Returns the number of the system call and its first argument.
#[cfg(target_arch = "x86_64")]
fn call(pid: Pid) -> nix::Result<(libc::c_long, u64)> {
    let registers = ptrace::getregs(pid)?;
    Ok((registers.orig_rax.cast_signed(), registers.rdi))
}

/// Returns the number of the system call and its first argument; the argument is overwritten by the result
/// after the call, so that a folder counts as a file then.
#[cfg(target_arch = "aarch64")]
fn call(pid: Pid) -> nix::Result<(libc::c_long, u64)> {
    let registers = ptrace::getregset::<ptrace::regset::NT_PRSTATUS>(pid)?;
    Ok((registers.regs[8].cast_signed(), registers.regs[0]))
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn call(_: Pid) -> nix::Result<(libc::c_long, u64)> {
    Err(nix::Error::ENOSYS)
}
