//! Names and paths: of tables, indexes, columns and files.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use pragmark_load::{
    CsvOptions, Index, LoadError, LoadStrategy, Mode, Opening, Request, load, open,
};

use crate::faults::{Workspace, library, refused, run, run_as};

fn index(columns: &[&str], unique: bool) -> Index {
    Index { columns: columns.iter().map(|name| (*name).to_owned()).collect(), unique }
}

fn by(strategy: LoadStrategy, mut request: Request) -> Request {
    request.strategy = Some(strategy);
    request
}

const STRATEGIES: [LoadStrategy; 2] = [LoadStrategy::Pages, LoadStrategy::Arrays];

#[test]
fn indexes_whose_names_would_be_the_same_get_numbers() {
    for strategy in STRATEGIES {
        let workspace = Workspace::new();
        workspace
            .connection()
            .execute("CREATE TABLE x(a); CREATE INDEX T_A_index ON x(a)")
            .unwrap();
        let mut request = by(strategy, workspace.request());
        request.table.indexes = vec![
            index(&["a", "b"], false),
            index(&["a_b"], false),
            index(&["a"], false),
            index(&["a"], true),
        ];
        run(&workspace.write("a.csv", "a,b,a_b\n1,2,3\n4,5,6\n"), &request).unwrap();
        let names =
            "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 't' ORDER BY name";
        let expected = ["t_a_b_index", "t_a_b_index_2", "t_a_index_2", "t_a_index_3"];
        assert_eq!(workspace.rows(names), expected);
        request.mode = Mode::Replace;
        run(&workspace.path("a.csv"), &request).unwrap();
        assert_eq!(workspace.rows(names), expected);
    }
}

#[test]
fn a_table_has_a_name() {
    let workspace = Workspace::new();
    let mut request = workspace.request();
    for name in ["", "  "] {
        request.table.name = name.to_owned();
        let message = refused(&workspace.write("a.csv", "a\n1\n"), &request);
        assert!(message.contains("the name of the table is empty"), "{message}");
    }
    assert!(!workspace.database().exists());
}

#[test]
fn a_link_to_a_database_that_is_not_there_yet_stays_a_link() {
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path("data")).unwrap();
    symlink("data/real.db", workspace.path("link.db")).unwrap();
    symlink("link.db", workspace.database()).unwrap();
    run(&workspace.write("a.csv", "a\n1\n"), &workspace.request()).unwrap();
    assert!(workspace.database().is_symlink() && workspace.path("link.db").is_symlink());
    assert!(workspace.path("data/real.db").is_file());
    assert_eq!(workspace.rows("SELECT a FROM t"), ["1"]);
    let mut request = workspace.request();
    symlink("loop.db", workspace.path("loop.db")).unwrap();
    request.database = workspace.path("loop.db");
    let message = refused(&workspace.path("a.csv"), &request);
    assert!(message.contains("loop.db"), "{message}");
}

fn unnamed() -> Opening {
    let mut opening = Opening::new(&library());
    opening.csv = CsvOptions { header: 0, ..CsvOptions::default() };
    opening
}

#[test]
fn columns_without_names_are_appended_by_position() {
    for strategy in STRATEGIES {
        let workspace = Workspace::new();
        workspace
            .connection()
            .execute("CREATE TABLE t(id INTEGER PRIMARY KEY, double AS (2 * n), n, s TEXT)")
            .unwrap();
        let mut request = workspace.request();
        request.mode = Mode::Append;
        if strategy == LoadStrategy::Arrays {
            request = by(strategy, request);
        }
        run_as(&workspace.write("a.csv", "1,5,x\n2,6,y\n"), &request, &unnamed()).unwrap();
        assert_eq!(workspace.rows("SELECT * FROM t"), ["1|10|5|x", "2|12|6|y"]);
        let error = run_as(&workspace.write("b.csv", "1,5\n"), &request, &unnamed()).unwrap_err();
        let expected = "b.csv has 2 columns without names; t has 3: id, n, s";
        assert!(error.to_string().ends_with(expected), "{error}");
        let error =
            run_as(&workspace.write("c.csv", "1|5|x|\n"), &request, &unnamed()).unwrap_err();
        assert!(error.to_string().ends_with("n, s; choose columns with --select column1,column2"));
    }
}

#[test]
fn rows_without_a_key_that_is_the_rowid_are_noticed() {
    for (text, has_note) in [("a,b\n1,x\n,y\n", true), ("a,b\n1,x\n2,\n", false)] {
        let workspace = Workspace::new();
        let mut request = workspace.request();
        request.table.primary_key = vec!["a".to_owned()];
        let notes = run(&workspace.write("a.csv", text), &request).unwrap().notes;
        let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
        let has = notes.iter().any(|note| note.contains("rows without a value in a got a number"));
        assert_eq!(has, has_note, "{notes:?}");
        assert_eq!(workspace.rows("SELECT a FROM t"), ["1", "2"]);
    }
}

fn violation(workspace: &Workspace, inputs: &[PathBuf], request: &Request) -> String {
    let mut source = open(inputs, &Opening::new(&library())).unwrap();
    let error = load(&library(), &mut *source, request, &mut |_| true).unwrap_err();
    let folder = format!("{}/", workspace.path("").display());
    let folder = folder.trim_end_matches('/').to_owned() + "/";
    error.to_string().replace(&folder, "")
}

#[test]
fn a_violation_of_uniqueness_names_file_and_value() {
    let workspace = Workspace::new();
    let inputs =
        [workspace.write("a.csv", "k,v\n1,x\n2,y\n"), workspace.write("b.csv", "k,v\n3,z\n2,y\n")];
    let mut request = by(LoadStrategy::Pages, workspace.request());
    request.table.indexes = vec![index(&["v", "k"], true)];
    assert_eq!(
        violation(&workspace, &inputs, &request),
        "b.csv, row 2: UNIQUE constraint failed: t.v, t.k: 'y', 2 is already in a.csv, row 2"
    );
    request.table.primary_key = vec!["k".to_owned()];
    request.table.indexes = vec![index(&["v"], true)];
    let keyed = [workspace.write("c.csv", "k,v\n7,x\n9,x\n")];
    assert_eq!(
        violation(&workspace, &keyed, &request),
        "c.csv: UNIQUE constraint failed: t.v: rowids 7 and 9 both have 'x'"
    );
    let request = by(LoadStrategy::Arrays, request);
    assert_eq!(
        violation(&workspace, &keyed, &request),
        "c.csv: UNIQUE constraint failed: t.v: two rows have 'x'"
    );
    workspace
        .connection()
        .execute("CREATE TABLE t(k, v UNIQUE); INSERT INTO t VALUES (1, 'x')")
        .unwrap();
    let mut request = workspace.request();
    request.mode = Mode::Append;
    assert_eq!(
        violation(&workspace, &keyed, &request),
        "c.csv, row 1: UNIQUE constraint failed: t.v: 'x'"
    );
}

#[test]
fn a_column_may_be_called_like_an_option() {
    let workspace = Workspace::new();
    let mut request = workspace.request();
    request.table.indexes = vec![index(&["-x", "a,b"], true)];
    run(&workspace.write("a.csv", "-x,\"a,b\"\n1,2\n"), &request).unwrap();
    assert_eq!(
        workspace.rows("SELECT name FROM pragma_index_info('t_-x_a,b_index')"),
        ["-x", "a,b"]
    );
    request.table.indexes = vec![index(&["y"], true)];
    let error = run(&workspace.path("a.csv"), &request).unwrap_err();
    assert!(matches!(error, LoadError::TableExists(_)), "{error}");
}

#[test]
fn columns_are_found_without_a_name_and_not_loaded_if_the_table_computes_them() {
    let workspace = Workspace::new();
    let table = "CREATE TABLE t(\"\" INTEGER, a, c AS (a || 'x'))";
    workspace.connection().execute(table).unwrap();
    let mut request = workspace.request();
    request.mode = Mode::Append;
    run(&workspace.write("a.csv", ",a\n1,x\n"), &request).unwrap();
    assert_eq!(workspace.rows("SELECT * FROM t"), ["1|x|xx"]);
    let message = refused(&workspace.write("b.csv", "a,C\n1,x\n"), &request);
    assert!(message.contains("t computes its column C; leave it out with --select"), "{message}");
}
