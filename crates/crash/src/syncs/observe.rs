//! Observes the calls of a process with `ptrace(2)`, which sees them however the engine calls the system.

use std::collections::{BTreeSet, HashMap};
use std::fs::Metadata;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
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
use super::ledger::{Ledger, Names};

/// How long a process may take that makes some hundred transactions.
const LIMIT: Duration = Duration::from_secs(30);

/// Writes through these are no calls of their own.
const UNOBSERVED: [(libc::c_long, &str); 2] =
    [(libc::SYS_io_uring_setup, "io_uring"), (libc::SYS_io_submit, "io_submit(2)")];

/// Events of a process or thread that begins another one.
const BEGINS: [libc::c_int; 3] =
    [libc::PTRACE_EVENT_CLONE, libc::PTRACE_EVENT_FORK, libc::PTRACE_EVENT_VFORK];

/// Checks as [`super::check`] does; the error is the reason why nothing could be observed.
pub(super) fn check(program: &Path, engine: &str) -> Result<SyncCheck, String> {
    // Its own thread waits for any process that is traced, and for no other child of this one.
    std::thread::scope(|scope| scope.spawn(|| check_here(program, engine)).join())
        .unwrap_or_else(|_| Err("the observing thread panicked".to_owned()))
}

fn check_here(program: &Path, engine: &str) -> Result<SyncCheck, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().canonicalize().map_err(|error| error.to_string())?;
    let mut child = Command::new(program)
        .args([COMMAND, engine])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let watched = Watched::new(&child);
    let mut observer = Observer::new(watched.pid, path);
    let observed = observer.observe(&mut child);
    if observed.is_err() {
        // A process without an observer would wait for ever.
        kill(watched.pid, Signal::SIGKILL).ok();
        child.wait().ok();
    }
    observed?;
    let requested = text_of(child.stdout.take());
    let words = text_of(child.stderr.take());
    match requested.trim().parse() {
        Ok(requested) => Ok(observer.verdict(requested)),
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

/// A system call that has begun: its number and first arguments.
#[derive(Clone, Copy)]
struct Call(libc::c_long, [u64; 5]);

/// Where a descriptor leads.
enum Leads {
    Folder,
    File(String),
    /// Outside the folder, or a file that has no name any more.
    Elsewhere,
}

/// Follows a process with all its threads and children.
struct Observer {
    pid: Pid,
    folder: PathBuf,
    ledger: Ledger,
    /// The threads and processes that have stopped so far.
    followed: BTreeSet<Pid>,
    /// The calls that have begun.
    calls: HashMap<Pid, Call>,
    /// Successful syncs of anything other than a folder.
    reached: u64,
    /// How the engine writes without calls that could be observed.
    unobserved: Option<String>,
}

impl Observer {
    fn new(pid: Pid, folder: PathBuf) -> Observer {
        let (ledger, followed) = (Ledger::default(), BTreeSet::new());
        let calls = HashMap::new();
        Observer { pid, folder, ledger, followed, calls, reached: 0, unobserved: None }
    }

    fn verdict(self, requested: u64) -> SyncCheck {
        let reached = self.reached;
        match (self.unobserved, self.ledger.fault) {
            (Some(how), _) => {
                SyncCheck::NotChecked { why: format!("it may write with {how}, which is not seen") }
            }
            (None, Some(fault)) if reached >= requested => SyncCheck::Faulty { fault },
            _ => SyncCheck::Counted { requested, reached },
        }
    }

    /// Follows the calls until the process ends.
    fn observe(&mut self, child: &mut Child) -> Result<(), String> {
        let failed = |error: nix::Error| format!("ptrace: {error}");
        let options = ptrace::Options::PTRACE_O_TRACESYSGOOD
            | ptrace::Options::PTRACE_O_EXITKILL
            | ptrace::Options::PTRACE_O_TRACECLONE
            | ptrace::Options::PTRACE_O_TRACEFORK
            | ptrace::Options::PTRACE_O_TRACEVFORK;
        ptrace::seize(self.pid, options).map_err(failed)?;
        ptrace::interrupt(self.pid).map_err(failed)?;
        if let Some(mut orders) = child.stdin.take() {
            writeln!(orders, "{}", self.folder.display()).map_err(|error| error.to_string())?;
        }
        let any = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        loop {
            let status = waitpid(Pid::from_raw(-1), Some(any)).map_err(failed)?;
            let (of, signal) = match status {
                WaitStatus::Exited(pid, _) if pid == self.pid => {
                    // One that goes on would keep the pipes open and wait for this thread.
                    for other in self.followed.iter().filter(|other| **other != self.pid) {
                        kill(*other, Signal::SIGKILL).ok();
                    }
                    return Ok(());
                }
                WaitStatus::Exited(pid, _) | WaitStatus::Signaled(pid, ..) if pid != self.pid => {
                    self.followed.remove(&pid);
                    continue;
                }
                WaitStatus::Signaled(pid, signal, _) if pid == self.pid => {
                    return Err(format!("it ended by {}", signal.as_str()));
                }
                WaitStatus::PtraceSyscall(pid) => {
                    self.stopped(pid).map_err(|error| error.to_string())?;
                    (pid, None)
                }
                WaitStatus::Stopped(pid, signal) => (pid, Some(signal)),
                WaitStatus::PtraceEvent(pid, _, event) => {
                    // Its parent may end before its first stop is seen.
                    if BEGINS.contains(&event)
                        && let Ok(new) = ptrace::getevent(pid)
                    {
                        self.followed.insert(Pid::from_raw(new as libc::pid_t));
                    }
                    (pid, None)
                }
                _ => continue,
            };
            self.followed.insert(of);
            match ptrace::syscall(of, signal) {
                // Another thread has ended the process meanwhile.
                Err(nix::Error::ESRCH) => {}
                resumed => resumed.map_err(failed)?,
            }
        }
    }

    /// A call stops its thread before and after.
    fn stopped(&mut self, pid: Pid) -> std::io::Result<()> {
        let (call, result) = match registers(pid) {
            // It ended while it was stopped.
            Err(nix::Error::ESRCH) => return Ok(()),
            registers => registers?,
        };
        match self.calls.remove(&pid) {
            None => drop(self.calls.insert(pid, call)),
            Some(begun) if result >= 0 => self.done(pid, begun, result.cast_unsigned())?,
            Some(_) => {}
        }
        Ok(())
    }

    /// A call has succeeded.
    fn done(&mut self, pid: Pid, Call(number, of): Call, result: u64) -> std::io::Result<()> {
        match number {
            libc::SYS_write if pid == self.pid && of[0] == 1 => {
                let present = self.present()?;
                self.ledger.acknowledged(&present);
            }
            libc::SYS_write
            | libc::SYS_pwrite64
            | libc::SYS_writev
            | libc::SYS_pwritev
            | libc::SYS_pwritev2
            | libc::SYS_sendfile => self.wrote(pid, of[0], true)?,
            // `O_DSYNC` is about content: a new size may still be lost.
            libc::SYS_ftruncate | libc::SYS_fallocate => self.wrote(pid, of[0], false)?,
            libc::SYS_copy_file_range | libc::SYS_splice => self.wrote(pid, of[2], true)?,
            // Not `sync_file_range(2)`, which writes neither the metadata of the file nor the cache of the device.
            libc::SYS_fsync | libc::SYS_fdatasync => self.synced(pid, of[0])?,
            libc::SYS_sync | libc::SYS_syncfs => {
                self.reached += 1;
                let present = self.present()?;
                present.iter().for_each(|name| self.ledger.synced(name));
                self.ledger.synced_folder(present);
            }
            libc::SYS_mmap if is_written(of) => {
                if let Leads::File(name) = self.leads_to(pid, of[4])?
                    && !name.ends_with("-shm")
                {
                    self.unobserved.get_or_insert_with(|| format!("a mapping of `{name}`"));
                }
            }
            libc::SYS_openat if looks_for_observers(pid, result) => {
                self.ledger.note("asks the system whether its calls are observed".to_owned());
            }
            _ => {
                let how = UNOBSERVED.iter().find(|(unobserved, _)| *unobserved == number);
                self.unobserved = self.unobserved.take().or(how.map(|(_, how)| (*how).to_owned()));
            }
        }
        Ok(())
    }

    fn wrote(&mut self, pid: Pid, descriptor: u64, is_content: bool) -> std::io::Result<()> {
        if let Leads::File(name) = self.leads_to(pid, descriptor)? {
            let present = self.present()?;
            self.ledger.wrote(&name, &present);
            if is_content && syncs_each_write(pid, descriptor) {
                self.reached += 1;
                self.ledger.synced(&name);
            }
        }
        Ok(())
    }

    fn synced(&mut self, pid: Pid, descriptor: u64) -> std::io::Result<()> {
        let is_folder = opened(pid, descriptor).metadata().is_ok_and(|file| file.is_dir());
        self.reached += u64::from(!is_folder);
        match self.leads_to(pid, descriptor)? {
            Leads::Folder => self.ledger.synced_folder(self.present()?),
            Leads::File(name) => self.ledger.synced(&name),
            Leads::Elsewhere => {}
        }
        Ok(())
    }

    fn present(&self) -> std::io::Result<Names> {
        let entries = self.folder.read_dir()?;
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    /// Returns where a descriptor leads, by device and inode: names may mislead.
    fn leads_to(&self, pid: Pid, descriptor: u64) -> std::io::Result<Leads> {
        let identity = |metadata: &Metadata| (metadata.dev(), metadata.ino());
        let Ok(metadata) = opened(pid, descriptor).metadata() else { return Ok(Leads::Elsewhere) };
        if identity(&metadata) == identity(&self.folder.metadata()?) {
            return Ok(Leads::Folder);
        }
        for name in self.present()? {
            let is_same = |other: Metadata| identity(&other) == identity(&metadata);
            if self.folder.join(&name).metadata().is_ok_and(is_same) {
                return Ok(Leads::File(name));
            }
        }
        Ok(Leads::Elsewhere)
    }
}

/// Returns the path of an open descriptor of a process.
fn opened(pid: Pid, descriptor: u64) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/fd/{descriptor}"))
}

/// Returns whether a file was opened with `O_DSYNC` or `O_SYNC`, so that each write to it is a sync as well.
fn syncs_each_write(pid: Pid, descriptor: u64) -> bool {
    let about = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}"));
    let flags = about.ok().and_then(|about| {
        let flags = about.lines().find_map(|line| line.strip_prefix("flags:"))?;
        libc::c_int::from_str_radix(flags.trim(), 8).ok()
    });
    flags.is_some_and(|flags| flags & libc::O_DSYNC != 0)
}

/// Returns whether these are the arguments of a mapping that writes a file.
fn is_written([_, _, protection, flags, _]: [u64; 5]) -> bool {
    let has = |all: u64, flag: libc::c_int| all & u64::from(flag.cast_unsigned()) != 0;
    has(protection, libc::PROT_WRITE)
        && has(flags, libc::MAP_SHARED)
        && !has(flags, libc::MAP_ANONYMOUS)
}

/// Returns whether an opened file tells a process that it is traced.
fn looks_for_observers(pid: Pid, descriptor: u64) -> bool {
    let file = opened(pid, descriptor).read_link();
    file.is_ok_and(|path| path.starts_with("/proc") && path.ends_with("status"))
}

/// Returns the call for which a thread has stopped, and its result if it has been made.
#[cfg(target_arch = "x86_64")]
fn registers(pid: Pid) -> nix::Result<(Call, i64)> {
    let all = ptrace::getregs(pid)?;
    let arguments = [all.rdi, all.rsi, all.rdx, all.r10, all.r8];
    Ok((Call(all.orig_rax.cast_signed(), arguments), all.rax.cast_signed()))
}

/// Returns the call for which a thread has stopped, and its result if it has been made.
#[cfg(target_arch = "aarch64")]
fn registers(pid: Pid) -> nix::Result<(Call, i64)> {
    let all = ptrace::getregset::<ptrace::regset::NT_PRSTATUS>(pid)?.regs;
    let arguments = [all[0], all[1], all[2], all[3], all[4]];
    Ok((Call(all[8].cast_signed(), arguments), all[0].cast_signed()))
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn registers(_: Pid) -> nix::Result<(Call, i64)> {
    Err(nix::Error::ENOSYS)
}
