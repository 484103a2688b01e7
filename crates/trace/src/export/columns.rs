//! The columns of an export, the same in every form.

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A whole number.
    Integer,
    /// A number.
    Real,
    /// Yes or no, 1 or 0 in SQLite.
    Boolean,
    /// A text.
    Text,
    /// A JSON array.
    Json,
}

impl Type {
    /// The type of a column of SQLite.
    pub(super) fn of_sqlite(self) -> &'static str {
        match self {
            Type::Integer | Type::Boolean => "INTEGER",
            Type::Real => "REAL",
            Type::Text | Type::Json => "TEXT",
        }
    }
}

/// The names and types, in order. `docs/recording.md` describes them.
pub const COLUMNS: [(&str, Type); 24] = [
    ("id", Type::Integer),
    ("process", Type::Integer),
    ("connection", Type::Integer),
    ("database", Type::Text),
    ("sql", Type::Text),
    ("normalised", Type::Text),
    ("readonly", Type::Boolean),
    ("time_us", Type::Integer),
    ("start_us", Type::Integer),
    ("duration_ns", Type::Integer),
    ("rows", Type::Integer),
    ("changes", Type::Integer),
    ("result", Type::Integer),
    ("vm_steps", Type::Integer),
    ("scan_steps", Type::Integer),
    ("sorts", Type::Integer),
    ("automatic_index_rows", Type::Integer),
    ("ticket", Type::Integer),
    ("prepared", Type::Boolean),
    ("early", Type::Boolean),
    ("autocommit", Type::Boolean),
    ("reading", Type::Boolean),
    ("writing", Type::Boolean),
    ("values", Type::Json),
];

/// The rows. What is known at the end of an execution only is NULL where the end was not recorded.
pub const SELECT: &str = "
SELECT event.id, connection.process, event.connection, connection.database, statement.sql, normalised.sql,
  statement.readonly, start_us + (SELECT value FROM meta WHERE name = 'started_ns') / 1000, start_us, duration_ns,
  rows, changes, result, vm_steps, scan_steps, sorts, automatic_index_rows, ticket, state & 1,
  CASE WHEN duration_ns IS NOT NULL THEN state & 2 <> 0 END,
  CASE WHEN duration_ns IS NOT NULL THEN state & 4 <> 0 END,
  CASE WHEN duration_ns IS NOT NULL AND state & 24 <> 24 THEN state & 24 = 8 END,
  CASE WHEN duration_ns IS NOT NULL AND state & 24 <> 24 THEN state & 24 = 16 END, \"values\"
FROM event LEFT JOIN connection ON connection.id = event.connection
  LEFT JOIN statement ON statement.id = event.statement
  LEFT JOIN normalised ON normalised.id = statement.normalised
ORDER BY event.id";
