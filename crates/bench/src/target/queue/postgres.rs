//! Tasks in a table of a PostgreSQL server: a connection for each worker, statements prepared once.

use std::sync::{Mutex, MutexGuard, PoisonError};

use lab::durability::Durability;
use lab::trial::DataTable;
use postgres::types::ToSql;
use postgres::{Client, Row, Statement};

use super::{Change, Closing, Job, Notes, Session, Status, Store, Task, TaskId, missing};
use crate::error::TrialError;
use crate::target::postgres::{Server, Workspace, failed};

/// A table of tasks on a server.
pub(crate) struct Postgres {
    server: Server,
    /// For what is done besides the measured work.
    first: Mutex<Workspace>,
}

const COLUMNS: &str = "id, status, cmd, args, scheduled_at, output";

impl Postgres {
    /// Makes the table in a schema of its own, and an index of the schedule where `indexed`.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, or another trial uses it.
    pub(crate) fn create(server: Server, indexed: bool) -> Result<Postgres, TrialError> {
        let mut first = server.begin()?;
        first
            .batch_execute("CREATE TABLE tasks(id varchar(32) NOT NULL PRIMARY KEY, status varchar(16) NOT NULL, cmd varchar(16) NOT NULL, args text NOT NULL, scheduled_at bigint NOT NULL, output text NOT NULL)")
            .map_err(failed("make the table"))?;
        if indexed {
            first
                .batch_execute("CREATE INDEX tasks_schedule ON tasks(status, scheduled_at)")
                .map_err(failed("make the index"))?;
        }
        Ok(Postgres {
            server,
            first: Mutex::new(first),
        })
    }

    fn first(&self) -> MutexGuard<'_, Workspace> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Postgres {
    fn session(&self, job: Job<'_>) -> Result<(), TrialError> {
        let mut session = PostgresSession::prepare(self.server.connect()?)?;
        job(&mut session)?;
        session.client.close().map_err(failed("close a connection"))
    }

    fn tasks(&self) -> Result<Vec<Task>, TrialError> {
        let all = format!("SELECT {COLUMNS} FROM tasks ORDER BY id COLLATE \"C\"");
        let rows = self
            .first()
            .query(&all, &[])
            .map_err(failed("read the table"))?;
        rows.iter().map(task).collect()
    }

    fn durability(&self) -> Result<Durability, TrialError> {
        let mut first = self.first();
        let mut of = |name: &str| self.server.setting(&mut first, name);
        Ok(durability(&of("fsync")?, &of("synchronous_commit")?))
    }

    fn notes(&self) -> Notes {
        // A server that cannot say it, or cannot be asked any more, leaves the count out; a dead one
        // fails the trial by the work itself.
        let syncs = self.server.log_syncs(&mut self.first()).unwrap_or_default();
        let count = |syncs: u64| ("syncs".to_owned(), syncs as f64);
        Notes {
            syncs,
            shares_syncs: true,
            counts: syncs.map(count).into_iter().collect(),
            ..Notes::default()
        }
    }

    fn close(self: Box<Self>) -> Result<Closing, TrialError> {
        let mut first = self
            .first
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let size = first
            .query_one("SELECT pg_total_relation_size('tasks')", &[])
            .map_err(failed("read the size of the table"))?;
        let bytes: i64 = size
            .try_get(0)
            .map_err(failed("read the size of the table"))?;
        let settings = self.server.settings(&mut first)?;
        first.end()?;
        Ok(Closing {
            tables: vec![DataTable {
                title: "the server's settings".to_owned(),
                columns: vec!["setting".to_owned(), "value".to_owned()],
                rows: settings,
            }],
            metrics: [("db_bytes".to_owned(), bytes as f64)].into(),
            ..Closing::default()
        })
    }
}

/// What these settings undertake
/// (<https://www.postgresql.org/docs/current/runtime-config-wal.html>).
fn durability(fsync: &str, synchronous_commit: &str) -> Durability {
    match (fsync, synchronous_commit) {
        ("off", _) => Durability::Process,
        (_, "off") => Durability::Recent,
        _ => Durability::Every,
    }
}

struct PostgresSession {
    client: Client,
    insert: Statement,
    set_status: Statement,
    set_output: Statement,
    append_output: Statement,
    delete: Statement,
    get: Statement,
    list: Statement,
    claim: Statement,
}

impl PostgresSession {
    fn prepare(mut client: Client) -> Result<PostgresSession, TrialError> {
        let mut prepare = |sql: &str| client.prepare(sql).map_err(failed("prepare a statement"));
        Ok(PostgresSession {
            insert: prepare("INSERT INTO tasks VALUES ($1, $2, $3, $4, $5, $6)")?,
            set_status: prepare("UPDATE tasks SET status = $2 WHERE id = $1")?,
            set_output: prepare("UPDATE tasks SET output = $2 WHERE id = $1")?,
            append_output: prepare("UPDATE tasks SET output = output || $2 WHERE id = $1")?,
            delete: prepare("DELETE FROM tasks WHERE id = $1")?,
            get: prepare(&format!("SELECT {COLUMNS} FROM tasks WHERE id = $1"))?,
            list: prepare("SELECT id FROM tasks WHERE status = $1 ORDER BY scheduled_at LIMIT $2")?,
            claim: prepare(&format!(
                "UPDATE tasks SET status = 'processing' WHERE id = (SELECT id FROM tasks WHERE status = 'pending' AND scheduled_at <= $1 ORDER BY scheduled_at LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING {COLUMNS}"
            ))?,
            client,
        })
    }
}

/// Runs a statement that must change one row.
fn change(
    client: &mut Client,
    statement: &Statement,
    id: TaskId,
    values: &[&(dyn ToSql + Sync)],
) -> Result<(), TrialError> {
    match client.execute(statement, values) {
        Ok(1) => Ok(()),
        Ok(_) => Err(missing(id)),
        Err(error) => Err(failed("change a task")(error)),
    }
}

impl Session for PostgresSession {
    fn insert(&mut self, task: &Task) -> Result<(), TrialError> {
        let key = task.id.to_string();
        let status = task.status.name();
        let values: [&(dyn ToSql + Sync); 6] = [
            &key,
            &status,
            &task.cmd,
            &task.args,
            &task.scheduled_at,
            &task.output,
        ];
        change(&mut self.client, &self.insert, task.id, &values)
    }

    fn update(&mut self, task: &Task, changed: Change<'_>) -> Result<(), TrialError> {
        let key = task.id.to_string();
        let (statement, value) = match changed {
            Change::Status => (&self.set_status, task.status.name()),
            Change::Output => (&self.set_output, task.output.as_str()),
            Change::Appended(more) => (&self.append_output, more),
        };
        change(&mut self.client, statement, task.id, &[&key, &value])
    }

    fn delete(&mut self, task: &Task) -> Result<(), TrialError> {
        let key = task.id.to_string();
        change(&mut self.client, &self.delete, task.id, &[&key])
    }

    fn get(&mut self, id: TaskId) -> Result<Option<Task>, TrialError> {
        let key = id.to_string();
        let row = self.client.query_opt(&self.get, &[&key]);
        let row = row.map_err(failed("read a task"))?;
        row.as_ref().map(task).transpose()
    }

    fn list(&mut self, status: Status, limit: usize) -> Result<Vec<TaskId>, TrialError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = self.client.query(&self.list, &[&status.name(), &limit]);
        let rows = rows.map_err(failed("list tasks"))?;
        rows.iter().map(id).collect()
    }

    fn claim(&mut self, now: i64) -> Result<Option<Task>, TrialError> {
        let row = self.client.query_opt(&self.claim, &[&now]);
        let row = row.map_err(failed("claim a task"))?;
        row.as_ref().map(task).transpose()
    }

    fn begin(&mut self) -> Result<(), TrialError> {
        self.client
            .batch_execute("BEGIN")
            .map_err(failed("begin a transaction"))
    }

    fn commit(&mut self) -> Result<(), TrialError> {
        self.client
            .batch_execute("COMMIT")
            .map_err(failed("commit"))
    }
}

fn column<'r, T: postgres::types::FromSql<'r>>(
    row: &'r Row,
    column: usize,
) -> Result<T, TrialError> {
    row.try_get(column).map_err(failed("read a column"))
}

fn id(row: &Row) -> Result<TaskId, TrialError> {
    TaskId::parse(column(row, 0)?).ok_or_else(|| damaged("an id"))
}

fn task(row: &Row) -> Result<Task, TrialError> {
    Ok(Task {
        id: id(row)?,
        status: Status::parse(column(row, 1)?).ok_or_else(|| damaged("a status"))?,
        cmd: column(row, 2)?,
        args: column(row, 3)?,
        scheduled_at: column(row, 4)?,
        output: column(row, 5)?,
    })
}

fn damaged(what: &str) -> TrialError {
    TrialError::WrongResult {
        what: format!("{what} in the table of tasks"),
        found: "something else".to_owned(),
        wanted: "one".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_settings_undertake_follows_the_documentation() {
        assert_eq!(durability("on", "on"), Durability::Every);
        assert_eq!(durability("on", "local"), Durability::Every);
        assert_eq!(durability("on", "off"), Durability::Recent);
        assert_eq!(durability("off", "on"), Durability::Process);
    }
}
