//! Programs that were recorded, replayed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use engine::{Connection, Library, OpenFlags, Source};
use lab::level::Level;
use lab::trial::Measured;
use recorder::{Folder, Options, Values};
use tempfile::TempDir;

use crate::copy_database;
use crate::error::Result;
use crate::workload::common::tests::{run, run_counting};

/// A folder with a trace.
struct Recorded {
    directory: TempDir,
}

impl Recorded {
    /// Records a Python program; nothing where there is no Python with `sqlite3`.
    fn python(program: &str) -> Option<Recorded> {
        Recorded::with(program, &Options::default())
    }

    fn with(program: &str, options: &Options) -> Option<Recorded> {
        if !testing::has_python() {
            return None;
        }
        let recorded = Recorded { directory: tempfile::tempdir().unwrap() };
        let folder = Folder::create(&recorded.file("recording"), options).unwrap();
        let status = Command::new("python3")
            .args(["-c", program])
            .env("LD_PRELOAD", folder.preload(None))
            .current_dir(recorded.directory.path())
            .status();
        assert!(status.unwrap().success());
        let library = library();
        let copy = |from: &Path, to: &Path| {
            copy_database(&library, from, to).map_err(|error| error.to_string())
        };
        trace::seal::seal(&library, &folder, &recorded.file("app.trace"), &copy).unwrap();
        Some(recorded)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Changes the trace.
    fn change(&self, sql: &str) {
        let flags = OpenFlags::READ_WRITE;
        let trace = Connection::open(&library(), &self.file("app.trace"), flags, None).unwrap();
        trace.execute(sql).unwrap();
    }

    fn settings<'a>(&self, over: &[(&'a str, Level)]) -> Vec<(&'a str, Level)> {
        let trace = self.file("app.trace").display().to_string();
        let own = [("trace", Level::Text(trace))];
        own.into_iter().chain(over.iter().cloned()).collect()
    }

    fn replay(&self, over: &[(&str, Level)]) -> Result<Measured> {
        run("replay", &self.settings(over))
    }

    fn problem(&self, over: &[(&str, Level)]) -> String {
        self.replay(over).expect_err("a problem").to_string()
    }
}

fn library() -> Arc<Library> {
    Arc::new(Library::load(&Source::Embedded).unwrap())
}

/// The rows of a table that the trial has written, each as one text.
fn rows(measured: &Measured, title: &str) -> Vec<String> {
    let table = measured.tables.iter().find(|table| table.title == title);
    table.map_or_else(Vec::new, |table| table.rows.iter().map(|row| row.join(" ")).collect())
}

/// Four processes with reads, full-text search, transactions whose writes depend on what they read, rollbacks, and
/// errors.
const PROCESSES: &str = r#"
import multiprocessing, random, sqlite3
def work(seed):
    r = random.Random(seed)
    c = sqlite3.connect("a.db", timeout=60, isolation_level=None)
    for i in range(60):
        kind, key = r.randrange(6), r.randrange(50)
        if kind == 0:
            c.execute("BEGIN IMMEDIATE")
            v, = c.execute("SELECT v FROM t WHERE k = ?", (key,)).fetchone()
            c.execute("UPDATE t SET v = ? WHERE k = ?", (v * 3 % 1000, key))
            c.execute("INSERT INTO log(what) SELECT sum(v) FROM t")
            c.execute("ROLLBACK" if i % 4 == 0 else "COMMIT")
        elif kind == 1: c.execute("INSERT INTO f VALUES (?)", (f"word{i} red",))
        elif kind == 2: c.execute("SELECT count(*) FROM log").fetchall()
        elif kind == 3: c.execute("SELECT rowid FROM f WHERE f MATCH 'red'").fetchone()
        elif kind == 4:
            try: c.execute("INSERT INTO t VALUES (?, 1)", (key,))
            except sqlite3.IntegrityError: pass
        else: c.execute("UPDATE t SET v = v + 1 WHERE k = ?", (key,))
    c.close()
c = sqlite3.connect("a.db", isolation_level=None)
c.execute("PRAGMA journal_mode = WAL").fetchall()
c.execute("CREATE TABLE t(k INTEGER PRIMARY KEY, v)")
c.execute("CREATE TABLE log(id INTEGER PRIMARY KEY AUTOINCREMENT, what)")
c.execute("CREATE VIRTUAL TABLE f USING fts5(words)")
c.execute("BEGIN")
c.executemany("INSERT INTO t VALUES (?, ?)", [(k, k) for k in range(50)])
c.execute("COMMIT")
c.close()
workers = [multiprocessing.Process(target=work, args=(seed,)) for seed in range(4)]
for worker in workers: worker.start()
for worker in workers: worker.join()
"#;

#[test]
fn four_processes_end_as_in_the_recording_with_any_journal() {
    let Some(recorded) = Recorded::python(PROCESSES) else { return };
    let before = std::fs::read(recorded.file("a.db")).unwrap();
    for (mode, journal) in [("ordered", "wal"), ("ordered", "delete"), ("paced", "wal")] {
        let over = [("mode", mode.into()), ("journal_mode", journal.into())];
        let measured = recorded.replay(&over).unwrap();
        let metrics = &measured.metrics;
        assert_eq!(metrics["differing_tables"], 0.0, "{mode} {journal}");
        assert_eq!(metrics["coverage_percent"], 100.0);
        assert!(metrics["agreement_percent"] > 99.0, "{metrics:?}");
        assert!(metrics["txns_per_s"] > 0.0 && metrics["seconds"] > 0.0);
        let found = &measured.connections[0].pragmas["journal_mode"];
        assert_eq!(found, journal, "the variant decides");
        for table in ["t", "log", "sqlite_sequence", "sqlite_schema"] {
            let equal = format!("{table} equal");
            assert!(rows(&measured, "end state").contains(&equal), "{table}");
        }
    }
    assert_eq!(std::fs::read(recorded.file("a.db")).unwrap(), before);
}

#[test]
fn connections_that_meet_by_chance_are_measured_with_what_differs() {
    let Some(recorded) = Recorded::python(PROCESSES) else { return };
    let measured = recorded.replay(&[("mode", "free".into())]).unwrap();
    let metrics = &measured.metrics;
    assert!(metrics.contains_key("differing_tables"));
    let groups = rows(&measured, "divergences");
    let counts = groups.iter().map(|row| row.split(' ').next().unwrap().parse::<f64>().unwrap());
    assert_eq!(counts.sum::<f64>(), metrics["divergences"], "{groups:?}");
}

/// A program on one connection, with a table that it changes.
fn program(more: &str) -> String {
    format!(
        "import sqlite3\nc = sqlite3.connect('a.db', isolation_level=None)\nc.execute('CREATE TABLE t(a, b)')\nc.execute('CREATE TABLE u(a)')\nfor i in range(20): c.execute('INSERT INTO t VALUES (?, ?)', (i, 'x' * i * 10))\n{more}\nc.close()\n"
    )
}

#[test]
fn a_counting_trial_counts_the_same_each_time() {
    let Some(recorded) = Recorded::python(&program("c.execute('SELECT * FROM t').fetchone()"))
    else {
        return;
    };
    let count = || {
        let over = recorded.settings(&[("journal_mode", "delete".into())]);
        run_counting("replay", &over).unwrap()
    };
    let (one, other) = (count(), count());
    assert_eq!(one.statements, other.statements);
    let read = one.statements.iter().find(|it| it.sql.starts_with("SELECT * FROM t"));
    let answer = read.unwrap().answer.as_ref().unwrap();
    // Some versions of Python step to the row after the one that they return.
    assert!(answer.executions == 1 && [1, 2].contains(&answer.rows));
    assert!(answer.checksum.is_some());
    let (one, other) = (one.metrics, other.metrics);
    assert!(one["syncs"] > 20.0 && one["pages_written"] > 20.0);
    for name in ["syncs", "bytes_written", "pages_written", "vm_steps"] {
        assert_eq!(one[name], other[name], "{name}");
    }
}

#[test]
fn a_missing_function_is_named_and_refused_unless_less_is_wanted() {
    let more = "c.create_function('own', 1, lambda x: x + 1)\nfor i in range(9): c.execute('INSERT INTO u VALUES (own(?))', (i,))";
    let Some(recorded) = Recorded::python(&program(more)) else { return };
    let problem = recorded.problem(&[]);
    assert!(
        problem.contains("function own (9 statements)") && problem.contains("min_coverage = 95"),
        "{problem}"
    );
    let measured = recorded.replay(&[("min_coverage", 10.into())]).unwrap();
    assert!(measured.metrics["coverage_percent"] < 80.0);
    assert_eq!(measured.metrics["agreement_percent"], 100.0);
    assert_eq!(rows(&measured, "not replayed"), ["function own 9"]);
    let end = rows(&measured, "end state");
    assert!(end.contains(&"t equal".to_owned()), "{end:?}");
    let left_out = "u not compared: statements that write it could not be replayed";
    assert!(end.contains(&left_out.to_owned()), "{end:?}");
}

#[test]
fn a_transaction_that_an_interruption_rolled_back_is_rolled_back() {
    let more = "c.execute('BEGIN')\nc.execute('INSERT INTO t(a) VALUES (99)')\nc.set_progress_handler(lambda: 1, 100)\ntry: c.execute('UPDATE t SET a = a + (SELECT count(*) FROM t x, t y)')\nexcept sqlite3.OperationalError: pass\nc.set_progress_handler(None, 0)\nassert not c.in_transaction\nc.execute('BEGIN')\nc.execute('INSERT INTO t(a) VALUES (98)')\nc.execute('COMMIT')";
    let Some(recorded) = Recorded::python(&program(more)) else { return };
    let measured = recorded.replay(&[]).unwrap();
    assert_eq!(
        measured.metrics["agreement_percent"],
        100.0,
        "{:?}",
        rows(&measured, "divergences")
    );
    assert_eq!(measured.metrics["differing_tables"], 0.0);
}

#[test]
fn a_table_that_statements_without_their_function_write_is_not_covered() {
    let more = "c.create_function('own', 1, lambda x: x + 1)\nc.execute('INSERT INTO u VALUES (own(1))')\nfor i in range(30): c.execute('SELECT a FROM u').fetchall()\nc.execute('CREATE TABLE w(a)')\nc.execute('INSERT INTO w SELECT a FROM u')\nfor i in range(30): c.execute('SELECT count(*) FROM t').fetchall()";
    let Some(recorded) = Recorded::python(&program(more)) else { return };
    let problem = recorded.problem(&[]);
    assert!(problem.contains("content of table u (30 statements)"), "{problem}");
    assert!(problem.contains("--stand-in 'own=?1'"), "{problem}");
    let measured = recorded.replay(&[("min_coverage", 10.into())]).unwrap();
    assert!(measured.metrics["coverage_percent"] < measured.metrics["agreement_percent"]);
    let end = rows(&measured, "end state");
    for table in ["u", "w"] {
        let left_out =
            format!("{table} not compared: statements that write it could not be replayed");
        assert!(end.contains(&left_out), "{end:?}");
    }
}

/// A database with a collation and a function of the application, which existed before the recording.
const COLLATED: &str = r#"
import sqlite3, subprocess, sys
MAKE = """
import sqlite3
def opened():
    c = sqlite3.connect("a.db", isolation_level=None)
    c.create_collation("uni", lambda a, b: (a.lower() > b.lower()) - (a.lower() < b.lower()))
    c.create_function("slug", 1, lambda text: text.lower(), deterministic=True)
    return c
"""
subprocess.run(["env", "-u", "LD_PRELOAD", "python3", "-c", MAKE + """
c = opened()
c.execute("CREATE TABLE t(k INTEGER PRIMARY KEY, name TEXT COLLATE uni, CHECK (slug(name) <> ''))")
c.execute("CREATE INDEX by_name ON t(name)")
c.execute("CREATE INDEX by_slug ON t(slug(name))")
c.executemany("INSERT INTO t(name) VALUES (?)", [("Name%d" % (i * 7 % 50),) for i in range(200)])
"""], check=True)
exec(MAKE)
c = opened()
for i in range(40):
    c.execute("SELECT count(*) FROM t WHERE name = ?", ("nAME%d" % i,)).fetchall()
    c.execute("SELECT k FROM t WHERE slug(name) = ?", ("name%d" % i,)).fetchall()
    c.execute("INSERT INTO t(name) VALUES (?)", ("nAme%d" % i,))
c.execute("VACUUM")
c.execute("REINDEX")
c.execute("ALTER TABLE t RENAME COLUMN k TO id")
c.close()
"#;

#[test]
fn stand_ins_replay_what_needs_the_application_in_every_variant() {
    let Some(recorded) = Recorded::python(COLLATED) else { return };
    let measured = recorded.replay(&[("min_coverage", 0.into())]).unwrap();
    assert_eq!(measured.metrics["coverage_percent"], 0.0, "{:?}", rows(&measured, "not replayed"));
    let stand_in = ("stand_in", Level::from("uni=nocase\nslug=lower(?1)"));
    for over in [
        vec![("journal_mode", "wal".into())],
        vec![("page_size", Level::Int(8192)), ("vacuum", true.into()), ("analyze", true.into())],
    ] {
        let over = [std::slice::from_ref(&stand_in), &over[..]].concat();
        let measured = recorded.replay(&over).unwrap();
        assert_eq!(measured.metrics["coverage_percent"], 100.0);
        assert_eq!(measured.metrics["agreement_percent"], 100.0);
        assert!(rows(&measured, "end state").contains(&"t equal".to_owned()));
        assert_eq!(rows(&measured, "stand-ins"), ["uni nocase", "slug lower(?1)"]);
    }
}

#[test]
fn stand_ins_that_a_trace_does_not_need_are_refused_with_those_that_it_does() {
    let Some(recorded) = Recorded::python(COLLATED) else { return };
    let missing = |stand_ins: &str| {
        let directory = tempfile::tempdir().unwrap();
        let trace = recorded.file("app.trace");
        crate::missing_in_trace(&trace, directory.path(), stand_ins)
            .map_err(|error| error.to_string())
    };
    assert!(missing("UNI=nocase\nSlug=lower(?1)").unwrap().is_empty());
    let named = missing("").unwrap();
    assert!(
        named.contains_key("collation uni") && named.contains_key("function slug"),
        "{named:?}"
    );
    for (stand_ins, why) in [
        (
            "uni=nocase\nslug=lower(?1)\nother=1",
            "no stand-in for other; it needs collation uni, function slug",
        ),
        // The collation hides the function, which stays needed.
        ("slug=nocase", "slug is a function"),
        ("uni=lower(?1)", "uni is a collation"),
        ("uni=nocase\nslug=binary", "slug is a function"),
    ] {
        let problem = missing(stand_ins).unwrap_err();
        assert!(problem.contains(why), "{problem}");
    }
}

#[test]
fn a_module_of_the_application_is_missing_whether_a_table_or_a_statement_names_it() {
    let more = "for i in range(5): c.execute('SELECT * FROM series').fetchall()";
    let Some(recorded) =
        Recorded::python(&program(&format!("c.execute('CREATE TABLE series(x)')\n{more}")))
    else {
        return;
    };
    recorded.change("UPDATE statement SET sql = replace(sql, 'CREATE TABLE series(x)', 'CREATE VIRTUAL TABLE series2 USING own(x)')");
    let problem = recorded.problem(&[]);
    for missing in
        ["virtual table module own (1 statement)", "virtual table module series (5 statements)"]
    {
        assert!(problem.contains(missing), "{problem}");
    }
    assert!(!problem.contains("--stand-in"), "{problem}");
}

#[test]
fn tables_that_chance_or_the_time_has_written_are_not_compared() {
    let more = "c.execute('INSERT INTO u VALUES (random())')\nc.execute('CREATE TABLE w(a, at DEFAULT CURRENT_TIMESTAMP)')\nc.execute('INSERT INTO w(a) VALUES (1)')";
    let Some(recorded) = Recorded::python(&program(more)) else { return };
    let end = rows(&recorded.replay(&[]).unwrap(), "end state");
    for table in ["u", "w"] {
        let why = "its content depends on chance or on the present time";
        assert!(end.contains(&format!("{table} not compared: {why}")), "{end:?}");
    }
    assert!(end.contains(&"t equal".to_owned()));
}

#[test]
fn another_end_or_other_rows_fail_and_name_table_and_event() {
    let Some(recorded) = Recorded::python(&program("c.execute('SELECT * FROM t').fetchall()"))
    else {
        return;
    };
    recorded.change("UPDATE counters SET rows = 21 WHERE rows = 20");
    let measured = recorded.replay(&[]).unwrap();
    let divergences = rows(&measured, "divergences");
    assert_eq!(measured.metrics["divergences"], 1.0);
    assert!(
        divergences[0].contains("returned 20 rows instead of 21 SELECT * FROM t"),
        "{divergences:?}"
    );
    recorded.change("UPDATE end_state SET checksum = '0' WHERE name = 't'");
    let problem = recorded.problem(&[]);
    assert!(
        problem.contains("1 table differs, first t: the same 20 rows with other content")
            && problem.contains("first divergences: event "),
        "{problem}"
    );
    let accepted = recorded.replay(&[("accept_divergence", true.into())]).unwrap();
    assert_eq!(accepted.metrics["differing_tables"], 1.0);
    assert!(rows(&accepted, "accepted")[0].contains("1 table differs, first t"), "{accepted:?}");
    assert!(rows(&measured, "accepted").is_empty());
    recorded.change("UPDATE library SET version = '3.9.1'");
    let problem = recorded.problem(&[]);
    assert!(problem.contains("the application used SQLite 3.9.1, this is "), "{problem}");
}

#[test]
fn writes_that_are_no_statements_are_named() {
    let backup = "c.backup(sqlite3.connect('b.db'))";
    let Some(recorded) = Recorded::python(&program(backup)) else { return };
    let end = rows(&recorded.replay(&[]).unwrap(), "end state");
    assert!(
        end.iter().any(|row| row.contains("b.db not compared: no recorded statement")),
        "{end:?}"
    );
    recorded
        .change("UPDATE end_state SET checksum = '0' WHERE name = 't' AND database LIKE '%a.db'");
    let problem = recorded.problem(&[]);
    recorded.change("UPDATE end_state SET rows = 1 WHERE name = 't' AND database LIKE '%a.db'");
    assert!(recorded.problem(&[]).contains("20 rows instead of 1;"));
    assert!(problem.contains("something else wrote, too: a backup"), "{problem}");
    assert!(problem.contains("every replayed statement did the same as in the recording"));
    assert!(problem.contains("--set accept_divergence=true"), "{problem}");
}

#[test]
fn the_cause_of_differences_is_named_whatever_the_version() {
    let by_chance = "c.execute('INSERT INTO u VALUES (abs(random() % 1000))')\nfor i in range(99): c.execute('SELECT * FROM u WHERE a > ?', (i * 10,)).fetchall()";
    let by_backup = "d = sqlite3.connect('b.db', isolation_level=None)\nc.backup(d)\nd.execute('UPDATE t SET a = 1')";
    for (more, cause) in [
        (by_chance, "chance or the present time wrote u; first divergences: "),
        (by_backup, "something else wrote, too: a backup, SQLite's interface for blobs"),
    ] {
        let Some(recorded) = Recorded::python(&program(more)) else { return };
        recorded.change("UPDATE library SET version = '3.9.1'");
        recorded.change("UPDATE counters SET rows = 1 - rows WHERE id IN (SELECT counters FROM execution JOIN statement ON statement.id = statement WHERE sql LIKE 'SELECT * FROM u%')");
        let problem = recorded.problem(&[]);
        assert!(problem.contains(cause) && !problem.contains("3.9.1"), "{problem}");
    }
}

#[test]
fn statements_beside_a_callback_of_the_program_are_recorded_and_lost_ones_are_a_cause() {
    let program = "import sqlite3\nc = sqlite3.connect('a.db', isolation_level=None)\nc.set_trace_callback(lambda sql: None)\nc.execute('CREATE TABLE t(a)')\nfor i in range(9): c.execute('INSERT INTO t VALUES (1)')\nc.close()\n";
    let Some(recorded) = Recorded::python(program) else { return };
    let measured = recorded.replay(&[]).unwrap();
    assert_eq!(
        (measured.metrics["executions"], measured.metrics["agreement_percent"]),
        (10.0, 100.0)
    );
    recorded.change("UPDATE counters SET changes = 9 WHERE changes = 1");
    recorded.change("UPDATE meta SET value = 1 WHERE name = 'lost_statements'");
    let problem = recorded.problem(&[]);
    assert!(problem.contains("%; statements are missing in the recording"), "{problem}");
}

#[test]
fn rows_that_another_version_changes_within_virtual_tables_are_no_divergence() {
    let more = "c.execute('CREATE VIRTUAL TABLE f USING fts5(x)')\nc.execute(\"INSERT INTO f VALUES ('a')\")";
    for (more, diverges) in [(more, false), ("", true)] {
        let Some(recorded) = Recorded::python(&program(more)) else { return };
        recorded.change("UPDATE counters SET changes = 9 WHERE id = (SELECT counters FROM execution JOIN counters ON counters.id = counters WHERE changes = 1 ORDER BY execution.id LIMIT 1)");
        recorded.change("UPDATE library SET version = '3.9.1'");
        let measured = recorded.replay(&[("accept_divergence", true.into())]).unwrap();
        assert_eq!(measured.metrics["divergences"] > 0.0, diverges, "{measured:?}");
    }
}

#[test]
fn statistics_of_another_version_are_compared_apart() {
    let more =
        "c.execute('CREATE INDEX tb ON t(b)')\nc.execute('ANALYZE')\nc.execute('PRAGMA optimize')";
    let Some(recorded) = Recorded::python(&program(more)) else { return };
    recorded.change("UPDATE end_state SET rows = 3 WHERE name = 'sqlite_stat1'");
    recorded.change(
        "INSERT INTO end_state SELECT database, 'sqlite_stat4', 7, '0', NULL FROM end_state WHERE name = 't'",
    );
    let measured = recorded.replay(&[]).unwrap();
    assert_eq!(measured.metrics["differing_tables"], 0.0);
    let end = rows(&measured, "end state");
    let own = "a table of SQLite's own, which may differ between versions and builds";
    for differs in ["sqlite_stat1", "sqlite_stat4"] {
        let beginning = format!("{differs} {own}: ");
        assert!(end.iter().any(|row| row.starts_with(&beginning)), "{differs}: {end:?}");
    }
    for equal in ["t equal", "sqlite_schema equal"] {
        assert!(end.contains(&equal.to_owned()), "{end:?}");
    }
}

#[test]
fn a_file_that_is_created_again_is_another_database() {
    let again = "import os\nc.close()\nos.remove('a.db')\nc = sqlite3.connect('a.db', isolation_level=None)\nc.execute('CREATE TABLE t(a, b)')\nfor i in range(20): c.execute('INSERT INTO t VALUES (?, 1)', (i,))\nassert c.execute('SELECT count(*) FROM t').fetchone() == (20,)";
    let Some(recorded) = Recorded::python(&program(&format!("{again}\n{again}"))) else { return };
    for mode in ["ordered", "free"] {
        let measured = recorded.replay(&[("mode", mode.into())]).unwrap();
        assert_eq!(measured.metrics["agreement_percent"], 100.0);
        let end = rows(&measured, "end state");
        assert!(end.contains(&"t equal".to_owned()), "{end:?}");
        assert!(end[0].contains("a.db not compared: its file was deleted or replaced"), "{end:?}");
    }
}

#[test]
fn a_recording_with_a_missing_commit_is_cut_and_its_end_is_not_known() {
    let Some(recorded) = Recorded::python(&program("")) else { return };
    recorded.change("DELETE FROM execution WHERE ticket = 12");
    let measured = recorded.replay(&[]).unwrap();
    assert!(!measured.metrics.contains_key("differing_tables"));
    let end = rows(&measured, "end state");
    assert!(end[0].contains("a commit is missing in the recording"), "{end:?}");
    assert_eq!(measured.metrics["agreement_percent"], 100.0);
}

#[test]
fn the_end_is_not_known_if_a_process_was_killed_while_it_committed() {
    let Some(recorded) = Recorded::python(&program("")) else { return };
    recorded.change("UPDATE execution SET duration_ns = NULL WHERE ticket = 22");
    let measured = recorded.replay(&[]).unwrap();
    assert!(!measured.metrics.contains_key("differing_tables"));
    let end = rows(&measured, "end state");
    assert!(end[0].contains("a process was killed while it committed"), "{end:?}");
}

#[test]
fn redacted_traces_and_missing_snapshots_are_refused_with_the_reason() {
    let redact = Options { values: Values::Hashed, ..Options::default() };
    let Some(redacted) = Recorded::with(&program(""), &redact) else { return };
    assert!(redacted.problem(&[]).contains("it is redacted"));
    let Some(recorded) = Recorded::python(&program("")) else { return };
    recorded.change("UPDATE snapshot SET state = 'failed', result = 5");
    let problem = recorded.problem(&[]);
    assert!(problem.contains("no snapshot of") && problem.contains("result code 5"), "{problem}");
    std::fs::write(recorded.file("app.trace"), "text").unwrap();
    assert!(recorded.problem(&[]).contains("is not a trace"));
    assert!(run("replay", &[]).unwrap_err().to_string().contains("names no trace"));
}

#[test]
fn attached_files_are_those_of_the_trial_and_others_are_never_opened() {
    let more = "c.execute(\"ATTACH 'b.db' AS b\")\nc.execute('CREATE TABLE b.v(a)')\nc.execute('INSERT INTO b.v VALUES (1)')\nc.execute('VACUUM INTO ?', ('copy.db',))";
    let Some(recorded) = Recorded::python(&program(more)) else { return };
    std::fs::remove_file(recorded.file("copy.db")).unwrap();
    let contents = || ["a.db", "b.db"].map(|name| std::fs::read(recorded.file(name)).unwrap());
    let before = contents();
    let measured = recorded.replay(&[("min_coverage", 50.into())]).unwrap();
    assert_eq!(contents(), before);
    assert!(!recorded.file("copy.db").exists());
    let end = rows(&measured, "end state");
    assert!(end.contains(&"v equal".to_owned()), "{end:?}");
    assert_eq!(rows(&measured, "not replayed"), ["VACUUM INTO, which writes another file 1"]);
}

#[test]
fn a_statement_that_was_waiting_when_its_process_was_killed_is_not_executed() {
    let more = "import os, time\nd = sqlite3.connect('a.db', isolation_level=None)\nd.execute('BEGIN IMMEDIATE')\npid = os.fork()\nif pid == 0:\n    e = sqlite3.connect('a.db', isolation_level=None, timeout=60)\n    e.execute('INSERT INTO t VALUES (77, 1)')\ntime.sleep(0.2)\nos.kill(pid, 9)\nos.wait()\nd.execute('COMMIT')\nc.execute('INSERT INTO t VALUES (99, 1)')";
    let Some(recorded) = Recorded::python(&program(more)) else { return };
    let measured = recorded.replay(&[]).unwrap();
    assert_eq!(measured.metrics["agreement_percent"], 100.0);
    assert!(rows(&measured, "end state").contains(&"t equal".to_owned()));
}

#[test]
fn a_process_that_was_killed_in_a_transaction_is_rolled_back_and_others_go_on() {
    let more = "import os\nif os.fork() == 0:\n    d = sqlite3.connect('a.db', isolation_level=None)\n    d.execute('BEGIN IMMEDIATE')\n    d.execute('DELETE FROM t')\n    os.kill(os.getpid(), 9)\nos.wait()\nc.execute('INSERT INTO t VALUES (99, 1)')";
    let Some(recorded) = Recorded::python(&program(more)) else { return };
    let measured = recorded.replay(&[]).unwrap();
    assert_eq!(measured.metrics["agreement_percent"], 100.0);
    assert!(rows(&measured, "end state").contains(&"t equal".to_owned()));
}

/// A table that exists before the recording, so that the trace has a snapshot of it.
const EXISTING: &str = r#"
import sqlite3, subprocess
subprocess.run(["env", "-u", "LD_PRELOAD", "python3", "-c", """
import sqlite3
c = sqlite3.connect("a.db")
c.execute("CREATE TABLE t(k INTEGER PRIMARY KEY, v)")
c.executemany("INSERT INTO t(v) VALUES (?)", [(i % 50,) for i in range(2000)])
c.commit()
"""], check=True)
c = sqlite3.connect("a.db", isolation_level=None)
for i in range(40):
    c.execute("SELECT count(*) FROM t WHERE v = ?", (i,)).fetchall()
    c.execute("INSERT INTO t(v) VALUES (?)", (i,))
"#;

#[test]
fn what_a_variant_does_once_to_the_database_is_no_divergence() {
    let Some(recorded) = Recorded::python(EXISTING) else { return };
    let once = [
        ("page_size", Level::Int(16384)),
        ("vacuum", true.into()),
        ("analyze", true.into()),
        ("schema_change", "CREATE INDEX by_v ON t(v)".into()),
    ];
    let measured = recorded.replay(&once).unwrap();
    assert_eq!(measured.metrics["differing_tables"], 0.0);
    assert_eq!(measured.connections[0].pragmas["page_size"], "16384");
    let ends = rows(&measured, "end state");
    assert!(ends.contains(&"t equal".to_owned()), "{ends:?}");
    assert!(!ends.contains(&"sqlite_schema equal".to_owned()), "{ends:?}");
    let plans: Vec<String> = measured.statements.iter().map(|it| it.plan.join(" ")).collect();
    assert!(plans.iter().any(|plan| plan.contains("by_v")), "{plans:?}");
    let Some(empty) = Recorded::python(&program("")) else { return };
    let problem = empty.problem(&[("schema_change", "CREATE INDEX by_b ON t(b)".into())]);
    assert!(problem.contains("before the application makes its tables"), "{problem}");
}

#[test]
fn settings_apply_to_a_database_in_memory_where_there_is_no_other() {
    let program = |open: &str| {
        format!(
            "import sqlite3\n{open}\nc = sqlite3.connect(':memory:')\nc.execute('CREATE TABLE t(a)')\n"
        )
    };
    let settings = [("cache_size", 100.into())];
    let Some(alone) = Recorded::python(&program("")) else { return };
    let read_back = &alone.replay(&settings).unwrap().connections[0];
    assert_eq!(read_back.pragmas["cache_size"], "100");
    let both = "f = sqlite3.connect('f.db'); f.execute('CREATE TABLE t(a)')";
    let Some(both) = Recorded::python(&program(both)) else { return };
    assert_eq!(both.replay(&settings).unwrap().connections.len(), 1, "the one to the file");
}
