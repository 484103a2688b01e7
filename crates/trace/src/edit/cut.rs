//! A part of a trace: a time, or some connections.

use std::path::Path;
use std::sync::Arc;

use engine::{Library, Value};

use super::Draft;
use crate::Result;

/// Which part of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Statements that started from this time on, in microseconds since recording began.
    pub from_us: i64,
    /// Statements that ended until this time.
    pub to_us: Option<i64>,
    /// Only these connections; all if there are none.
    pub connections: Vec<i64>,
}

/// The statements of the part: ?1 is the beginning, ?2 the end.
const KEPT: &str = "start_us >= ?1 AND start_us + coalesce(duration_ns, 0) / 1000 <= ?2
  AND connection IN (SELECT id FROM temp.wanted)";

/// Writes the part of a trace as a trace of its own; returns how many statements it has.
///
/// Commits keep their order and are numbered anew where others are left out. A part that does not start at the
/// beginning has no snapshots: the databases were different then.
///
/// # Errors
/// When the trace cannot be read, or the new one exists or cannot be written.
pub fn cut(library: &Arc<Library>, from: &Path, part: &Part, to: &Path) -> Result<u64> {
    let draft = Draft::new(library, to)?;
    draft.attach(from)?;
    connections(&draft, part)?;
    events(&draft, part)?;
    texts(&draft)?;
    snapshots(&draft, part)?;
    draft.finish()
}

fn limits(part: &Part) -> [Value; 2] {
    let end = part.to_us.unwrap_or(i64::MAX);
    [Value::Integer(part.from_us), Value::Integer(end)]
}

fn connections(draft: &Draft, part: &Part) -> Result<()> {
    draft.execute("CREATE TEMP TABLE wanted(id INTEGER PRIMARY KEY)")?;
    for id in &part.connections {
        let id = Value::Integer(*id);
        draft.run("INSERT OR IGNORE INTO temp.wanted VALUES (?)", &[id])?;
    }
    if part.connections.is_empty() {
        draft.execute("INSERT INTO temp.wanted SELECT id FROM source.connection")?;
    }
    draft.run(
        "INSERT INTO main.connection SELECT id, process, library, database, vfs, readonly, inherited,
           max(opened_us - ?1, 0), CASE WHEN closed_us <= ?2 THEN closed_us - ?1 END FROM source.connection
         WHERE id IN (SELECT id FROM temp.wanted) AND opened_us <= ?2 AND coalesce(closed_us, ?1) >= ?1",
        &limits(part),
    )?;
    draft.execute(
        "INSERT INTO main.setting SELECT * FROM source.setting
           WHERE connection IN (SELECT id FROM main.connection WHERE closed_us IS NOT NULL);
         INSERT INTO main.process SELECT * FROM source.process
           WHERE id IN (SELECT process FROM main.connection);
         INSERT INTO main.library SELECT * FROM source.library WHERE process IN (SELECT id FROM main.process);
         INSERT INTO main.note SELECT * FROM source.note WHERE process IN (SELECT id FROM main.process)",
    )
}

fn events(draft: &Draft, part: &Part) -> Result<()> {
    let copy = format!(
        "INSERT INTO main.execution SELECT id, connection, statement, start_us - ?1, duration_ns, ticket, counters,
           \"values\" FROM source.execution WHERE {KEPT} ORDER BY id"
    );
    draft.run(&copy, &limits(part))?;
    draft.execute(
        "INSERT INTO main.counters SELECT * FROM source.counters
           WHERE id IN (SELECT counters FROM main.execution)",
    )?;
    draft.execute("CREATE TEMP TABLE dropped(ticket INTEGER PRIMARY KEY, number INTEGER)")?;
    let dropped = format!(
        "INSERT INTO temp.dropped SELECT ticket, row_number() OVER (ORDER BY ticket) FROM (
           SELECT ticket FROM source.execution WHERE ticket IS NOT NULL AND NOT ({KEPT})
           UNION SELECT ticket FROM source.further_commit
             WHERE event IS NULL OR event NOT IN (SELECT id FROM main.execution))"
    );
    draft.run(&dropped, &limits(part))?;
    // Commits that the recording lacks stay missing: only those that are left out close up.
    let before = |bound: &str| {
        format!(
            "coalesce((SELECT number FROM temp.dropped WHERE dropped.ticket < {bound}.ticket
               ORDER BY dropped.ticket DESC LIMIT 1), 0)"
        )
    };
    draft.execute(&format!(
        "UPDATE main.execution SET ticket = ticket - {} WHERE ticket IS NOT NULL;
         INSERT INTO main.further_commit SELECT ticket - {}, event FROM source.further_commit
           WHERE event IN (SELECT id FROM main.execution)",
        before("execution"),
        before("further_commit")
    ))
}

/// Keeps the texts that the events refer to.
fn texts(draft: &Draft) -> Result<()> {
    draft.execute(
        "INSERT INTO main.statement SELECT * FROM source.statement
           WHERE id IN (SELECT statement FROM main.execution);
         INSERT INTO main.normalised SELECT * FROM source.normalised
           WHERE id IN (SELECT normalised FROM main.statement);
         INSERT INTO main.blob SELECT * FROM source.blob WHERE id IN (
           SELECT it.value ->> '$.blob' FROM main.event, json_each(event.\"values\") AS it
           WHERE it.type = 'object' AND event.\"values\" LIKE '%{\"blob\":%')",
    )
}

fn snapshots(draft: &Draft, part: &Part) -> Result<()> {
    let databases = "WHERE database IN (SELECT database FROM main.connection)";
    let sql = if part.from_us <= 0 {
        format!(
            "INSERT INTO main.snapshot SELECT * FROM source.snapshot {databases};
             INSERT INTO main.snapshot_part SELECT * FROM source.snapshot_part
               WHERE snapshot IN (SELECT id FROM main.snapshot)"
        )
    } else {
        format!(
            "INSERT INTO main.snapshot SELECT id, database, 'skipped', NULL FROM source.snapshot {databases}"
        )
    };
    draft.execute(&sql)?;
    draft.execute(
        "INSERT INTO main.end_state SELECT DISTINCT database, NULL, NULL, NULL, 'the trace is a part of a recording'
           FROM main.snapshot",
    )?;
    draft.run(
        "INSERT INTO main.meta SELECT name, value + ?1 * 1000 * (name = 'started_ns') FROM source.meta
         WHERE typeof(value) = 'integer'",
        &[Value::Integer(part.from_us)],
    )?;
    draft
        .execute("INSERT INTO main.meta SELECT * FROM source.meta WHERE typeof(value) <> 'integer'")
}
