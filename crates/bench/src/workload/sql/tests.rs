//! The workload on databases and scripts as users have them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Connection, Library, OpenFlags, Source};
use lab::level::Level;
use lab::trial::{Facet, Measured, StatementRecord};
use tempfile::TempDir;

use super::snapshot;
use crate::workload::common::tests::{problem, run, run_counting, run_in};

/// A folder with a database of users and their orders.
struct Shop {
    directory: TempDir,
    database: PathBuf,
}

fn open(path: &Path) -> Connection {
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    Connection::open(&library, path, OpenFlags::default(), None).unwrap()
}

impl Shop {
    fn new() -> Shop {
        Shop::with("")
    }

    /// With more SQL.
    fn with(more: &str) -> Shop {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("shop.db");
        let connection = open(&database);
        connection
            .execute("CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT UNIQUE, joined REAL); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO users SELECT i, 'user ' || i, i / 7.0 FROM n; CREATE TABLE orders(id INTEGER PRIMARY KEY, user INTEGER, total INTEGER); INSERT INTO orders SELECT id, id % 50, id * 3 FROM users")
            .unwrap();
        connection.execute(more).unwrap();
        connection.close().unwrap();
        Shop { directory, database }
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// The settings of a short trial on the database.
    fn settings<'a>(&self, over: &[(&'a str, Level)]) -> Vec<(&'a str, Level)> {
        let database = self.database.display().to_string();
        let own = [("database", Level::Text(database)), ("transactions", 200.into())];
        own.into_iter().chain(over.iter().cloned()).collect()
    }

    fn measured(&self, over: &[(&str, Level)]) -> Measured {
        run("sql", &self.settings(over)).unwrap()
    }

    fn problem(&self, over: &[(&str, Level)]) -> String {
        problem("sql", &self.settings(over))
    }

    /// Content and times of every file of the folder.
    fn files(&self) -> BTreeMap<PathBuf, (Vec<u8>, [i64; 4])> {
        use std::os::unix::fs::MetadataExt;
        let files = std::fs::read_dir(self.directory.path()).unwrap();
        let of = |path: PathBuf| {
            let it = path.metadata().unwrap();
            let times = [it.mtime(), it.mtime_nsec(), it.ctime(), it.ctime_nsec()];
            (path.clone(), (std::fs::read(&path).unwrap(), times))
        };
        files.map(|file| of(file.unwrap().path())).collect()
    }
}

fn text(text: impl Into<String>) -> Level {
    Level::Text(text.into())
}

fn statement<'m>(measured: &'m Measured, name: &str) -> &'m StatementRecord {
    measured.statements.iter().find(|statement| statement.name == name).unwrap()
}

const QUERIES: &str = "-- name: find_user^
SELECT * FROM users WHERE name = :name;
-- name: orders_of
SELECT id, total FROM orders WHERE user = :user ORDER BY total;
";

#[test]
fn a_plain_list_of_named_queries_is_enough() {
    let shop = Shop::new();
    let scripts = ("scripts", text(shop.file("q.sql", QUERIES)));
    let measured = shop.measured(&[scripts, ("answers", 20.into())]);
    let metrics = &measured.metrics;
    assert!(metrics["txns_per_s"] > 0.0 && metrics["p50_us"] > 0.0);
    assert_eq!(metrics["rows_per_call.find_user"], 1.0);
    assert_eq!(metrics["rows_per_call.orders_of"], 10.0);
    assert_eq!(metrics["scan_steps.orders_of"], 499.0);
    assert_eq!(metrics["sorts.orders_of"], 1.0);
    assert!(metrics["p50_us.orders_of"] > 0.0 && metrics["vm_steps.find_user"] > 5.0);
    let find = statement(&measured, "find_user");
    assert!(find.plan[0].starts_with("SEARCH users USING INDEX"), "{:?}", find.plan);
    let answer = find.answer.as_ref().unwrap();
    assert_eq!((answer.executions, answer.rows), (20, 20));
    assert!(statement(&measured, "orders_of").plan.len() == 2);
}

#[test]
fn the_same_seed_gives_the_same_rows_and_their_order_is_noted_apart() {
    let shop = Shop::new();
    let sql = |sql: &str| {
        let settings = [("sql", text(sql)), ("unit", text("statement")), ("answers", 20.into())];
        shop.measured(&settings)
    };
    let answer = |measured: &Measured| measured.statements[0].answer.clone();
    let query = "SELECT * FROM orders WHERE user <= :user";
    let ascending = sql(&format!("{query} ORDER BY id"));
    let rows = |measured: &Measured| answer(measured).unwrap().checksum;
    let descending = sql(&format!("{query} ORDER BY id DESC"));
    assert_eq!(rows(&ascending), rows(&descending));
    assert_ne!(answer(&ascending), answer(&descending));
    assert_ne!(answer(&ascending), answer(&sql("SELECT * FROM orders WHERE user < :user")));
    assert_eq!(ascending.asked, sql(&format!("{query} ORDER BY id")).asked);
    assert_ne!(ascending.asked, sql(query).asked);
    let filled = "INSERT INTO orders(user) VALUES (random()); SELECT max(user) FROM orders; SELECT name FROM users";
    let answers = sql(filled).statements.into_iter().filter_map(|statement| statement.answer);
    let known: Vec<bool> = answers.map(|answer| !answer.open.contains(&Facet::Rows)).collect();
    assert_eq!(known[known.len() - 2..], [false, true], "what chance wrote is read by chance");
    let volatile = sql("SELECT random()");
    assert!(answer(&volatile).unwrap().open.contains(&Facet::Rows));
}

#[test]
fn the_users_database_is_not_changed_by_one_byte() {
    let write = "INSERT INTO users(name) VALUES (:id || '!'); DELETE FROM orders WHERE id = :id;";
    let script = format!("\\set id random(1, 1000000000)\n{write}");
    for mode in ["delete", "persist", "wal"] {
        let shop = Shop::with(&format!("PRAGMA journal_mode = {mode}"));
        let script = text(shop.file("w.sql", &script));
        let before = shop.files();
        let measured = shop.measured(&[("scripts", script), ("journal_mode", text("wal"))]);
        assert!(measured.metrics["growth_bytes"] >= 0.0);
        assert_eq!(shop.files(), before, "{mode}");
    }
}

/// Tells the test below, in a process of its own, which database to open and what to execute there.
const APPLICATION: &str = "PRAGMARK_TEST_APPLICATION";

/// An application in another process: locks of one's own process are not seen.
struct Application(std::process::Child);

impl Application {
    /// Has the application execute SQL on a database and keep it open.
    fn start(database: &Path, sql: &str) -> Application {
        use std::io::BufRead;
        let name = "workload::sql::tests::an_application_keeps_a_database_open";
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(APPLICATION, format!("{}\n{sql}", database.display()))
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let output = std::io::BufReader::new(child.stdout.take().unwrap());
        let ready = output.lines().any(|line| line.unwrap().ends_with("ready"));
        assert!(ready, "the application has opened the database");
        Application(child)
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        self.0.stdin.take();
        self.0.wait().unwrap();
    }
}

#[test]
fn an_application_keeps_a_database_open() {
    let Ok(what) = std::env::var(APPLICATION) else {
        // Tested by those that start it.
        return;
    };
    let (database, sql) = what.split_once('\n').unwrap();
    let connection = open(Path::new(database));
    connection.execute(sql).unwrap();
    println!("ready");
    std::io::read_to_string(std::io::stdin()).unwrap();
}

#[test]
fn what_is_in_the_log_of_a_database_in_use_is_copied_and_nothing_is_changed() {
    let shop = Shop::with("PRAGMA journal_mode = wal");
    let sql = "PRAGMA wal_autocheckpoint = 0; DELETE FROM users WHERE id > 3";
    let application = Application::start(&shop.database, sql);
    let before = shop.files();
    assert!(before.len() == 3, "database, log and shared memory");
    let measured = shop.measured(&[("sql", text("SELECT * FROM users"))]);
    assert_eq!(measured.metrics["rows_per_call"], 3.0);
    let now = shop.files();
    for (path, content) in &before {
        // The shared memory of a log is no part of the database.
        if !path.ends_with("shop.db-shm") {
            assert!(now[path] == *content, "{}", path.display());
        }
    }
    assert_eq!(now.len(), before.len());
    drop(application);
}

#[test]
fn the_log_that_a_killed_application_left_is_copied() {
    let shop = Shop::with("PRAGMA journal_mode = wal");
    let application = open(&shop.database);
    application.execute("DELETE FROM users WHERE id > 5").unwrap();
    // What a killed process leaves: copies that nobody has open.
    let left = tempfile::tempdir().unwrap();
    for part in ["", "-wal"] {
        let name = format!("shop.db{part}");
        std::fs::copy(shop.directory.path().join(&name), left.path().join(&name)).unwrap();
    }
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let copy = left.path().join("copy.db");
    snapshot::take(&library, &left.path().join("shop.db"), &copy).unwrap();
    let users = open(&copy).query_i64("SELECT count(*) FROM users").unwrap();
    assert_eq!(users, 5);
    assert!(!left.path().join("shop.db-shm").exists());
}

#[test]
fn a_copy_that_a_trial_changed_becomes_the_database_again() {
    let shop = Shop::new();
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let read = |path: &Path| std::fs::read(path).unwrap();
    let copy = shop.directory.path().join("copy.db");
    for change in [
        "DELETE FROM users WHERE id > 5; VACUUM",
        "CREATE TABLE more AS SELECT zeroblob(300000)",
        "PRAGMA page_size = 512; VACUUM",
        "PRAGMA journal_mode = wal",
        "SELECT 1",
    ] {
        snapshot::take(&library, &shop.database, &copy).unwrap();
        open(&copy).execute(change).unwrap();
        std::fs::write(copy.with_file_name("copy.db-journal"), "of another state").unwrap();
        snapshot::take(&library, &shop.database, &copy).unwrap();
        assert!(read(&copy) == read(&shop.database), "{change}");
        assert!(!copy.with_file_name("copy.db-journal").exists());
    }
}

#[test]
fn the_next_trial_gets_the_copy_of_the_one_before() {
    let shop = Shop::new();
    let settings = shop.settings(&[("sql", text("DELETE FROM users"))]);
    let directory = tempfile::tempdir().unwrap();
    let kept = || -> Vec<_> {
        let copies = std::fs::read_dir(directory.path().join(lab::trial::COPIES)).unwrap();
        copies.map(|copy| copy.unwrap().path()).collect()
    };
    let first = run_in(directory.path(), "sql", &settings).unwrap();
    let [copy] = &kept()[..] else { panic!("{:?}", kept()) };
    let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&path.metadata().unwrap());
    let before = inode(copy);
    let second = run_in(directory.path(), "sql", &settings).unwrap();
    assert_eq!([inode(copy), kept().len() as u64], [before, 1]);
    // How often it is executed for its answers depends on the time that it takes.
    let of_first_execution = |measured: &Measured| {
        let mut answers = measured.statements[0].answers();
        answers
            .find(|answer| answer.executions == 1)
            .and_then(|answer| answer.facet(&Facet::Changes).cloned())
    };
    assert!(of_first_execution(&first).is_some());
    assert_eq!(of_first_execution(&first), of_first_execution(&second));
}

#[test]
fn workloads_report_the_metric_by_which_they_are_compared_if_an_experiment_names_none() {
    let catalogue = crate::catalogue();
    for (workload, over) in [
        ("sql", &[("sql", text("SELECT 1")), ("transactions", 3.into())][..]),
        ("queue", &[("tasks", 3.into())]),
        ("contention", &[("stop_after_ms", 20.into())]),
        ("set-query", &[("rows", 100.into()), ("queries", 2.into()), ("set_size", 2.into())]),
        ("bulk-insert", &[("rows", 100.into())]),
    ] {
        let metric = catalogue.metric_of(workload);
        let measured = run(workload, over).unwrap();
        assert!(measured.metrics.contains_key(&metric), "{workload}: {metric}");
    }
}

#[test]
fn files_that_are_no_usable_database_are_refused_with_the_reason() {
    let shop = Shop::new();
    let sql = [("sql", text("SELECT 1"))];
    for (content, words) in [
        (&b""[..], "the file is empty"),
        (b"junk junk junk junk", "not an SQLite database, or it is encrypted"),
    ] {
        std::fs::write(&shop.database, content).unwrap();
        let said = shop.problem(&sql);
        assert!(said.contains(words) && said.contains("shop.db"), "{said}");
    }
    let mut torn = b"SQLite format 3\0".to_vec();
    torn.resize(5_000, 7);
    std::fs::write(&shop.database, torn).unwrap();
    let said = shop.problem(&sql);
    assert!(said.contains("shop.db"), "{said}");
    std::fs::remove_file(&shop.database).unwrap();
    assert!(shop.problem(&sql).contains("shop.db"));
}

#[test]
fn a_writer_that_stays_in_the_way_is_said() {
    let shop = Shop::new();
    let application = Application::start(&shop.database, "BEGIN EXCLUSIVE");
    let said = shop.problem(&[("sql", text("SELECT 1"))]);
    assert!(
        said.contains("cannot copy the database") && said.contains("locked by process"),
        "{said}"
    );
    drop(application);
}

#[test]
fn mistakes_name_file_line_and_reason() {
    let shop = Shop::new();
    for (sql, words) in [
        ("SELECT 1;\nSELEC 2;", "sql:2: near \"SELEC\": syntax error"),
        ("SELECT nowhere FROM users", "sql:1: no such column: nowhere"),
        ("SELECT :x", "sql:1: the parameter :x has no value"),
        ("\\set nam 1\nSELECT :name", "did you mean `:nam`?"),
        ("SELECT 1;\nSELECT a = :x", "sql:2: no such column: a"),
        ("SELECT 1 FROM t WHERE a = :x", "no such table: t"),
        ("\\draw w users.nmae\nSELECT :w", "mean `name`?"),
        ("\\draw w user.name\nSELECT :w", "mean `users`?"),
        ("\\sett x 1", "unknown meta command \\sett; did you mean `set`?"),
        ("\\set x 1 / 0\nSELECT :x", "sql:1: division by zero"),
        ("SELECT * FROM users \\gset", "\\gset needs one row, but the query returned 500"),
        (
            "INSERT INTO users(id) VALUES (1)",
            "client 1: UNIQUE constraint failed: users.id (sql:1)",
        ),
    ] {
        let said = shop.problem(&[("sql", text(sql))]);
        assert!(said.contains(words), "{sql}: {said}");
    }
    let said = shop.problem(&[("scripts", text("/no/such.sql"))]);
    assert!(said.contains("cannot read /no/such.sql"), "{said}");
    let both = [("sql", text("SELECT 1")), ("builtin", text("select-only"))];
    assert!(shop.problem(&both).contains("exclude one another"));
    assert!(shop.problem(&[]).contains("requires scripts or sql"));
}

#[test]
fn variables_conditions_and_gset_carry_values_from_statement_to_statement() {
    let shop = Shop::new();
    let script = "SELECT count(*) AS users FROM users \\gset n_
\\set more :n_users + 1
\\if :more = 501
SELECT name FROM users WHERE id = :more - 1;
\\else
SELECT 1 WHERE 0;
\\endif";
    let measured = shop.measured(&[("scripts", text(shop.file("s.sql", script)))]);
    assert_eq!(measured.metrics["rows_per_call.s:4"], 1.0);
    assert!(!measured.metrics.contains_key("rows_per_call.s:6"));
}

#[test]
fn weights_say_how_often_scripts_are_executed() {
    let shop = Shop::new();
    let often = shop.file("often.sql", "SELECT 1 AS a UNION SELECT 2");
    let never = shop.file("never.sql", "SELECT 3");
    let scripts = text(format!("{often}@3, {never}@0"));
    let measured = shop.measured(&[("scripts", scripts)]);
    assert_eq!(measured.metrics["rows_per_call"], 2.0);
}

#[test]
fn the_scripts_of_pgbench_run_and_keep_their_sums() {
    for builtin in ["tpcb-like", "simple-update", "select-only"] {
        let settings = [
            ("builtin", text(builtin)),
            ("transactions", 100.into()),
            ("clients", 2.into()),
            ("synchronous", text("off")),
            ("transaction", text("immediate")),
            ("busy_timeout", 5_000.into()),
        ];
        let measured = run("sql", &settings).unwrap();
        let query = measured.statements.iter().find(|it| it.sql.starts_with("SELECT")).unwrap();
        let rows = measured.metrics[&format!("rows_per_call.{}", query.name)];
        assert_eq!((rows, measured.metrics["given_up"]), (1.0, 0.0), "{builtin}");
        assert_eq!(measured.connections.len(), 2);
    }
}

#[test]
fn transactions_may_be_grouped_paced_and_prepared_each_time() {
    let shop = Shop::new();
    let sql = "\\set x random(1, 9)\nINSERT INTO orders(total) VALUES (:x)";
    let insert = ("sql", text(sql));
    let syncs = |over: &[(&str, Level)]| {
        let all: Vec<_> = [insert.clone()].into_iter().chain(over.iter().cloned()).collect();
        run_counting("sql", &shop.settings(&all)).unwrap().metrics["syncs.database"]
    };
    let single = syncs(&[("synchronous", text("full"))]);
    let grouped = syncs(&[("synchronous", text("full")), ("group", 10.into())]);
    assert_eq!((single, grouped), (200.0, 200.0));
    let grouped = shop.measured(&[insert.clone(), ("group", 10.into())]);
    let executions = grouped.metrics["txns_per_s"] * grouped.metrics["seconds"];
    assert_eq!(executions.round(), 2e3);
    let each = shop.measured(&[insert.clone(), ("prepare", text("each"))]);
    assert!(each.metrics["vm_steps"] > 5.0);
    let paced =
        shop.measured(&[insert, ("rate_per_s", 2_000.into()), ("synchronous", text("off"))]);
    assert!(paced.metrics["offered_per_s"] > 0.0);
}

#[test]
fn time_ends_the_work_and_thinking_slows_it() {
    let shop = Shop::new();
    let measured = shop.measured(&[
        ("sql", text("SELECT 1")),
        ("transactions", 0.into()),
        ("stop_after_ms", 60.into()),
        ("think_us", 5_000.into()),
        ("page_cache", text("cold")),
    ]);
    let transactions = measured.metrics["txns_per_s"] * measured.metrics["seconds"];
    assert!(transactions <= 13.0, "{transactions}");
    assert!(!measured.windows.is_empty());
}

#[test]
fn each_script_is_executed_as_often_as_is_said_and_everything_counted_is_the_same_again() {
    let shop = Shop::new();
    let queries = shop.file("q.sql", QUERIES);
    let write = shop.file("w.sql", "INSERT INTO orders(user, total) VALUES (:user, 1);");
    let scripts = text(format!("{queries}@9, {write}"));
    let once = || {
        let over = [("scripts", scripts.clone()), ("executions", 7.into())];
        let own = [("transactions", 0.into()), ("answers", 20.into())];
        let settings = shop.settings(&[&over[..], &own].concat());
        run_counting("sql", &settings).unwrap()
    };
    let (first, second) = (once(), once());
    assert_eq!(first.statements.len(), 3);
    for StatementRecord { name, .. } in &first.statements {
        let executions = format!("executions.{name}");
        assert_eq!(first.metrics[&executions], 7.0, "{name}");
        assert_eq!(statement(&first, name).answer.as_ref().unwrap().executions, 20);
    }
    assert_eq!(first.statements, second.statements);
    for counted in ["vm_steps", "syncs", "bytes_written.journal", "pages_written", "reads"] {
        assert!(first.metrics[counted] > 0.0, "{counted}");
        assert_eq!(first.metrics[counted], second.metrics[counted], "{counted}");
    }
}

#[test]
fn executions_of_each_script_exclude_other_ends() {
    let problem = Shop::new().problem(&[("sql", text("SELECT 1")), ("executions", 2.into())]);
    assert!(problem.contains("executions excludes transactions"), "{problem}");
}

#[test]
fn statements_that_need_tables_made_by_earlier_ones_are_prepared_later() {
    let shop = Shop::new();
    let script = "CREATE TEMP TABLE t(a); INSERT INTO t VALUES (1); SELECT * FROM t; DROP TABLE t";
    let measured = shop.measured(&[("sql", text(script))]);
    assert!(measured.metrics["txns_per_s"] > 0.0);
}

#[test]
fn statements_end_where_sqlite_says() {
    let library = Library::load(&Source::Embedded).unwrap();
    let texts = [
        "SELECT 1;",
        "SELECT 1",
        "CREATE TRIGGER a BEGIN SELECT 1;",
        "CREATE TRIGGER a BEGIN SELECT 1; END;",
        "create temp trigger a begin select 1; end ;",
        "EXPLAIN CREATE TRIGGER a BEGIN SELECT 1; END;",
        "EXPLAIN QUERY PLAN CREATE TEMPORARY TRIGGER a BEGIN SELECT ';'; END; -- x\n",
        "EXPLAIN EXPLAIN CREATE TRIGGER a BEGIN;",
        "CREATE TABLE trigger(a);",
        "CREATE TRIGGER a BEGIN SELECT 1; END",
        "CREATE TRIGGER a BEGIN SELECT 1; ; END;",
        "SELECT '';';",
        "SELECT \"a;\" ;",
        "SELECT [a;",
        "SELECT 1; -- x\n",
        "EXPLAIN QUERY PLAN CREATE TRIGGER a BEGIN SELECT 1; END;",
        "EXPLAIN CREATE TEMPORARY TRIGGER a BEGIN SELECT 1; END;",
        "CREATE TRIGGER a BEGIN SELECT ';'; END;",
        "SELECT 1; /* open",
        "SELECT 1; /* closed */",
        ";",
        "",
        " -- only\n",
        "END;",
    ];
    let differs = |text: &&str| script::is_complete(text) != library.is_complete(text).unwrap();
    let differing: Vec<&str> = texts.into_iter().filter(differs).collect();
    assert_eq!(differing, Vec::<&str>::new());
}

/// A statement that takes longer than a short trial, and one that takes no time.
const SLOW_AND_QUICK: &str = "-- name: slow
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT count(*) FROM n;
-- name: quick
SELECT id, total FROM orders WHERE user = :user;
";

#[test]
fn answers_of_a_slow_statement_are_read_once_and_those_of_a_quick_one_more_often() {
    let shop = Shop::new();
    let scripts = ("scripts", text(shop.file("q.sql", SLOW_AND_QUICK)));
    let measured = shop.measured(&[scripts.clone(), ("transactions", 1.into())]);
    let executions = |measured: &Measured, name: &str| {
        statement(measured, name).answer.as_ref().unwrap().executions
    };
    assert_eq!(executions(&measured, "slow"), 1);
    let asked =
        shop.measured(&[scripts.clone(), ("transactions", 1.into()), ("answers", 3.into())]);
    assert_eq!((executions(&asked, "slow"), executions(&asked, "quick")), (3, 3));
    let once = [scripts, ("transactions", 0.into()), ("executions", 1.into())];
    assert_eq!(
        executions(&shop.measured(&once), "slow"),
        1,
        "a fixed number of executions is work, too"
    );
    let fixed = shop.measured(&[&once[..], &[("answers", 20.into())]].concat());
    assert_eq!((executions(&fixed, "slow"), executions(&fixed, "quick")), (20, 20));
    // As far as both went, the answers are the same.
    assert_eq!(measured.asked, asked.asked);
    for name in ["slow", "quick"] {
        let all: Vec<_> = statement(&fixed, name).answers().collect();
        assert_eq!(
            all.iter().map(|answer| answer.executions).collect::<Vec<_>>(),
            [1, 2, 4, 8, 16, 20]
        );
        let (all, three) = (&all[..2], statement(&asked, name).answers().take(2));
        assert!(all.iter().copied().eq(three), "{name}");
    }
}

#[test]
fn scripts_that_write_are_executed_equally_often_for_their_answers() {
    let shop = Shop::new();
    let sql =
        format!("{SLOW_AND_QUICK}-- name: add\nINSERT INTO orders(user, total) VALUES (1, 2);\n");
    let measured =
        shop.measured(&[("scripts", text(shop.file("q.sql", &sql))), ("transactions", 1.into())]);
    let answers = measured.statements.iter().map(|statement| statement.answer.as_ref().unwrap());
    let executions: Vec<u64> = answers.map(|answer| answer.executions).collect();
    assert!(executions.iter().all(|count| *count == executions[0]), "{executions:?}");
}

#[test]
fn the_contents_of_written_tables_are_those_after_executions_of_the_script() {
    let shop = Shop::new();
    let script = "\\set n random(1, 2)\n\\if :n = 1\nDELETE FROM orders WHERE id = (SELECT min(id) FROM orders);\n\\else\nSELECT count(*) FROM users;\n\\endif\n";
    let settings = [("scripts", text(shop.file("branches.sql", script)))];
    let contents = |answers: i64| {
        let measured = shop.measured(&[&settings[..], &[("answers", answers.into())]].concat());
        let answer = measured.written[0].answer.clone().unwrap();
        (answer.executions, answer.rows)
    };
    let all: Vec<(u64, u64)> = (1..=8).map(contents).collect();
    assert!(all.iter().zip(1..).all(|((executions, _), wanted)| *executions == wanted), "{all:?}");
    // Some executions take the branch that writes, and others do not.
    let changing = all.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
    assert!((1..7).contains(&changing), "{all:?}");
}

#[test]
fn the_plan_is_that_of_the_bound_values() {
    let shop = Shop::with(
        "CREATE TABLE note(id TEXT PRIMARY KEY); INSERT INTO note SELECT 'n' || id FROM users; CREATE TABLE start(p TEXT); INSERT INTO start VALUES ('n1*')",
    );
    let drawn = "\\draw p start.p\nSELECT id FROM note WHERE id GLOB :p;\n";
    let set = "\\set p 5\nSELECT id FROM users WHERE id = :p;\n";
    for (script, plan) in [
        (drawn, "SEARCH note USING COVERING INDEX sqlite_autoindex_note_1 (id>? AND id<?)"),
        (set, "SEARCH users USING INTEGER PRIMARY KEY (rowid=?)"),
    ] {
        let measured = shop.measured(&[("scripts", text(shop.file("q.sql", script)))]);
        assert_eq!(measured.statements[0].plan, [plan]);
    }
}

#[test]
fn a_short_trial_executes_each_statement_once_though_one_takes_longer_than_the_trial() {
    let shop = Shop::new();
    let settings = [
        ("scripts", text(shop.file("q.sql", SLOW_AND_QUICK))),
        ("transactions", 0.into()),
        ("stop_after_ms", 1.into()),
    ];
    let metrics = shop.measured(&settings).metrics;
    for name in ["slow", "quick"] {
        assert!(metrics[&format!("executions.{name}")] >= 1.0, "{name}");
    }
}

#[test]
fn statements_of_the_command_line_are_named_by_what_they_do() {
    let shop = Shop::new();
    let sql = "SELECT * FROM users WHERE id = :id; SELECT count(*) FROM users; DELETE FROM users WHERE id = -1";
    let settings = [("sql", text(sql)), ("unit", text("statement"))];
    let measured = shop.measured(&settings);
    let names: Vec<&str> =
        measured.statements.iter().map(|statement| statement.name.as_str()).collect();
    assert_eq!(names, ["select_users", "select_users_2", "delete_users"]);
    let given = [
        ("sql", text("SELECT 1 FROM users;\n-- name: select_users\nSELECT 2 FROM users")),
        settings[1].clone(),
    ];
    let measured = shop.measured(&given);
    let names: Vec<&str> =
        measured.statements.iter().map(|statement| statement.name.as_str()).collect();
    assert!(names.contains(&"select_users") && names.contains(&"select_users_2"), "{names:?}");
}
