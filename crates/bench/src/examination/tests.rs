//! Databases with one thing to find each, and without it.

use super::*;

fn made(sql: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("app.db");
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
    connection.execute(sql).unwrap();
    connection.close().unwrap();
    (directory, path)
}

fn examined(sql: &str) -> Examination {
    let (_directory, path) = made(sql);
    let work = tempfile::tempdir().unwrap();
    examine(&path, work.path(), true).unwrap()
}

/// The findings as one text.
fn findings(sql: &str) -> String {
    let findings = examined(sql).findings.into_iter();
    findings.map(|it| format!("{}: {} -> {}\n", it.subject, it.what, it.remedy)).collect()
}

const ROWS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)";

#[track_caller]
fn finds(sql: &str, wanted: &str) {
    let found = findings(sql);
    assert!(found.contains(wanted), "{wanted:?} is not in {found:?}");
}

#[track_caller]
fn finds_nothing(sql: &str) {
    assert_eq!(findings(sql), "");
}

#[test]
fn a_sound_database_is_described_and_has_no_findings() {
    let examination = examined(
        "CREATE TABLE a(id INTEGER PRIMARY KEY, b); CREATE INDEX a_b ON a(b); INSERT INTO a VALUES (1, 2); ANALYZE;",
    );
    assert_eq!((examination.tables, examination.indexes), (1, 1));
    assert_eq!(examination.page_bytes * examination.pages, examination.bytes);
    assert_eq!(
        examination.integrity.unwrap(),
        Integrity { problems: Vec::new(), foreign_key_violations: Ok(0) }
    );
    assert_eq!(examination.findings, []);
    assert!(examination.space.unwrap().iter().any(|space| space.name == "a_b" && space.pages == 1));
}

#[test]
fn small_pages_and_free_pages_are_found() {
    finds("PRAGMA page_size = 1024; CREATE TABLE a(b)", "page size: pages have 1024 bytes");
    let freed = format!(
        "CREATE TABLE a(b); {ROWS} INSERT INTO a SELECT zeroblob(3000) FROM n; DELETE FROM a WHERE rowid > 10;"
    );
    finds(&freed, "pages hold nothing");
    finds_nothing(&format!("{freed} VACUUM;"));
}

#[test]
fn an_index_that_was_filled_at_random_is_out_of_order_until_vacuum() {
    let filled = |rows: &str| {
        format!(
            "CREATE TABLE a(b); CREATE INDEX a_b ON a(b); {} INSERT INTO a SELECT (i * 7919 % 9001) || hex(zeroblob(200)) FROM n; ANALYZE;",
            ROWS.replace("3000", rows)
        )
    };
    // A few hundred pages are read soon in any order.
    assert!(!findings(&filled("3000")).contains("out of order"));
    let sql = filled("9000");
    finds(&sql, "fragmentation: a");
    finds(&sql, "a_b: ");
    finds(&sql, "of pages out of order");
    finds_nothing(&format!("{sql} VACUUM;"));
}

#[test]
fn findings_are_in_the_order_of_their_weight() {
    let sql = format!(
        "PRAGMA page_size = 1024; CREATE TABLE a(id INTEGER PRIMARY KEY, b); CREATE INDEX a_b ON a(b);
         CREATE INDEX again ON a(b); CREATE TABLE c(a REFERENCES a(id));
         {ROWS} INSERT INTO a SELECT i, (i * 7919 % 3001) || hex(zeroblob(200)) FROM n; INSERT INTO c SELECT id FROM a;"
    );
    let found = examined(&sql).findings.into_iter().map(|finding| finding.subject);
    let order = ["table c", "statistics", "index", "page size", "fragmentation"];
    let places =
        found.filter_map(|subject| order.iter().position(|word| subject.starts_with(word)));
    let places: Vec<usize> = places.collect();
    assert!(places.is_sorted() && (0..5).all(|place| places.contains(&place)), "{places:?}");
}

#[test]
fn missing_and_stale_statistics_are_found() {
    let table = format!(
        "CREATE TABLE a(b); CREATE INDEX a_b ON a(b); {ROWS} INSERT INTO a SELECT i FROM n;"
    );
    finds(&table, "ANALYZE has never run");
    let analysed = format!("{table} ANALYZE;");
    finds_nothing(&analysed);
    finds(
        &format!("{analysed} DELETE FROM a WHERE rowid > 1000;"),
        "ANALYZE counted 3000 rows, and there are 1000",
    );
    finds(
        &format!("{analysed} CREATE INDEX a_c ON a(b DESC);"),
        "ANALYZE knows nothing of the index a_c",
    );
    finds(
        &format!("{analysed} CREATE TABLE c(d UNIQUE); INSERT INTO c SELECT b FROM a;"),
        "ANALYZE knows nothing of this table of 3000 rows",
    );
    finds_nothing("CREATE TABLE a(b)");
}

#[test]
fn an_index_that_another_begins_with_is_found_unless_it_means_more() {
    let with = |index: &str| {
        format!(
            "CREATE TABLE a(id INTEGER PRIMARY KEY, b, c, UNIQUE(c)); CREATE INDEX a_bc ON a(b, c); {index}; ANALYZE; INSERT INTO a VALUES (1, 2, 3); ANALYZE;"
        )
    };
    finds(
        &with("CREATE INDEX a_b ON a(b)"),
        "index a_b: the index a_bc begins with the same columns, so it can answer the same queries -> DROP INDEX \"a_b\";",
    );
    finds(&with("CREATE INDEX again ON a(b, c)"), "index again: the index a_bc");
    finds(&with("CREATE INDEX a_c ON a(c)"), "index a_c: a UNIQUE constraint of a begins with");
    finds(&with("CREATE INDEX a_id ON a(id)"), "index a_id: the table a, by its rowid, begins");
    for needed in [
        "CREATE UNIQUE INDEX a_b ON a(b)",
        "CREATE INDEX a_b ON a(b DESC)",
        "CREATE INDEX a_b ON a(b COLLATE NOCASE)",
        "CREATE INDEX a_b ON a(b) WHERE c > 1",
        "CREATE INDEX a_b ON a(lower(b))",
        "CREATE INDEX a_cb ON a(c, b)",
    ] {
        finds_nothing(&with(needed));
    }
}

#[test]
fn a_foreign_key_without_an_index_is_found() {
    let with = |index: &str| {
        format!(
            "CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE \"c \"\"d\"(a, pid REFERENCES p(id)); {index}; INSERT INTO p VALUES (1); ANALYZE;"
        )
    };
    finds(&with(""), "the foreign key (pid) has no index");
    finds(&with(""), "CREATE INDEX \"c \"\"d_by_pid\" ON \"c \"\"d\"(\"pid\");");
    finds(&with("CREATE INDEX i ON \"c \"\"d\"(a, pid)"), "has no index");
    let indexed = findings(&with("CREATE INDEX i ON \"c \"\"d\"(pid, a)"));
    assert!(!indexed.contains("has no index"), "{indexed}");
    let rowid = findings(
        "CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(id INTEGER PRIMARY KEY REFERENCES p(id))",
    );
    assert_eq!(rowid, "");
}

#[test]
fn keys_that_experiments_compare_with_others_are_found() {
    finds("CREATE TABLE a(id INTEGER PRIMARY KEY AUTOINCREMENT, b)", "AUTOINCREMENT writes");
    let keys = |key: &str, table: &str| {
        format!(
            "CREATE TABLE a(k TEXT PRIMARY KEY, b) {table}; {ROWS} INSERT INTO a SELECT {key}, i FROM n; ANALYZE; VACUUM;"
        )
    };
    finds(&keys("hex(randomblob(16))", ""), "its keys come in random order");
    finds(&keys("hex(randomblob(16))", ""), "its primary key is stored twice");
    let ascending = findings(&keys("printf('%010d', i)", ""));
    assert!(
        ascending.contains("stored twice") && !ascending.contains("random order"),
        "{ascending}"
    );
    let descending = findings(&keys("printf('%010d', 9999 - i)", ""));
    assert!(!descending.contains("random order"), "{descending}");
    finds_nothing(&keys("hex(randomblob(16))", "WITHOUT ROWID"));
}

#[test]
fn damage_and_rows_without_a_parent_are_found_where_that_is_requested() {
    let orphan = "CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(id INTEGER PRIMARY KEY REFERENCES p(id)); INSERT INTO c VALUES (7);";
    assert_eq!(examined(orphan).integrity.unwrap().foreign_key_violations, Ok(1));
    let (_directory, path) =
        made(&format!("CREATE TABLE a(b); {ROWS} INSERT INTO a SELECT i FROM n;"));
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 4_096;
    bytes[last..last + 200].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let work = tempfile::tempdir().unwrap();
    let damaged = examine(&path, work.path(), true).unwrap();
    assert!(!damaged.integrity.unwrap().problems.is_empty());
    let work = tempfile::tempdir().unwrap();
    assert_eq!(examine(&path, work.path(), false).unwrap().integrity, None);
}

#[test]
fn settings_of_a_connection_that_do_harm_are_found() {
    let settings = |timeout: &str, keys: &str| {
        [("busy_timeout", timeout), ("foreign_keys", keys)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into()
    };
    let with = examined(
        "CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(id INTEGER PRIMARY KEY REFERENCES p(id))",
    );
    let without = examined("CREATE TABLE a(b)");
    let subjects = |examination, timeout, keys| {
        let findings = of_connection(examination, &settings(timeout, keys)).into_iter();
        findings.map(|it| it.subject).collect::<Vec<_>>()
    };
    assert_eq!(subjects(&with, "0", "off"), ["busy_timeout", "foreign_keys"]);
    assert!(subjects(&with, "5000", "on").is_empty());
    assert!(subjects(&without, "5000", "off").is_empty());
}

#[test]
fn a_library_is_reported_with_the_settings_that_a_connection_gets() {
    let (_directory, path) = made("PRAGMA journal_mode = wal; CREATE TABLE a(b);");
    let work = tempfile::tempdir().unwrap();
    let report = with_library(&Source::Embedded, &path, work.path()).unwrap();
    let settings = report.settings.unwrap();
    assert_eq!((&*settings["journal_mode"], &*settings["busy_timeout"]), ("wal", "0"));
    let WalReset::NotShown { schedules } = report.wal_reset else {
        panic!("{:?}", report.wal_reset);
    };
    assert!(schedules > 100, "{schedules}");
}
