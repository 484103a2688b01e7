//! The statements of a queue, for every database that is driven by SQL.

/// The columns of a task, in order.
pub(super) const COLUMNS: &str = "id, status, cmd, args, scheduled_at, output";

/// Creates the index by which tasks are claimed.
pub(super) const CREATE_INDEX: &str = "CREATE INDEX tasks_schedule ON tasks(status, scheduled_at)";

/// Returns the statement that creates the table. `integer` is the type of a 64-bit integer.
pub(super) fn create_table(integer: &str) -> String {
    format!(
        "CREATE TABLE tasks(id varchar(32) NOT NULL PRIMARY KEY, status varchar(16) NOT NULL, cmd varchar(16) NOT NULL, args text NOT NULL, scheduled_at {integer} NOT NULL, output text NOT NULL)"
    )
}

/// The statements of a queue.
#[derive(Clone, Copy)]
pub(super) enum Sql {
    Insert,
    SetStatus,
    SetOutput,
    AppendOutput,
    Delete,
    Get,
    List,
    Claim,
    Begin,
    Commit,
}

impl Sql {
    /// Returns the texts of all statements, in the order of their numbers. `begin` begins transactions.
    pub(super) const fn texts(begin: &'static str) -> [&'static str; 10] {
        [
            "INSERT INTO tasks VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            "UPDATE tasks SET status = ?2 WHERE id = ?1",
            "UPDATE tasks SET output = ?2 WHERE id = ?1",
            "UPDATE tasks SET output = output || ?2 WHERE id = ?1",
            "DELETE FROM tasks WHERE id = ?1",
            "SELECT id, status, cmd, args, scheduled_at, output FROM tasks WHERE id = ?1",
            "SELECT id FROM tasks WHERE status = ?1 ORDER BY scheduled_at LIMIT ?2",
            "UPDATE tasks SET status = 'processing' WHERE id = (SELECT id FROM tasks WHERE status = 'pending' AND scheduled_at <= ?1 ORDER BY scheduled_at LIMIT 1) RETURNING id, status, cmd, args, scheduled_at, output",
            begin,
            "COMMIT",
        ]
    }
}
