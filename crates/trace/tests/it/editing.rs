//! Traces that are made of others: what they keep, and what they do not.

use std::path::PathBuf;

use crate::workspace::Workspace;
use arrow_array::{Int64Array, StringArray};
use engine::{Connection, OpenFlags};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pragmark_trace::edit::{Part, cut, merge, redact};
use pragmark_trace::export::{Form, export};
use pragmark_trace::{Trace, TraceError};
use recorder::{Folder, Options};

/// Two connections: the first writes, the second too, and reads what is long.
const APPLICATION: &str = r#"
import sqlite3, time
a = sqlite3.connect("a.db", isolation_level=None)
a.execute("CREATE TABLE t(a, b)")
b = sqlite3.connect("a.db", isolation_level=None)
for i in range(10):
    a.execute("INSERT INTO t VALUES (?, ?)", (i, "long " * 30))
    b.execute("INSERT INTO t VALUES (?, 'secret literal') -- secret comment", (f"secret {i % 2}",))
time.sleep(0.3)
b.execute("""SELECT * FROM t WHERE b = ? OR a = x'00ff' OR a = "me@home" """, ("late",)).fetchall()
a.close(); b.close()
"#;

impl Workspace {
    fn other(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    /// The first column of the first row, as text.
    fn of(&self, name: &str, sql: &str) -> String {
        let path = self.other(name);
        let connection =
            Connection::open(&self.library, &path, OpenFlags::READ_ONLY, None).unwrap();
        assert_eq!(connection.query_text("PRAGMA integrity_check").unwrap(), "ok");
        let value = connection.query_value(sql).unwrap();
        value.to_string()
    }
}

fn recorded() -> Option<Workspace> {
    let workspace = Workspace::new();
    workspace.sealed(APPLICATION, &Options::default())?;
    Some(workspace)
}

const TICKETS: &str = "SELECT group_concat(ticket, ' ') FROM (SELECT ticket FROM event
    WHERE ticket IS NOT NULL ORDER BY ticket)";

#[test]
fn a_part_by_connection_numbers_its_commits_anew() {
    let Some(workspace) = recorded() else { return };
    let part = Part { connections: vec![2], ..Part::default() };
    let events = cut(&workspace.library, &workspace.trace(), &part, &workspace.other("part"));
    assert_eq!(events.unwrap(), 11);
    assert_eq!(workspace.of("part", TICKETS), "1 2 3 4 5 6 7 8 9 10");
    assert_eq!(workspace.of("part", "SELECT count(*) FROM connection"), "1");
    assert_eq!(workspace.of("part", "SELECT count(*) FROM blob"), "0", "only a's");
    assert_eq!(workspace.of("part", "SELECT state FROM snapshot"), "empty");
    assert_eq!(workspace.of("part", "SELECT value FROM meta WHERE name = 'events'"), "11");
}

#[test]
fn a_part_by_time_begins_at_0_and_has_no_snapshot_unless_it_is_the_first() {
    let Some(workspace) = recorded() else { return };
    let late = "SELECT start_us FROM event ORDER BY id DESC LIMIT 1";
    let late: i64 = workspace.text(late).parse().unwrap();
    let end = Part { from_us: late, ..Part::default() };
    assert_eq!(
        cut(&workspace.library, &workspace.trace(), &end, &workspace.other("end")).unwrap(),
        1
    );
    assert_eq!(workspace.of("end", "SELECT start_us FROM event"), "0");
    assert_eq!(workspace.of("end", "SELECT state FROM snapshot"), "skipped");
    let beginning = Part { to_us: Some(late - 1), ..Part::default() };
    let first = workspace.other("first");
    assert_eq!(cut(&workspace.library, &workspace.trace(), &beginning, &first).unwrap(), 21);
    assert_eq!(workspace.of("first", "SELECT state FROM snapshot"), "empty");
    assert_eq!(workspace.of("first", "SELECT count(closed_us) FROM connection"), "0");
    let again = cut(&workspace.library, &workspace.trace(), &beginning, &first);
    assert!(matches!(again, Err(TraceError::Exists(_))));
}

#[test]
fn a_redacted_trace_has_no_text_of_the_application() {
    let Some(workspace) = recorded() else { return };
    let redacted = workspace.other("redacted");
    assert_eq!(redact(&workspace.library, &workspace.trace(), &redacted).unwrap(), 22);
    let bytes = std::fs::read(&redacted).unwrap();
    for word in ["secret", "long long", "late", "00ff", "me@home"] {
        let has = bytes.windows(word.len()).any(|it| it == word.as_bytes());
        assert!(!has, "{word}");
    }
    let values =
        "SELECT count(DISTINCT \"values\") FROM event JOIN statement ON statement.id = statement
        WHERE sql LIKE 'INSERT%#%'";
    assert_eq!(workspace.of("redacted", values), "2", "two different texts");
    let length = "SELECT \"values\" ->> '$[1].length' FROM event WHERE \"values\" LIKE '[3,%'";
    assert_eq!(workspace.of("redacted", length), "150");
    let orders = "SELECT count(*) FROM event WHERE \"values\" ->> '$[1].order' > 0";
    assert_ne!(workspace.of("redacted", orders), "0");
    let trace = Trace::open(&workspace.library, &redacted).unwrap();
    assert!(trace.meta().unwrap().redacted);
    let again = redact(&workspace.library, &redacted, &workspace.other("again"));
    assert!(matches!(again, Err(TraceError::Redacted(_))));
    let both = [workspace.trace(), redacted.clone()];
    let both = merge(&workspace.library, &both, &workspace.other("both"));
    assert!(matches!(both, Err(TraceError::Redacted(_))));
    assert!(!workspace.other("again").exists() && !workspace.other("both").exists());
    assert_eq!(trace.snapshots().unwrap()[0].state, "skipped");
    let events = "SELECT count(*) || ' ' || sum(rows) || ' ' || group_concat(ticket) FROM event";
    assert_eq!(workspace.of("redacted", events), workspace.text(events));
}

/// Records another program in the same folder.
fn record_again(workspace: &Workspace, script: &str, name: &str) {
    let folder =
        Folder::create(&workspace.other(&format!("{name}.recording")), &Options::default());
    let folder = folder.unwrap();
    let status = std::process::Command::new("python3")
        .args(["-c", script])
        .env("LD_PRELOAD", folder.preload(None))
        .current_dir(workspace.temp.path())
        .status();
    assert!(status.unwrap().success());
    pragmark_trace::seal::seal(
        &workspace.library,
        &folder,
        &workspace.other(name),
        &crate::workspace::copy,
    )
    .unwrap();
}

#[test]
fn traces_one_after_the_other_become_one() {
    let Some(workspace) = recorded() else { return };
    let script = "import sqlite3\nc = sqlite3.connect('a.db', isolation_level=None)\n\
                  c.execute('INSERT INTO t VALUES (?, ?)', (1, 'second ' * 20))\n\
                  sqlite3.connect('b.db').execute('CREATE TABLE n(a)')\n";
    record_again(&workspace, script, "later");
    let traces = [workspace.other("later"), workspace.trace()];
    let both = workspace.other("both");
    assert_eq!(merge(&workspace.library, &traces, &both).unwrap(), 24);
    let tickets: Vec<String> = (1..=23).map(|ticket| ticket.to_string()).collect();
    assert_eq!(workspace.of("both", TICKETS), tickets.join(" "));
    let long = "SELECT content FROM event JOIN blob ON blob.id = \"values\" ->> '$[1].blob'
        WHERE \"values\" LIKE '%blob%' ORDER BY event.id DESC LIMIT 1";
    assert_eq!(workspace.of("both", long), "second ".repeat(20));
    let same = "SELECT count(*) FROM normalised WHERE sql = 'INSERT INTO t VALUES (?)'";
    assert_eq!(workspace.of("both", same), "1");
    let snapshots = "SELECT group_concat(state) FROM snapshot";
    assert_eq!(workspace.of("both", snapshots), "empty,empty", "a.db was new at first");
    let trace = Trace::open(&workspace.library, &both).unwrap();
    assert_eq!(trace.processes().unwrap().len(), 2);
    let order = "SELECT min(start_us) >= (SELECT max(start_us) FROM event WHERE connection <= 2)
        FROM event WHERE connection > 2";
    assert_eq!(workspace.of("both", order), "1");
}

#[test]
fn commits_to_one_database_at_the_same_time_cannot_be_merged() {
    let Some(workspace) = recorded() else { return };
    let copy = workspace.other("copy");
    std::fs::copy(workspace.trace(), &copy).unwrap();
    let merged = merge(&workspace.library, &[workspace.trace(), copy], &workspace.other("both"));
    let error = merged.unwrap_err();
    assert!(error.to_string().contains("at the same time"), "{error}");
    assert!(!workspace.other("both").exists());
    assert!(!workspace.other("both.unfinished").exists());
}

#[test]
fn every_form_of_export_has_the_same_rows() {
    let Some(workspace) = recorded() else { return };
    let trace = Trace::open(&workspace.library, &workspace.trace()).unwrap();
    let written = |form, name: &str| export(&trace, form, &workspace.other(name)).unwrap();
    assert_eq!(written(Form::Sqlite, "a.sqlite"), 22);
    assert_eq!(written(Form::JsonLines, "a.jsonl"), 22);
    assert_eq!(written(Form::Parquet, "a.parquet"), 22);
    let lines = std::fs::read_to_string(workspace.other("a.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let long = lines.iter().find(|it| it["values"][0] == 3).unwrap();
    assert_eq!(long["values"][1], "long ".repeat(30), "long values are in their place");
    assert_eq!(long["normalised"], "INSERT INTO t VALUES (?)");
    assert_eq!((&long["readonly"], &long["autocommit"]), (&false.into(), &true.into()));
    let batches = parquet_rows(&workspace.other("a.parquet"));
    let rows =
        "SELECT json_object('id', id, 'sql', sql, 'ticket', ticket, 'values', json(\"values\"))
        FROM event WHERE id = ";
    for (line, parquet) in lines.iter().zip(batches) {
        let of = |name: &str| line[name].clone();
        let expected = serde_json::json!({
            "id": of("id"), "sql": of("sql"), "ticket": of("ticket"), "values": of("values")
        });
        let row = workspace.of("a.sqlite", &format!("{rows}{}", line["id"]));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&row).unwrap(), expected);
        assert_eq!(
            parquet,
            (line["id"].as_i64().unwrap(), line["sql"].as_str().unwrap().to_owned())
        );
    }
    let again = export(&trace, Form::Parquet, &workspace.other("a.parquet"));
    assert!(matches!(again, Err(TraceError::Exists(_))));
}

/// The columns `id` and `sql`.
fn parquet_rows(path: &std::path::Path) -> Vec<(i64, String)> {
    let file = std::fs::File::open(path).unwrap();
    let batches = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let mut rows = Vec::new();
    for batch in batches.build().unwrap() {
        let batch = batch.unwrap();
        let column = |name| batch.column_by_name(name).unwrap().as_any();
        let ids = column("id").downcast_ref::<Int64Array>().unwrap();
        let texts = column("sql").downcast_ref::<StringArray>().unwrap();
        let pairs = (0..batch.num_rows()).map(|at| (ids.value(at), texts.value(at).to_owned()));
        rows.extend(pairs);
    }
    rows
}
