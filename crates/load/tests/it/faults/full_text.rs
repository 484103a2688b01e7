//! Full-text indexes over tables whose columns hide the rowid, and those that a load would leave stale.

use pragmark_load::{FullText, Mode, Request, Summary};

use crate::faults::{Workspace, refused, run};

fn searched(request: Request, columns: &[&str]) -> Request {
    let mut request = request;
    request.check = true;
    request.table.full_text = Some(FullText {
        columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        name: None,
    });
    request
}

fn loaded(workspace: &Workspace, csv: &str, request: &Request) -> Summary {
    run(&workspace.write("a.csv", csv), request).unwrap()
}

/// A table with one row and a full-text index over its text.
fn with_an_index() -> Workspace {
    let workspace = Workspace::new();
    let request = searched(workspace.request(), &["text"]);
    loaded(&workspace, "id,text\n1,apple\n", &request);
    workspace
}

const INTEGRITY: &str = "INSERT INTO t_fts(t_fts, rank) VALUES ('integrity-check', 1)";

#[test]
fn a_column_called_rowid_hides_nothing_from_the_index() {
    for header in ["rowid,text", "rowid,_ROWID_,text", "oid,text", "\"_rowid_\",oid,text"] {
        let workspace = Workspace::new();
        let fill = "x,".repeat(header.matches(',').count());
        let csv = format!("{header}\n{fill}apple\n{fill}pear\n");
        loaded(&workspace, &csv, &searched(workspace.request(), &["text"]));
        workspace.connection().execute(INTEGRITY).unwrap();
        assert_eq!(workspace.rows("SELECT rowid FROM t_fts('pear')"), ["2"], "{header}");
        assert_eq!(workspace.rows("SELECT text FROM t_fts('pear')"), ["pear"], "{header}");
        assert_eq!(workspace.rows("PRAGMA integrity_check"), ["ok"]);
    }
}

#[test]
fn the_key_is_the_rowid_where_every_name_of_the_rowid_is_a_column() {
    let workspace = Workspace::new();
    let csv = "id,rowid,oid,_rowid_,text\n7,x,x,x,apple\n9,x,x,x,pear\n";
    let mut request = searched(workspace.request(), &["text"]);
    let message = refused(&workspace.write("a.csv", csv), &request);
    assert!(message.contains("rowid, _rowid_ and oid are all columns"), "{message}");
    request.table.primary_key = vec!["id".to_owned()];
    loaded(&workspace, csv, &request);
    workspace.connection().execute(INTEGRITY).unwrap();
    assert_eq!(workspace.rows("SELECT rowid FROM t_fts('pear')"), ["9"]);
}

#[test]
fn an_index_that_a_replaced_table_leaves_is_filled_again() {
    let workspace = Workspace::new();
    loaded(&workspace, "id,text\n1,apple\n2,pear\n", &searched(workspace.request(), &["text"]));
    workspace.connection()
        .execute(
            "CREATE VIRTUAL TABLE other USING fts5(text, tokenize = \"porter ascii\", content=[t]);
             CREATE VIRTUAL TABLE own USING fts5(text, 't'); INSERT INTO own VALUES ('mine', 'mine')",
        )
        .unwrap();
    let mut request = workspace.request();
    request.mode = Mode::Replace;
    let summary = loaded(&workspace, "id,text\n1,plum\n2,apple\n3,cherry\n", &request);
    assert_eq!(summary.rebuilt, ["t_fts", "other"]);
    for index in ["t_fts", "other"] {
        assert_eq!(workspace.rows(&format!("SELECT rowid FROM {index}('apple')")), ["2"]);
        assert!(workspace.rows(&format!("SELECT rowid FROM {index}('pear')")).is_empty());
    }
    assert_eq!(workspace.rows("SELECT text FROM own('mine')"), ["mine"]);
    // With a full-text index of its own, the others are filled too.
    let mut request = searched(request, &["id"]);
    request.check = true;
    let summary = loaded(&workspace, "id,text\n1,fig\n", &request);
    assert_eq!(summary.rebuilt, ["other"]);
    assert_eq!(workspace.rows("SELECT rowid FROM other('fig')"), ["1"]);
}

#[test]
fn an_index_that_does_not_go_with_the_new_columns_leaves_the_old_table() {
    let workspace = with_an_index();
    let mut request = workspace.request();
    request.mode = Mode::Replace;
    let message = refused(&workspace.write("a.csv", "id,body\n1,plum\n"), &request);
    assert!(message.contains("full-text index t_fts"), "{message}");
    assert!(message.contains("drop it"), "{message}");
    assert_eq!(workspace.rows("SELECT text FROM t"), ["apple"]);
    assert_eq!(workspace.rows("SELECT rowid FROM t_fts('apple')"), ["1"]);
}

#[test]
fn appended_rows_that_an_index_lacks_are_reported() {
    let workspace = with_an_index();
    let mut request = workspace.request();
    request.mode = Mode::Append;
    let summary = loaded(&workspace, "id,text\n2,pear\n", &request);
    assert_eq!(summary.stale, ["t_fts"]);
    assert!(workspace.rows("SELECT rowid FROM t_fts('pear')").is_empty());
    // A trigger keeps it up.
    workspace
        .connection()
        .execute(
            "INSERT INTO t_fts(t_fts) VALUES ('rebuild');
             CREATE TRIGGER t_ai AFTER INSERT ON t BEGIN
               INSERT INTO t_fts(rowid, text) VALUES (new.rowid, new.text);
             END",
        )
        .unwrap();
    let summary = loaded(&workspace, "id,text\n3,plum\n", &request);
    assert_eq!(summary.stale, Vec::<String>::new());
    assert_eq!(workspace.rows("SELECT rowid FROM t_fts('plum')"), ["3"]);
}

#[test]
fn an_index_is_known_however_its_definition_is_written() {
    for using in ["USING  fts5", "USING\nfts5", "USING\t\"fts5\"", "USING/**/fts5"] {
        let workspace = Workspace::new();
        loaded(&workspace, "id,text\n1,apple\n2,pear\n", &workspace.request());
        let sql = format!("CREATE VIRTUAL TABLE f {using}(text, content=t)");
        workspace.connection().execute(&sql).unwrap();
        let mut request = workspace.request();
        request.mode = Mode::Replace;
        let summary = loaded(&workspace, "id,text\n1,pear\n2,apple\n", &request);
        assert_eq!(summary.rebuilt, ["f"], "{using}");
        assert_eq!(workspace.rows("SELECT rowid FROM f('apple')"), ["2"], "{using}");
    }
}

#[test]
fn a_trigger_that_only_shares_the_name_of_an_index_does_not_keep_it_up() {
    let workspace = Workspace::new();
    let mut request = workspace.request();
    request.table.name = "docs".to_owned();
    loaded(&workspace, "id,text\n1,apple\n", &request);
    workspace
        .connection()
        .execute(
            "CREATE VIRTUAL TABLE doc USING fts5(text, content=docs); CREATE TABLE log(id);
             CREATE TRIGGER docs_ai AFTER INSERT ON docs BEGIN
               INSERT INTO log VALUES (new.id);
             END",
        )
        .unwrap();
    request.mode = Mode::Append;
    let summary = loaded(&workspace, "id,text\n2,pear\n", &request);
    assert_eq!(summary.stale, ["doc"]);
}
