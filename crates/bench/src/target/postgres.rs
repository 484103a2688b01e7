//! A PostgreSQL server as a target: connecting with the settings of the trial, in a schema of its own, and reading back the
//! server's settings.

use std::error::Error;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use postgres::config::Config;
use postgres::types::{FromSqlOwned, ToSql};
use postgres::{Client, NoTls};

use crate::error::{Result, TrialError};
use crate::parameters::Choice;

/// The setting that decides whether a commit waits for its log.
pub(crate) const SYNCHRONOUS_COMMIT: &str = "synchronous_commit";

/// The schema in which a trial that drives PostgreSQL works.
pub const SCHEMA: &str = "pragmark_trial";

/// The name under which its sessions stand in `pg_stat_activity`.
const APPLICATION: &str = "pragmark";

/// Key of the lock that the trial's first session holds, so that two trials never share the schema.
const LOCK: i64 = 0x7072_6167_6d61_726b;

/// Time in which a server must accept a connection, and in which ended sessions must be gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time in which a schema that a killed trial has left must be removed.
const REMOVAL: Duration = Duration::from_secs(30);

/// Settings that affect the figures.
const REPORTED: [&str; 9] = [
    "server_version", "fsync", SYNCHRONOUS_COMMIT, "full_page_writes", "wal_sync_method",
    "shared_buffers", "max_connections", "max_wal_size", "checkpoint_timeout",
];

choice! {
    /// Whether a commit waits for its log.
    enum SynchronousCommit {
        /// Its log is on disk.
        On = "on",
        /// Nothing.
        Off = "off",
    }
}

/// A server, and the settings of its sessions.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    config: Config,
    synchronous_commit: &'static str,
}

impl Server {
    /// Returns the server of a trial.
    ///
    /// # Errors
    /// The specification names no server ([`TrialError::CannotRun`]), or the address cannot be parsed.
    pub(crate) fn of(
        address: Option<&str>,
        synchronous_commit: SynchronousCommit,
    ) -> Result<Server> {
        let address = address.ok_or_else(|| {
            TrialError::cannot_run("the specification names no PostgreSQL server (`postgres`)")
        })?;
        let mut config: Config =
            address.parse().map_err(failed("read the address of the server"))?;
        config.application_name(APPLICATION).connect_timeout(PATIENCE);
        Ok(Server { config, synchronous_commit: synchronous_commit.name() })
    }

    /// Begins the trial's first session, with an empty schema.
    ///
    /// # Errors
    /// The server cannot be reached or refuses, or another trial uses it.
    pub(crate) fn begin(&self) -> Result<Workspace> {
        let mut client = self.connect()?;
        lock(&mut client)?;
        let make = format!(
            "SET client_min_messages = warning; DROP SCHEMA IF EXISTS {SCHEMA} CASCADE; CREATE SCHEMA {SCHEMA}"
        );
        client.batch_execute(&make).map_err(failed("make a schema"))?;
        Ok(Workspace { client, is_there: true })
    }

    /// Removes the schema if it exists, once no trial uses it.
    fn tidy(&self) -> Result<()> {
        let mut client = self.connect()?;
        lock(&mut client)?;
        let left = Workspace { client, is_there: true };
        left.end()
    }

    /// Opens another session.
    ///
    /// # Errors
    /// The server cannot be reached or refuses.
    pub(crate) fn connect(&self) -> Result<Client> {
        let mut client = self.config.connect(NoTls).map_err(failed("connect to the server"))?;
        client
            .batch_execute(&format!(
                "SET search_path = {SCHEMA}; SET {SYNCHRONOUS_COMMIT} = {}",
                self.synchronous_commit
            ))
            .map_err(failed("set what a commit waits for"))?;
        let found = self.setting(&mut client, SYNCHRONOUS_COMMIT)?;
        if found != self.synchronous_commit {
            return Err(TrialError::not_in_force(
                SYNCHRONOUS_COMMIT, APPLICATION, &found, self.synchronous_commit,
            ));
        }
        Ok(client)
    }

    /// Returns a setting of the session.
    ///
    /// # Errors
    /// The server has no setting of this name.
    pub(crate) fn setting(&self, client: &mut Client, name: &str) -> Result<String> {
        value(client, "SELECT current_setting($1)", &[&name], "read a setting")
    }

    /// Returns the names and values of the settings that affect the figures.
    ///
    /// # Errors
    /// The server cannot be asked.
    pub(crate) fn settings(&self, client: &mut Client) -> Result<Vec<Vec<String>>> {
        let read = |name: &&str| Ok(vec![(*name).to_owned(), self.setting(client, name)?]);
        REPORTED.iter().map(read).collect()
    }

    /// Returns how often the server's log was synced since its statistics began, after every other session of the trial has ended
    /// and reported its part. Some servers do not count: before version 14, from 18 on, where the count is elsewhere, and where
    /// writing itself syncs.
    ///
    /// # Errors
    /// The server cannot be asked.
    pub(crate) fn log_syncs(&self, client: &mut Client) -> Result<Option<u64>> {
        let version = "SELECT current_setting('server_version_num')::int";
        let number: i32 = value(client, version, &[], "read the server's version")?;
        let method = self.setting(client, "wal_sync_method")?;
        if !(140_000..180_000).contains(&number) || !matches!(&*method, "fsync" | "fdatasync") {
            return Ok(None);
        }
        self.wait_for_others(client)?;
        let synced = "SELECT wal_sync FROM pg_stat_wal";
        let syncs: i64 = value(client, synced, &[], "read how often the log was synced")?;
        Ok(u64::try_from(syncs).ok())
    }

    /// Returns the number of tables, indexes and sessions that are left of a trial whose last session has ended.
    ///
    /// # Errors
    /// The server cannot be asked.
    pub(crate) fn left_over(&self) -> Result<usize> {
        const RELATIONS: &str =
            "SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace($1)";
        let mut client = self.connect()?;
        let sessions = self.wait_for_others(&mut client)?;
        let relations: i64 = value(&mut client, RELATIONS, &[&SCHEMA], "look for tables")?;
        Ok(usize::try_from(sessions + relations).unwrap_or_default())
    }

    /// Waits until the server has noticed the end of the other sessions. Returns the number of sessions that remain.
    fn wait_for_others(&self, client: &mut Client) -> Result<i64> {
        const OTHERS: &str = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()";
        let deadline = Instant::now() + PATIENCE;
        loop {
            let others: i64 = value(client, OTHERS, &[&APPLICATION], "look for other sessions")?;
            if others == 0 || Instant::now() >= deadline {
                return Ok(others);
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Removes the schema that a killed trial has left on the server at this address, if it exists. An address that cannot be parsed
/// has led no trial anywhere.
///
/// # Errors
/// The server cannot be reached, refuses or does not answer, or another trial uses it.
pub fn remove_trial_schema(address: &str) -> Result<()> {
    match Server::of(Some(address), SynchronousCommit::On) {
        Ok(server) => remove_within(REMOVAL, server),
        Err(_) => Ok(()),
    }
}

/// Uses a thread of its own, because a server that hangs accepts a connection and then sends nothing.
fn remove_within(limit: Duration, server: Server) -> Result<()> {
    let (sender, removed) = channel();
    thread::spawn(move || {
        // Nobody receives the result after the limit.
        let _ = sender.send(server.tidy());
    });
    removed.recv_timeout(limit).unwrap_or_else(|_| {
        let why = format!("the server did not respond within {limit:?}");
        Err(TrialError::Failed(format!("cannot remove the schema: {why}")))
    })
}

/// Takes the lock of the schema. A killed trial holds it until the server notices its end.
fn lock(client: &mut Client) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let lock = "SELECT pg_try_advisory_lock($1)";
        let locked: bool = value(client, lock, &[&LOCK], "lock the schema")?;
        if locked {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(TrialError::CannotRun(format!(
                "another pragmark is using the schema {SCHEMA} of this server"
            )));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// The trial's first session, which ends last, with the schema.
pub(crate) struct Workspace {
    pub(crate) client: Client,
    is_there: bool,
}

impl Workspace {
    /// Removes the schema.
    ///
    /// # Errors
    /// The server refuses.
    pub(crate) fn end(mut self) -> Result<()> {
        self.is_there = false;
        self.remove().map_err(failed("remove the schema"))
    }

    fn remove(&mut self) -> Result<(), postgres::Error> {
        let schema = format!("DROP SCHEMA IF EXISTS {SCHEMA} CASCADE");
        self.client.batch_execute(&schema)
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if self.is_there {
            // The trial has failed already. The next one removes what is left.
            let _ = self.remove();
        }
    }
}

/// Returns the only value of a query.
pub(crate) fn value<T: FromSqlOwned>(
    client: &mut Client,
    sql: &str,
    parameters: &[&(dyn ToSql + Sync)],
    doing: &'static str,
) -> Result<T> {
    let row = client.query_one(sql, parameters);
    row.and_then(|row| row.try_get(0)).map_err(failed(doing))
}

/// Adds the attempted operation to the message of the server or the driver.
pub(crate) fn failed(doing: &'static str) -> impl Fn(postgres::Error) -> TrialError {
    move |error| TrialError::Failed(format!("cannot {doing}: {}", explained(&error)))
}

fn explained(error: &postgres::Error) -> String {
    if let Some(server) = error.as_db_error() {
        return format!("{} ({})", server.message(), server.code().code());
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    fn server(address: &str) -> Server {
        Server::of(Some(address), SynchronousCommit::On).unwrap()
    }

    #[test]
    fn a_socket_is_an_address_like_any_other() {
        let server = server("postgresql:///postgres?host=%2Ftmp%2Fsomewhere&user=pragmark");
        assert_eq!(server.config.get_dbname(), Some("postgres"));
        assert_eq!(server.config.get_user(), Some("pragmark"));
        assert_eq!(
            server.config.get_hosts(),
            [postgres::config::Host::Unix("/tmp/somewhere".into())]
        );
    }

    #[test]
    fn a_wrong_address_and_a_server_that_is_not_there_are_told_with_the_cause() {
        let wrong = Server::of(Some("postgresql://[nonsense"), SynchronousCommit::On);
        let wrong = wrong.unwrap_err().to_string();
        assert!(wrong.contains("address of the server"), "{wrong}");
        let nobody = server("postgresql:///x?host=%2Fno%2Fsuch%2Fdirectory&user=y");
        let reported = nobody.begin().err().unwrap().to_string();
        assert!(reported.contains("connect to the server"), "{reported}");
        assert!(reported.contains("No such file"), "{reported}");
        let none = Server::of(None, SynchronousCommit::On).unwrap_err();
        assert!(matches!(none, TrialError::CannotRun(_)));
    }

    #[test]
    fn what_is_left_on_a_server_that_is_not_there_is_told_without_the_address() {
        assert!(remove_trial_schema("postgresql://[nonsense").is_ok());
        let gone = "postgresql://y:secret@/x?host=%2Fno%2Fsuch%2Fdirectory";
        let reported = remove_trial_schema(gone).unwrap_err().to_string();
        assert!(reported.contains("connect to the server"), "{reported}");
        assert!(!reported.contains("secret") && !reported.contains("such%2F"), "{reported}");
    }

    #[test]
    fn a_server_that_hangs_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let silent = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).unwrap();
        let host = directory.path().to_string_lossy().replace('/', "%2F");
        let server = server(&format!("postgresql:///x?host={host}&user=y"));
        let reported = remove_within(Duration::from_millis(100), server);
        let reported = reported.unwrap_err().to_string();
        assert!(reported.contains("within 100ms"), "{reported}");
        drop(silent);
    }
}
