//! Several traces in one.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Library, Value};

use super::Draft;
use crate::{Result, Trace, TraceError};

/// When a trace wrote to its databases, in nanoseconds since 1970.
struct Written {
    path: PathBuf,
    databases: Vec<String>,
    from_ns: i64,
    to_ns: i64,
}

/// Writes several traces as one; returns how many statements it has.
///
/// Times count from the beginning of the earliest. A database keeps the snapshot of the earliest trace that has it.
/// Commits of different traces are ordered by the end of their statements.
///
/// # Errors
/// When a trace cannot be read or is redacted, the new one exists or cannot be written, or two traces committed to one database
/// at the same time: the order of these commits is not known.
pub fn merge(library: &Arc<Library>, from: &[PathBuf], to: &Path) -> Result<u64> {
    let draft = Draft::new(library, to)?;
    let mut traces = Vec::new();
    for path in from {
        let trace = Trace::open(library, path)?;
        let meta = trace.meta()?;
        if meta.redacted {
            return Err(TraceError::Redacted(path.clone()));
        }
        traces.push((meta.started_ns, path));
    }
    traces.sort();
    let started = traces.first().map_or(0, |(started, _)| *started);
    let mut written: Vec<Written> = Vec::new();
    draft.execute(
        "CREATE TEMP TABLE form(old INTEGER PRIMARY KEY, new INTEGER);
         CREATE TEMP TABLE committed(event INTEGER PRIMARY KEY, trace INTEGER, ticket INTEGER);
         CREATE TEMP TABLE further(trace INTEGER, ticket INTEGER, event INTEGER)",
    )?;
    for (number, (began, path)) in (0..).zip(&traces) {
        let trace = draft.attach(path)?;
        let now = written_by(&draft, path, *began)?;
        check(&written, &now)?;
        written.push(now);
        add(&draft, number, (*began - started) / 1000)?;
        drop(trace);
        draft.detach()?;
    }
    number_commits(&draft)?;
    let values = [Value::Integer(started)];
    draft.run("INSERT OR REPLACE INTO meta VALUES ('started_ns', ?)", &values)?;
    draft.finish()
}

fn written_by(draft: &Draft, path: &Path, started_ns: i64) -> Result<Written> {
    let committed = "FROM source.execution WHERE ticket IS NOT NULL";
    let time = |what: &str| {
        draft.number(&format!("SELECT coalesce({what}, 0) * 1000 + {started_ns} {committed}"))
    };
    let databases = draft.rows(&format!(
        "SELECT DISTINCT database FROM source.connection
         WHERE database <> '' AND database NOT LIKE ':memory:%' AND id IN (SELECT connection {committed})"
    ))?;
    Ok(Written {
        path: path.to_owned(),
        databases: databases.iter().flatten().map(Value::to_string).collect(),
        from_ns: time("min(start_us)")?,
        to_ns: time("max(start_us + coalesce(duration_ns, 0) / 1000)")?,
    })
}

/// Refuses traces whose commits to the same database have no known order.
fn check(earlier: &[Written], now: &Written) -> Result<()> {
    let at_once = |other: &&Written| other.from_ns <= now.to_ns && now.from_ns <= other.to_ns;
    for other in earlier.iter().filter(at_once) {
        let shared = now.databases.iter().find(|database| other.databases.contains(database));
        if let Some(database) = shared {
            return Err(TraceError::AtOnce {
                traces: [other.path.clone(), now.path.clone()],
                database: database.clone(),
            });
        }
    }
    Ok(())
}

/// Adds `source`, whose times begin `later_us` microseconds after the new trace.
fn add(draft: &Draft, number: i64, later_us: i64) -> Result<()> {
    let mut most = HashMap::new();
    for table in [
        "process", "connection", "statement", "normalised", "execution", "counters", "blob",
        "snapshot",
    ] {
        let sql = format!("SELECT coalesce(max(id), 0) FROM main.{table}");
        most.insert(table, draft.number(&sql)?);
    }
    let most = |table: &str| most.get(table).copied().unwrap_or(0);
    add_connections(draft, most("process"), most("connection"), later_us)?;
    add_texts(draft, most("statement"), most("normalised"), most("blob"))?;
    let (event, counters) = (most("execution"), most("counters"));
    let (connection, statement) = (most("connection"), most("statement"));
    draft.execute(&format!(
        "INSERT INTO main.execution SELECT id + {event}, connection + {connection},
           nullif(statement, 0) + {statement}, start_us + {later_us}, duration_ns, ticket, counters + {counters},
           \"values\" FROM source.execution ORDER BY id;
         INSERT INTO main.counters SELECT id + {counters}, rows, changes, result, vm_steps, scan_steps, sorts,
           automatic_index_rows, waited_ns, state FROM source.counters;
         INSERT INTO temp.committed SELECT id + {event}, {number}, ticket FROM source.execution
           WHERE ticket IS NOT NULL;
         INSERT INTO temp.further SELECT {number}, ticket, event + {event} FROM source.further_commit;
         DELETE FROM main.end_state WHERE database IN (SELECT database FROM source.end_state);
         INSERT INTO main.end_state SELECT * FROM source.end_state"
    ))?;
    let blobs = most("blob");
    let has_blob = "\"values\" LIKE '%{\"blob\":%'";
    draft.rewrite_values(has_blob, event, |values| with_blobs_after(values, blobs))?;
    add_snapshots(draft, most("snapshot"))
}

fn add_connections(draft: &Draft, process: i64, connection: i64, later_us: i64) -> Result<()> {
    draft.execute(&format!(
        "INSERT INTO main.process SELECT id + {process}, pid, parent_pid, program, arguments, ended
           FROM source.process;
         INSERT INTO main.library SELECT process + {process}, number, version, source_id, path, door, exact_values,
           results FROM source.library;
         INSERT INTO main.note SELECT process + {process}, code, words FROM source.note;
         INSERT INTO main.connection SELECT id + {connection}, process + {process}, library,
           CASE WHEN database LIKE ':memory:%' THEN ':memory:' || (substr(database, 9) + {connection}) ELSE database END,
           vfs, readonly,
           inherited, opened_us + {later_us}, closed_us + {later_us} FROM source.connection;
         INSERT INTO main.setting SELECT connection + {connection}, name, value FROM source.setting"
    ))
}

fn add_texts(draft: &Draft, statement: i64, normalised: i64, blob: i64) -> Result<()> {
    draft.execute(&format!(
        "DELETE FROM temp.form;
         INSERT INTO temp.form SELECT it.id, coalesce(known.id, it.id + {normalised})
           FROM source.normalised AS it LEFT JOIN main.normalised AS known ON known.sql = it.sql;
         INSERT INTO main.normalised SELECT id + {normalised}, sql FROM source.normalised
           WHERE id + {normalised} IN (SELECT new FROM temp.form);
         INSERT INTO main.statement SELECT id + {statement}, (SELECT new FROM temp.form WHERE old = normalised),
           readonly, sql FROM source.statement;
         INSERT INTO main.blob SELECT id + {blob}, content FROM source.blob"
    ))
}

fn add_snapshots(draft: &Draft, most: i64) -> Result<()> {
    // Numbers below 0 have no content, and only need to be different.
    draft.execute(&format!(
        "INSERT INTO main.snapshot_part SELECT snapshot + {most}, part, content FROM source.snapshot_part
           WHERE snapshot IN (SELECT id FROM source.snapshot
             WHERE database NOT IN (SELECT database FROM main.snapshot));
         INSERT INTO main.snapshot SELECT CASE WHEN id > 0 THEN id + {most}
             ELSE (SELECT min(0, coalesce(min(id), 0)) FROM main.snapshot) + id END, database, state, result
           FROM source.snapshot WHERE database NOT IN (SELECT database FROM main.snapshot);
         INSERT INTO main.meta SELECT name, value FROM source.meta WHERE true
           ON CONFLICT (name) DO UPDATE SET value = CASE typeof(value) WHEN 'integer'
             THEN max(value, excluded.value) ELSE value END"
    ))
}

/// Numbers the commits of all traces: in the order of each trace, and by time between them. A commit that a trace
/// lacks is lacking in the result.
fn number_commits(draft: &Draft) -> Result<()> {
    draft.execute(
        "CREATE TEMP TABLE numbered(event INTEGER PRIMARY KEY, ticket INTEGER);
         INSERT INTO temp.numbered SELECT event, sum(gap) OVER (ORDER BY at, trace, ticket) FROM (
           SELECT committed.event, trace, committed.ticket,
             committed.ticket - lag(committed.ticket, 1, 0) OVER (PARTITION BY trace ORDER BY committed.ticket) AS gap,
             max(start_us + coalesce(duration_ns, 0) / 1000)
               OVER (PARTITION BY trace ORDER BY committed.ticket) AS at
           FROM temp.committed JOIN main.execution ON execution.id = committed.event);
         UPDATE main.execution SET ticket = (SELECT ticket FROM temp.numbered WHERE numbered.event = execution.id)
           WHERE ticket IS NOT NULL;
         INSERT INTO main.further_commit
           SELECT numbered.ticket - (next.ticket - further.ticket), further.event FROM temp.further
             JOIN temp.committed AS next ON next.trace = further.trace AND next.ticket = (
               SELECT min(ticket) FROM temp.committed AS later
               WHERE later.trace = further.trace AND later.ticket > further.ticket)
             JOIN temp.numbered ON numbered.event = next.event",
    )
}

/// Returns values whose long ones are `blobs` rows later in the table `blob`.
fn with_blobs_after(values: &str, blobs: i64) -> String {
    let mut all: serde_json::Value = match serde_json::from_str(values) {
        Ok(all) => all,
        // Text that is not JSON has no long values.
        Err(_) => return values.to_owned(),
    };
    let objects = all.as_array_mut().into_iter().flatten();
    for number in objects.filter_map(|object| object.get_mut("blob")) {
        *number = (number.as_i64().unwrap_or(0) + blobs).into();
    }
    all.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_of_long_values_change() {
        let values = r#"[1,1.5,"{\"blob\":1}",{"blob":2},{"hex":"00"},null]"#;
        let after = r#"[1,1.5,"{\"blob\":1}",{"blob":12},{"hex":"00"},null]"#;
        assert_eq!(with_blobs_after(values, 10), after);
    }
}
