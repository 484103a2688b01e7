//! Foreign keys, which SQLite enforces only where that is switched on.

use pragmark_load::{Index, Mode, OnError, Opening, Phase, Request, load, open, outline};

use crate::faults::{Workspace, library, refused, run};

const TABLES: &str = "CREATE TABLE town(id INTEGER PRIMARY KEY);
    INSERT INTO town VALUES (1), (2);
    CREATE TABLE street(id INTEGER PRIMARY KEY, town INTEGER REFERENCES town);
    INSERT INTO street VALUES (1, 1)";

fn request(workspace: &Workspace, table: &str, mode: Mode) -> Request {
    let mut request = workspace.request();
    request.table.name = table.to_owned();
    request.mode = mode;
    request.foreign_keys = true;
    request
}

/// More rows than SQL is given where pages are possible; the last one refers to a town that is not there.
fn streets() -> String {
    let rows: String = (2..3_000).map(|id| format!("{id},{}\n", id % 2 + 1)).collect();
    format!("id,town\n{rows}3000,7\n")
}

#[test]
fn a_row_without_the_row_it_refers_to_is_refused_or_skipped() {
    let workspace = Workspace::new();
    workspace.connection().execute(TABLES).unwrap();
    let input = workspace.write("a.csv", streets());
    let mut request = request(&workspace, "street", Mode::Append);
    let message = refused(&input, &request);
    assert!(message.contains("row 2999"), "{message}");
    assert!(message.contains("FOREIGN KEY"), "{message}");
    assert_eq!(workspace.rows("SELECT count(*) FROM street"), ["1"]);

    request.on_error = OnError::Skip;
    let summary = run(&input, &request).unwrap();
    assert_eq!((summary.rows, summary.rejected), (2_998, 1));
    let why = summary.why_arrays.unwrap();
    assert!(why.contains("foreign keys"), "{why}");
    assert_eq!(workspace.rows("PRAGMA foreign_key_check"), [""; 0]);
}

#[test]
fn rows_to_which_others_refer_are_replaced_only_if_the_new_ones_include_them() {
    for when in ["", " DEFERRABLE INITIALLY DEFERRED"] {
        let workspace = Workspace::new();
        let tables = TABLES.replace("REFERENCES town", &format!("REFERENCES Town{when}"));
        workspace.connection().execute(&tables).unwrap();
        let mut request = request(&workspace, "town", Mode::Replace);
        request.table.primary_key = vec!["id".to_owned()];
        let towns = |first: i64| {
            let ids: String = (first..3_000).map(|id| format!("{id}\n")).collect();
            format!("id\n{ids}")
        };
        let message = refused(&workspace.write("a.csv", towns(2)), &request);
        assert!(message.contains("FOREIGN KEY"), "{message}");
        assert_eq!(workspace.rows("SELECT id FROM town"), ["1", "2"]);

        let input = workspace.write("a.csv", towns(1));
        let mut source = open(std::slice::from_ref(&input), &Opening::new(&library())).unwrap();
        let outline = outline(&library(), &mut *source, &request, 0).unwrap();
        let summary = run(&input, &request).unwrap();
        assert_eq!(outline.why_arrays, summary.why_arrays);
        assert_eq!(summary.rows, 2_999);
        let why = summary.why_arrays.unwrap();
        assert!(why.contains("refer to those that are replaced"), "{why}");
        assert_eq!(workspace.rows("PRAGMA foreign_key_check"), [""; 0]);
        assert_eq!(workspace.rows("SELECT count(*) FROM town"), ["2999"]);
    }
}

#[test]
fn a_row_that_is_missing_at_the_end_does_not_make_the_load_begin_again() {
    let workspace = Workspace::new();
    let deferred = "REFERENCES town DEFERRABLE INITIALLY DEFERRED";
    let tables = TABLES.replace("REFERENCES town", deferred);
    workspace.connection().execute(&tables).unwrap();
    let mut request = request(&workspace, "street", Mode::Append);
    request.on_error = OnError::Skip;
    let input = workspace.write("a.csv", streets());
    let mut source = open(&[input], &Opening::new(&library())).unwrap();
    let mut ends = 0;
    let error = load(&library(), &mut *source, &request, &mut |progress| {
        ends += u32::from(progress.phase == Phase::Sync);
        true
    });
    let message = error.unwrap_err().to_string();
    assert!(message.contains("FOREIGN KEY"), "{message}");
    assert_eq!(ends, 1);
}

#[test]
fn without_the_option_they_are_not_enforced() {
    let workspace = Workspace::new();
    workspace.connection().execute(TABLES).unwrap();
    let mut request = request(&workspace, "street", Mode::Append);
    request.foreign_keys = false;
    let summary = run(&workspace.write("a.csv", streets()), &request).unwrap();
    assert_eq!((summary.rows, summary.why_arrays), (2_999, None));
}

#[test]
fn rows_to_which_others_refer_by_a_unique_index_are_replaced() {
    let unique = Index { columns: vec!["name".to_owned()], unique: true };
    for others in [
        "",
        "CREATE TABLE street(town TEXT REFERENCES town(name)); INSERT INTO street VALUES ('b')",
    ] {
        let workspace = Workspace::new();
        let tables = "CREATE TABLE town(name TEXT UNIQUE); INSERT INTO town VALUES ('b');";
        workspace.connection().execute(&format!("{tables}{others}")).unwrap();
        let mut request = request(&workspace, "town", Mode::Replace);
        request.table.indexes = vec![unique.clone()];
        let summary = run(&workspace.write("a.csv", "name\na\nb\n"), &request).unwrap();
        assert_eq!((summary.rows, summary.why_arrays.is_some()), (2, !others.is_empty()));
        assert_eq!(workspace.rows("PRAGMA foreign_key_check"), [""; 0]);
        let indexes =
            "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND tbl_name = 'town'";
        assert_eq!(workspace.rows(indexes), ["1"]);

        let message = refused(&workspace.write("b.csv", "name\nb\nb\n"), &request);
        assert!(message.contains("town.name"), "{message}");
        assert_eq!(workspace.rows("SELECT count(*) FROM town"), ["2"]);
    }
}
