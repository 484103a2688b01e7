//! Tasks in a table of a PostgreSQL server: a connection for each worker, statements prepared once.

use std::sync::Mutex;

use engine::{locked, unlocked};
use lab::durability::Durability;
use lab::trial::DataTable;
use postgres::types::ToSql;
use postgres::{Client, Row, Statement};

use super::sql::{self, COLUMNS, Sql};
use super::{
    Change, Closing, Session, SessionWork, Status, Store, StoreStats, Task, TaskId, damaged,
    missing,
};
use crate::error::Result;
use crate::parameters::Choice;
use crate::target::postgres::{Server, Workspace, failed, value};

/// A table of tasks on a server.
pub(crate) struct Postgres {
    server: Server,
    /// The session for everything besides the measured work.
    first: Mutex<Workspace>,
}

impl Postgres {
    /// Creates the table in a schema of its own and, if `indexed`, an index of the schedule.
    ///
    /// # Errors
    /// The server cannot be reached or refuses, or another trial uses it.
    pub(crate) fn create(server: Server, indexed: bool) -> Result<Postgres> {
        let mut first = server.begin()?;
        first
            .client
            .batch_execute(&sql::create_table("bigint"))
            .map_err(failed("make the table"))?;
        if indexed {
            first.client.batch_execute(sql::CREATE_INDEX).map_err(failed("make the index"))?;
        }
        Ok(Postgres { server, first: Mutex::new(first) })
    }
}

impl Store for Postgres {
    fn session(&self, work: SessionWork<'_>) -> Result<()> {
        let mut session = PostgresSession::prepare(self.server.connect()?)?;
        work(&mut session)?;
        session.client.close().map_err(failed("close a connection"))
    }

    fn tasks(&self) -> Result<Vec<Task>> {
        let all = format!("SELECT {COLUMNS} FROM tasks ORDER BY id COLLATE \"C\"");
        let rows = locked(&self.first).client.query(&all, &[]).map_err(failed("read the table"))?;
        rows.iter().map(task).collect()
    }

    fn durability(&self) -> Result<Durability> {
        let mut first = locked(&self.first);
        let mut of = |name: &str| self.server.setting(&mut first.client, name);
        Ok(durability(&of("fsync")?, &of("synchronous_commit")?))
    }

    fn stats(&self) -> StoreStats {
        // The count is left out if the server does not know it or cannot be asked; a dead server fails the work itself.
        let syncs = self.server.log_syncs(&mut locked(&self.first).client).unwrap_or_default();
        let count = |syncs: u64| ("syncs".to_owned(), syncs as f64);
        StoreStats {
            syncs,
            shares_syncs: true,
            counts: syncs.map(count).into_iter().collect(),
            ..StoreStats::default()
        }
    }

    fn close(self: Box<Self>) -> Result<Closing> {
        let mut first = unlocked(self.first);
        let size = "SELECT pg_total_relation_size('tasks')";
        let bytes: i64 = value(&mut first.client, size, &[], "read the size of the table")?;
        let settings = self.server.settings(&mut first.client)?;
        first.end()?;
        Ok(Closing {
            tables: vec![DataTable::new("the server's settings", &["setting", "value"], settings)],
            metrics: [("db_bytes".to_owned(), bytes as f64)].into(),
            left_on_server: Some(self.server.left_over()?),
            ..Closing::default()
        })
    }
}

/// Returns the durability of these settings
/// (<https://www.postgresql.org/docs/current/runtime-config-wal.html>).
fn durability(fsync: &str, synchronous_commit: &str) -> Durability {
    match (fsync, synchronous_commit) {
        ("off", _) => Durability::Process,
        (_, "off") => Durability::Recent,
        _ => Durability::Every,
    }
}

/// Returns a statement in PostgreSQL's syntax. Sessions that claim a task skip tasks that others are claiming.
fn translated(sql: &str) -> String {
    sql.replace('?', "$").replace("LIMIT 1)", "LIMIT 1 FOR UPDATE SKIP LOCKED)")
}

struct PostgresSession {
    client: Client,
    /// The prepared statements, by [`Sql`].
    statements: Vec<Statement>,
}

impl PostgresSession {
    fn prepare(mut client: Client) -> Result<PostgresSession> {
        let prepare = |sql: &str| client.prepare(&translated(sql));
        let statements = Sql::texts("BEGIN").into_iter().map(prepare).collect::<Result<_, _>>();
        Ok(PostgresSession {
            statements: statements.map_err(failed("prepare a statement"))?,
            client,
        })
    }

    /// Runs a statement that must change one row.
    fn change(&mut self, sql: Sql, id: TaskId, values: &[&(dyn ToSql + Sync)]) -> Result<()> {
        match self.client.execute(&self.statements[sql as usize], values) {
            Ok(1) => Ok(()),
            Ok(_) => Err(missing(id)),
            Err(error) => Err(failed("change a task")(error)),
        }
    }

    /// Returns the task of a statement, if any.
    fn one(
        &mut self,
        sql: Sql,
        value: &(dyn ToSql + Sync),
        doing: &'static str,
    ) -> Result<Option<Task>> {
        let row = self.client.query_opt(&self.statements[sql as usize], &[value]);
        row.map_err(failed(doing))?.as_ref().map(task).transpose()
    }
}

impl Session for PostgresSession {
    fn insert(&mut self, task: &Task) -> Result<()> {
        let key = task.id.to_string();
        let status = task.status.name();
        let values: [&(dyn ToSql + Sync); 6] =
            [&key, &status, &task.cmd, &task.args, &task.scheduled_at, &task.output];
        self.change(Sql::Insert, task.id, &values)
    }

    fn update(&mut self, task: &Task, changed: Change<'_>) -> Result<()> {
        let key = task.id.to_string();
        let (statement, value) = match changed {
            Change::Status => (Sql::SetStatus, task.status.name()),
            Change::Output => (Sql::SetOutput, task.output.as_str()),
            Change::Appended(more) => (Sql::AppendOutput, more),
        };
        self.change(statement, task.id, &[&key, &value])
    }

    fn delete(&mut self, task: &Task) -> Result<()> {
        self.change(Sql::Delete, task.id, &[&task.id.to_string()])
    }

    fn get(&mut self, id: TaskId) -> Result<Option<Task>> {
        self.one(Sql::Get, &id.to_string(), "read a task")
    }

    fn list(&mut self, status: Status, limit: usize) -> Result<Vec<TaskId>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let list = &self.statements[Sql::List as usize];
        let rows = self.client.query(list, &[&status.name(), &limit]);
        rows.map_err(failed("list tasks"))?.iter().map(id).collect()
    }

    fn claim(&mut self, now: i64) -> Result<Option<Task>> {
        self.one(Sql::Claim, &now, "claim a task")
    }

    fn begin(&mut self) -> Result<()> {
        self.client.batch_execute("BEGIN").map_err(failed("begin a transaction"))
    }

    fn commit(&mut self) -> Result<()> {
        self.client.batch_execute("COMMIT").map_err(failed("commit"))
    }
}

fn column<'r, T: postgres::types::FromSql<'r>>(row: &'r Row, column: usize) -> Result<T> {
    row.try_get(column).map_err(failed("read a column"))
}

fn id(row: &Row) -> Result<TaskId> {
    TaskId::parse(column(row, 0)?).ok_or_else(|| damaged("an id"))
}

fn task(row: &Row) -> Result<Task> {
    Ok(Task {
        id: id(row)?,
        status: Status::named(column(row, 1)?).ok_or_else(|| damaged("a status"))?,
        cmd: column(row, 2)?,
        args: column(row, 3)?,
        scheduled_at: column(row, 4)?,
        output: column(row, 5)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_number_parameters_as_postgresql_does_and_claims_skip_locked_rows() {
        let text = |sql| translated(Sql::texts("BEGIN")[sql as usize]);
        assert_eq!(text(Sql::Delete), "DELETE FROM tasks WHERE id = $1");
        assert_eq!(
            text(Sql::Claim),
            "UPDATE tasks SET status = 'processing' WHERE id = (SELECT id FROM tasks WHERE status = 'pending' AND scheduled_at <= $1 ORDER BY scheduled_at LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id, status, cmd, args, scheduled_at, output"
        );
    }

    #[test]
    fn what_settings_undertake_follows_the_documentation() {
        assert_eq!(durability("on", "on"), Durability::Every);
        assert_eq!(durability("on", "local"), Durability::Every);
        assert_eq!(durability("on", "off"), Durability::Recent);
        assert_eq!(durability("off", "on"), Durability::Process);
    }
}
