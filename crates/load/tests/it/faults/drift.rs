//! Inputs and tables whose columns differ, and tables that are replaced.

use std::path::PathBuf;

use pragmark_load::{LoadError, Mode, Note, Opening, Request, Summary, load, open};

use crate::faults::layouts::has;
use crate::faults::{Workspace, library, run};

fn texts(notes: &[Note]) -> Vec<String> {
    notes.iter().map(ToString::to_string).filter(|note| note.contains("columns:")).collect()
}

fn load_all(
    inputs: &[PathBuf],
    request: &Request,
    adds_columns: bool,
) -> Result<Summary, LoadError> {
    let opening = Opening { adds_columns, ..Opening::new(&library()) };
    let mut request = request.clone();
    request.adds_columns = adds_columns;
    load(&library(), &mut *open(inputs, &opening)?, &request, &mut |_| true)
}

#[test]
fn columns_of_later_inputs_are_added_and_named_if_that_is_wanted() {
    let workspace = Workspace::new();
    let inputs = [
        workspace.write("a.csv", "id,name\n1,x\n"),
        workspace.write("b.csv", "age,id,name\n3.5,2,y\n"),
        workspace.write("c.jsonl", "{\"id\": 3, \"age\": 7, \"mail\": \"m\"}\n"),
    ];
    let error = load_all(&inputs, &workspace.request(), false).unwrap_err();
    assert!(matches!(error, LoadError::OtherColumns(..)), "{error}");
    let summary = load_all(&inputs, &workspace.request(), true).unwrap();
    assert_eq!(
        workspace.rows("SELECT * FROM t"),
        ["1|x|NULL|NULL", "2|y|3.5|NULL", "3|NULL|7.0|m"]
    );
    let notes = texts(&summary.notes);
    for (note, words) in
        notes.iter().zip(["name is in 2 of 3", "age is in 2 of 3", "mail is in 1 of 3"])
    {
        assert!(note.contains(words), "{notes:?}");
    }
    assert_eq!(notes.len(), 3, "{notes:?}");
}

#[test]
fn a_type_that_a_later_input_widens_is_named() {
    let workspace = Workspace::new();
    let inputs =
        [workspace.write("a.csv", "id,n\n1,1\n"), workspace.write("b.csv", "id,n\n2,1.5\n")];
    let summary = load_all(&inputs, &workspace.request(), false).unwrap();
    let note = "types: n is REAL, not INTEGER, because of";
    assert!(has(&summary.notes, note), "{:?}", summary.notes);
}

#[test]
fn a_table_that_lacks_columns_gets_them() {
    let workspace = Workspace::new();
    run(&workspace.write("a.csv", "id,name\n1,x\n"), &workspace.request()).unwrap();
    let mut append = workspace.request();
    append.mode = Mode::Append;
    let more = workspace.write("b.csv", format!("id,zip\n{}3,01234\n", "2,94110\n".repeat(10_500)));
    let error = load_all(std::slice::from_ref(&more), &append, false).unwrap_err();
    assert!(matches!(error, LoadError::NoColumn(_)), "{error}");
    // The type that the first rows suggest is not the type of all.
    let summary = load_all(std::slice::from_ref(&more), &append, true).unwrap();
    assert_eq!(workspace.rows("SELECT * FROM t WHERE id <> 2"), ["1|x|NULL", "3|NULL|01234"]);
    assert!(has(&summary.notes, "columns: zip TEXT was added"), "{:?}", summary.notes);
    let again = load_all(&[more], &append, true).unwrap();
    assert_eq!(texts(&again.notes), [""; 0]);
}

#[test]
fn indexes_and_triggers_of_a_replaced_table_are_named_or_kept() {
    let workspace = Workspace::new();
    let input = workspace.write("a.csv", "id,name\n1,x\n2,y\n");
    let objects = "SELECT group_concat(name) FROM sqlite_schema WHERE type IN ('index', 'trigger')";
    for keeps_indexes in [true, false] {
        run(&input, &workspace.again()).unwrap();
        let connection = workspace.connection();
        connection
            .execute(
                "CREATE TABLE IF NOT EXISTS log(x); CREATE UNIQUE INDEX i ON t(name DESC); \
                 CREATE INDEX j ON t(id) WHERE id > 1; \
                 CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.id); END",
            )
            .unwrap();
        drop(connection);
        let mut request = workspace.request();
        (request.mode, request.keeps_indexes) = (Mode::Replace, keeps_indexes);
        let notes = run(&input, &request).unwrap().notes;
        let (note, found) = match keeps_indexes {
            true => ("kept: index i, index j, trigger g", "i,j,g"),
            false => ("dropped: index i, index j, trigger g; --replace=keep-indexes", "NULL"),
        };
        assert!(has(&notes, note), "{notes:?}");
        assert_eq!(workspace.rows(objects), [found]);
        assert_eq!(workspace.rows("SELECT count(*) FROM log"), ["0"]);
        assert_eq!(workspace.rows("PRAGMA integrity_check"), ["ok"]);
        assert_eq!(workspace.rows("SELECT id FROM t WHERE name = 'y'"), ["2"]);
    }
}
