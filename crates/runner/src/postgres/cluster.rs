//! A private cluster: created, started, watched and removed.
//!
//! The server is started by a shell that waits for the end of its standard input, whose other end
//! this process holds. When this process lets go, dies, or is killed, the input ends, and the shell
//! ends the server: nothing is left running, whatever happens. A server that ends by itself ends the
//! shell. Its data lies in a directory of the kind that the next run sweeps up.

use std::fs::{self, File, Metadata};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use process::{End, Group, Limits, Process, described};
use rustix::process::geteuid;
use tempfile::TempDir;

use crate::error::Context;
use crate::postgres::ServerError;
use crate::workdir::WorkDir;

/// The role that owns the cluster, and the database that trials connect to.
const ROLE: &str = "pragmark";
const DATABASE: &str = "postgres";

/// The name of the socket for the default port.
const SOCKET: &str = ".s.PGSQL.5432";

/// The cluster within its directory.
const HOME: &str = "cluster";

/// Connections that a cluster accepts: a thousand writers, and some observers.
const MAX_CONNECTIONS: u32 = 1_100;

/// Time in which a cluster must be made, and in which its server must be ready.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time in which a server must end before it is killed.
const GRACE: Duration = Duration::from_secs(15);

/// How often a program is checked.
const POLL: Duration = Duration::from_millis(10);

/// Starts the server given by the arguments after the first, and ends it at once, without writing
/// back what will be removed anyway, when standard input ends; removes the first argument when the
/// server has ended, by itself or not, and ends as it did. (A shell gives what it starts in the
/// background no standard input, unless by another number.)
const WATCH: &str = r#"sockets=$1; shift
exec 3<&0
"$@" </dev/null 3<&- & server=$!
{ cat <&3 >/dev/null; kill -QUIT "$server" 2>/dev/null; exec sleep 600 </dev/null >/dev/null 2>&1 3<&-; } & holder=$!
wait "$server"
status=$?
kill "$holder" 2>/dev/null
rm -rf "$sockets"
exit "$status"
"#;

/// A running server with a cluster of its own.
#[derive(Debug)]
pub(super) struct Cluster {
    watch: Process,
    /// Taken when the server is to end.
    hold: Option<ChildStdin>,
    // In the order in which they are removed.
    sockets: TempDir,
    work: WorkDir,
}

impl Cluster {
    /// Makes a cluster below `directory`, with the programs in `programs`, and starts its server.
    pub(super) fn start(
        programs: &Path,
        directory: &Path,
        run: &str,
        cancelled: &AtomicBool,
    ) -> Result<Cluster, ServerError> {
        let account = Account::needed()?;
        let work = WorkDir::create(directory, &format!("{run}-postgres"))?;
        if let Some(account) = &account {
            let_in(account, &work)?;
        }
        let making = Making { programs, log: &log(&work.path), account: account.as_ref() };
        let home = making.home(&work.path)?;
        making.fill(&home, cancelled)?;
        // Only the server's watch removes it when this process is killed, so it is made just before.
        let sockets = making.socket_directory()?;
        let mut watch = making.serve(&home, sockets.path())?;
        let mut cluster = Cluster { hold: watch.take_input(), watch, sockets, work };
        cluster.wait_until_ready(&home, cancelled)?;
        Ok(cluster)
    }

    /// Returns where it listens, for libpq and drivers of every language.
    pub(super) fn uri(&self) -> String {
        let host = percent_encoded(&self.sockets.path().to_string_lossy());
        format!("postgresql:///{DATABASE}?host={host}&user={ROLE}")
    }

    /// Returns whether it accepts connections.
    pub(super) fn is_alive(&self) -> bool {
        UnixStream::connect(self.sockets.path().join(SOCKET)).is_ok()
    }

    /// Returns the end of its log.
    pub(super) fn last_words(&self) -> String {
        end_of(&log(&self.work.path))
    }

    #[cfg(test)]
    pub(super) fn home(&self) -> PathBuf {
        self.work.path.join(HOME)
    }

    /// The eighth line of the server's lock file says when it is ready.
    fn wait_until_ready(&mut self, home: &Path, cancelled: &AtomicBool) -> Result<(), ServerError> {
        let deadline = Instant::now() + PATIENCE;
        let is_ready = || {
            let text = fs::read_to_string(home.join("postmaster.pid")).unwrap_or_default();
            text.lines().nth(7).is_some_and(|line| line.trim() == "ready")
        };
        while !is_ready() {
            if cancelled.load(Ordering::Relaxed) {
                return Err(ServerError::Cancelled);
            }
            if let Ok(Some(status)) = self.watch.try_wait() {
                let status = described(status);
                return Err(self.not_ready(format!("ended before it was ready ({status})")));
            }
            if Instant::now() >= deadline {
                let waited = PATIENCE.as_secs();
                return Err(self.not_ready(format!("was not ready after {waited} s")));
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    fn not_ready(&self, how: String) -> ServerError {
        ServerError::Program { program: "postgres", how, said: self.last_words() }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.hold.take();
        self.watch.end(GRACE);
    }
}

fn log(work: &Path) -> PathBuf {
    work.join("server.log")
}

/// Lets the user into the directory, where those above it, which are not pragmark's, let it pass.
fn let_in(account: &Account, work: &WorkDir) -> Result<(), ServerError> {
    work.let_others_pass()?;
    match account.blocked(&work.path) {
        None => Ok(()),
        Some(directory) => Err(ServerError::Closed(account.name.clone(), directory)),
    }
}

/// The programs, the user and the log with which a cluster is made.
struct Making<'a> {
    programs: &'a Path,
    log: &'a Path,
    account: Option<&'a Account>,
}

impl Making<'_> {
    /// Returns the empty directory that becomes the cluster.
    fn home(&self, work: &Path) -> Result<PathBuf, ServerError> {
        let home = work.join(HOME);
        fs::create_dir(&home).context("create", &home)?;
        self.give(&home)?;
        Ok(home)
    }

    /// Creates the directory of sockets. A socket's path may have only some hundred bytes, so sockets are not with the data.
    fn socket_directory(&self) -> Result<TempDir, ServerError> {
        let parent = Path::new("/tmp");
        let sockets = tempfile::Builder::new()
            .prefix("pragmark-postgres-")
            .tempdir_in(parent)
            .context("create a directory in", parent)?;
        self.give(sockets.path())?;
        Ok(sockets)
    }

    fn give(&self, path: &Path) -> Result<(), ServerError> {
        if let Some(account) = self.account {
            chown(path, Some(account.uid), Some(account.gid))
                .context("change the owner of", path)?;
        }
        Ok(())
    }

    /// Returns a program of PostgreSQL's, as the right user and without what the user's own environment may say to it, with
    /// its output in `log`.
    fn command(&self, program: &Path) -> Result<Command, ServerError> {
        let log = self.log;
        let output = File::options().create(true).append(true).open(log).context("write", log)?;
        let errors = output.try_clone().context("write", log)?;
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("LC_ALL", "C")
            .stdout(output)
            .stderr(errors);
        if let Some(account) = self.account {
            command.uid(account.uid).gid(account.gid);
        }
        Ok(command)
    }

    /// Makes the cluster.
    fn fill(&self, home: &Path, cancelled: &AtomicBool) -> Result<(), ServerError> {
        let mut initdb = self.command(&self.programs.join("initdb"))?;
        initdb
            .args(["--username", ROLE, "--auth", "trust", "--encoding", "UTF8"])
            // It syncs what it writes, which else would be written back while trials are measured.
            .args(["--locale", "C", "--pgdata"])
            .arg(home)
            .current_dir(home)
            .stdin(Stdio::null());
        let limits = Limits { time: Some(PATIENCE), cancelled: Some(cancelled) };
        match Process::start(&mut initdb, Group::Own)?.finish(&limits)? {
            end if end.is_success() => Ok(()),
            End::Cancelled => Err(ServerError::Cancelled),
            end => {
                let (how, said) = (end.to_string(), end_of(self.log));
                Err(ServerError::Program { program: "initdb", how, said })
            }
        }
    }

    /// Starts the server under its watch. What a commit waits for is each connection's choice
    /// (synchronous_commit); that the disk is waited for at all (fsync) is never given up here.
    fn serve(&self, home: &Path, sockets: &Path) -> Result<Process, ServerError> {
        let settings = [
            "listen_addresses=".to_owned(),
            format!("unix_socket_directories={}", sockets.display()),
            "unix_socket_permissions=0700".to_owned(),
            format!("max_connections={MAX_CONNECTIONS}"),
            "fsync=on".to_owned(),
        ];
        let mut shell = self.command(Path::new("/bin/sh"))?;
        shell
            .args(["-c", WATCH, "pragmark-postgres"])
            .arg(sockets)
            .arg(self.programs.join("postgres"))
            .arg("-D")
            .arg(home)
            .args(settings.iter().flat_map(|setting| ["-c", setting]))
            .current_dir(sockets)
            .stdin(Stdio::piped());
        Ok(Process::start(&mut shell, Group::Own)?)
    }
}

fn end_of(log: &Path) -> String {
    File::open(log).and_then(process::end_of).unwrap_or_default()
}

/// Returns the text with everything but plain letters, digits and `-._~` as `%` and two digits.
fn percent_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// A user of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) name: String,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

/// Users that own nothing worth having, the fitting one first.
const PREFERRED: [&str; 2] = ["postgres", "nobody"];

impl Account {
    /// Returns the user to become; `None` unless this process runs as root.
    pub(super) fn needed() -> Result<Option<Account>, ServerError> {
        if !geteuid().is_root() {
            return Ok(None);
        }
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let found = PREFERRED.iter().find_map(|name| find(&passwd, name));
        found.map(Some).ok_or(ServerError::NoAccount)
    }

    /// Returns the first directory on the way to `path`, or `path` itself, that this user may not enter.
    pub(super) fn blocked(&self, path: &Path) -> Option<PathBuf> {
        let mut way: Vec<&Path> = path.ancestors().collect();
        way.reverse();
        way.into_iter()
            .find(|directory| fs::metadata(directory).is_ok_and(|metadata| !self.enters(&metadata)))
            .map(Path::to_owned)
    }

    fn enters(&self, directory: &Metadata) -> bool {
        let class = match () {
            () if directory.uid() == self.uid => 0o100,
            () if directory.gid() == self.gid => 0o010,
            () => 0o001,
        };
        directory.mode() & class != 0
    }
}

/// Returns the user of this name in a file of passwd(5).
fn find(passwd: &str, name: &str) -> Option<Account> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let found = fields.next().filter(|found| *found == name)?;
        Some(Account {
            name: found.to_owned(),
            uid: fields.nth(1)?.parse().ok().filter(|uid| *uid != 0)?,
            gid: fields.next()?.parse().ok()?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_strict_umask_does_not_shut_the_servers_user_out_but_a_closed_directory_above_does() {
        let directory = tempfile::tempdir().unwrap();
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(directory.path(), 0o755);
        let work = WorkDir::create(directory.path(), "test").unwrap();
        let stranger =
            Account { name: "stranger".to_owned(), uid: 4_000_000_000, gid: 4_000_000_000 };
        // As a umask of 077 has it made.
        mode(&work.path, 0o700);
        assert_eq!(stranger.blocked(&work.path).as_deref(), Some(work.path.as_path()));
        let_in(&stranger, &work).unwrap();
        assert_eq!(stranger.blocked(&work.path), None);
        mode(directory.path(), 0o700);
        let refused = let_in(&stranger, &work).unwrap_err().to_string();
        let closed = format!("may not enter {};", directory.path().display());
        assert!(refused.contains(&closed), "{refused}");
    }

    #[test]
    fn a_path_in_an_address_has_no_slashes() {
        assert_eq!(percent_encoded("/tmp/a b-1"), "%2Ftmp%2Fa%20b-1");
    }

    #[test]
    fn a_log_is_quoted_from_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        assert_eq!(end_of(&path), "");
        fs::write(&path, format!("{}the end\n", "x".repeat(5_000))).unwrap();
        let quoted = end_of(&path);
        assert!(quoted.ends_with("the end") && quoted.len() < 2_000);
    }

    #[test]
    fn a_user_is_found_by_name_and_never_root() {
        let passwd = "root:x:0:0::/root:/bin/sh\npostgres2:x:7:7::/:/bin/sh\nnobody:x:65534:65533::/:/bin/false\nfake:x:0:5::/:/bin/sh\nshort:x\n";
        let nobody = Account { name: "nobody".to_owned(), uid: 65534, gid: 65533 };
        assert_eq!(find(passwd, "nobody"), Some(nobody));
        for missing in ["postgres", "root", "fake", "short"] {
            assert_eq!(find(passwd, missing), None, "{missing}");
        }
    }

    #[test]
    fn the_first_closed_directory_on_the_way_is_named() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("open").join("closed").join("inner");
        fs::create_dir_all(&inner).unwrap();
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(root.path(), 0o755);
        mode(&root.path().join("open/closed"), 0o700);
        let stranger =
            Account { name: "stranger".to_owned(), uid: 4_000_000_000, gid: 4_000_000_000 };
        assert_eq!(stranger.blocked(&inner), Some(root.path().join("open/closed")));
        assert_eq!(stranger.blocked(&root.path().join("open")), None);
        mode(&root.path().join("open/closed"), 0o711);
        assert_eq!(stranger.blocked(&inner), None);
    }
}
