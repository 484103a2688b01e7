//! A session: its statements, prepared once or for each use, and its transaction.

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::{Connection, EngineError, Statement, Step};

use crate::error::TrialError;
use crate::target::queue::sql::Sql;
use crate::target::queue::{Change, Session, Status, Task, TaskId, damaged, missing};

/// Times that a statement is retried after SQLITE_BUSY before it is given up.
const MOST_TRIES: u32 = 10_000;

/// What a statement does once it is prepared: bind, step, read.
pub(super) type Work<'w> =
    &'w mut dyn FnMut(&mut Statement<'_, 'static>) -> Result<(), EngineError>;

/// Where a session's statements come from.
pub(super) trait Source {
    /// Has `work` use the statement, on the connection of the open transaction where there is one, and
    /// gives the number of rows that the connection changed last.
    fn run(&mut self, sql: Sql, work: Work<'_>) -> Result<i64, TrialError>;

    /// Keeps to one connection from now on, or no longer.
    fn keep(&mut self, keep: bool) -> Result<(), TrialError>;
}

/// Statements prepared once.
pub(super) struct Reused<'c> {
    connection: &'c Connection,
    statements: Vec<Statement<'c, 'static>>,
}

impl<'c> Reused<'c> {
    pub(super) fn prepare(
        connection: &'c Connection,
        begin: &'static str,
    ) -> Result<Reused<'c>, TrialError> {
        let prepare = |sql: &Sql| connection.prepare(sql.text(begin));
        Ok(Reused {
            connection,
            statements: Sql::ALL.iter().map(prepare).collect::<Result<_, _>>()?,
        })
    }
}

impl Source for Reused<'_> {
    fn run(&mut self, sql: Sql, work: Work<'_>) -> Result<i64, TrialError> {
        let statement = &mut self.statements[sql as usize];
        let done = work(statement);
        // What stopped the statement was said by `work`; the next use begins anew either way.
        let reset = statement.reset();
        done?;
        reset?;
        Ok(self.connection.changes())
    }

    fn keep(&mut self, _keep: bool) -> Result<(), TrialError> {
        Ok(())
    }
}

/// Statements prepared each time, on a connection that is borrowed for one statement or transaction.
pub(super) struct EachTime<F, L> {
    lend: F,
    begin: &'static str,
    kept: Option<L>,
}

impl<L: Deref<Target = Connection>, F: FnMut() -> Result<L, TrialError>> EachTime<F, L> {
    pub(super) fn new(lend: F, begin: &'static str) -> EachTime<F, L> {
        EachTime { lend, begin, kept: None }
    }
}

impl<L: Deref<Target = Connection>, F: FnMut() -> Result<L, TrialError>> Source for EachTime<F, L> {
    fn run(&mut self, sql: Sql, work: Work<'_>) -> Result<i64, TrialError> {
        let text = sql.text(self.begin);
        let on = |connection: &Connection, work: Work<'_>| {
            let mut statement = connection.prepare(text)?;
            work(&mut statement)?;
            Ok(connection.changes())
        };
        match &self.kept {
            Some(connection) => on(connection, work),
            None => on(&*(self.lend)()?, work),
        }
    }

    fn keep(&mut self, keep: bool) -> Result<(), TrialError> {
        self.kept = match keep {
            true => Some((self.lend)()?),
            false => None,
        };
        Ok(())
    }
}

/// How far the transaction of a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transaction {
    /// None is open.
    Closed,
    /// It has done nothing yet.
    Begun,
    /// It has done something, and would have to be begun anew.
    UnderWay,
}

pub(super) struct SqliteSession<'s, S> {
    source: S,
    busy: &'s AtomicU64,
    transaction: Transaction,
}

impl<'s, S: Source> SqliteSession<'s, S> {
    pub(super) fn new(source: S, busy: &'s AtomicU64) -> SqliteSession<'s, S> {
        SqliteSession { source, busy, transaction: Transaction::Closed }
    }

    /// Runs a statement; one that is refused because of a lock is counted, and tried again where no
    /// transaction would have to be begun anew.
    fn run(&mut self, sql: Sql, work: Work<'_>) -> Result<i64, TrialError> {
        let mut tries = 0;
        loop {
            match self.source.run(sql, work) {
                Err(TrialError::Engine(error)) if error.is_busy() => {
                    self.busy.fetch_add(1, Ordering::Relaxed);
                    tries += 1;
                    if self.transaction == Transaction::UnderWay || tries > MOST_TRIES {
                        return Err(error.into());
                    }
                }
                other => {
                    if self.transaction == Transaction::Begun {
                        self.transaction = Transaction::UnderWay;
                    }
                    return other;
                }
            }
        }
    }

    /// Runs a statement that must change one row.
    fn change(&mut self, sql: Sql, id: TaskId, work: Work<'_>) -> Result<(), TrialError> {
        match self.run(sql, work)? {
            1 => Ok(()),
            _ => Err(missing(id)),
        }
    }

    fn set(&mut self, sql: Sql, id: TaskId, value: &str) -> Result<(), TrialError> {
        let key = id.to_string();
        self.change(sql, id, &mut |statement| {
            statement.bind_text(1, &key)?;
            statement.bind_text(2, value)?;
            statement.run()
        })
    }

    /// The task that a statement gives, if any.
    fn one(
        &mut self,
        sql: Sql,
        bind: &dyn Fn(&mut Statement<'_, 'static>) -> Result<(), EngineError>,
    ) -> Result<Option<Task>, TrialError> {
        let mut found = Ok(None);
        self.run(sql, &mut |statement| {
            bind(statement)?;
            found = Ok(None);
            if statement.step()? == Step::Row {
                found = task(statement).map(Some);
                // To its end, where an UPDATE commits.
                while statement.step()? == Step::Row {}
            }
            Ok(())
        })?;
        found
    }
}

impl<S: Source> Session for SqliteSession<'_, S> {
    fn insert(&mut self, task: &Task) -> Result<(), TrialError> {
        let key = task.id.to_string();
        self.change(Sql::Insert, task.id, &mut |statement| {
            statement.bind_text(1, &key)?;
            statement.bind_text(2, task.status.name())?;
            statement.bind_text(3, &task.cmd)?;
            statement.bind_text(4, &task.args)?;
            statement.bind_i64(5, task.scheduled_at)?;
            statement.bind_text(6, &task.output)?;
            statement.run()
        })
    }

    fn update(&mut self, task: &Task, change: Change<'_>) -> Result<(), TrialError> {
        match change {
            Change::Status => self.set(Sql::SetStatus, task.id, task.status.name()),
            Change::Output => self.set(Sql::SetOutput, task.id, &task.output),
            Change::Appended(more) => self.set(Sql::AppendOutput, task.id, more),
        }
    }

    fn delete(&mut self, task: &Task) -> Result<(), TrialError> {
        let key = task.id.to_string();
        self.change(Sql::Delete, task.id, &mut |statement| {
            statement.bind_text(1, &key)?;
            statement.run()
        })
    }

    fn get(&mut self, id: TaskId) -> Result<Option<Task>, TrialError> {
        let key = id.to_string();
        self.one(Sql::Get, &|statement| statement.bind_text(1, &key))
    }

    fn list(&mut self, status: Status, limit: usize) -> Result<Vec<TaskId>, TrialError> {
        let mut found = Vec::new();
        self.run(Sql::List, &mut |statement| {
            found.clear();
            statement.bind_text(1, status.name())?;
            statement.bind_i64(2, i64::try_from(limit).unwrap_or(i64::MAX))?;
            while statement.step()? == Step::Row {
                found.push(TaskId::parse(statement.column_text(0)?));
            }
            Ok(())
        })?;
        let ids: Option<Vec<TaskId>> = found.into_iter().collect();
        ids.ok_or_else(|| damaged("an id"))
    }

    fn claim(&mut self, now: i64) -> Result<Option<Task>, TrialError> {
        self.one(Sql::Claim, &|statement| statement.bind_i64(1, now))
    }

    fn begin(&mut self) -> Result<(), TrialError> {
        self.source.keep(true)?;
        self.run(Sql::Begin, &mut |statement| statement.run())?;
        self.transaction = Transaction::Begun;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), TrialError> {
        self.transaction = Transaction::Closed;
        self.run(Sql::Commit, &mut |statement| statement.run())?;
        self.source.keep(false)
    }
}

/// The task in the row that a statement stands on.
pub(super) fn task(row: &Statement<'_, '_>) -> Result<Task, TrialError> {
    let text = |column| -> Result<String, TrialError> { Ok(row.column_text(column)?.to_owned()) };
    Ok(Task {
        id: TaskId::parse(row.column_text(0)?).ok_or_else(|| damaged("an id"))?,
        status: Status::parse(row.column_text(1)?).ok_or_else(|| damaged("a status"))?,
        cmd: text(2)?,
        args: text(3)?,
        scheduled_at: row.column_i64(4),
        output: text(5)?,
    })
}
