//! Loading data: what a user does with a CSV file, and what happens when something is wrong with it.

use std::process::Command;

use crate::laboratory::Laboratory;

const TOWNS: &str = "\
id,name,people,area,postcode
1,Bonn,335789,141.06,53111
2,\"Linz, Donau\",212538,95.99,04020
3,\"Sant \"\"Juli\u{e0}\"\"
de L\u{f2}ria\",,60.2,\u{2116} 7
";

fn dump(laboratory: &Laboratory, database: &str, sql: &str) -> String {
    let rows = connection(laboratory, database).query_all(sql).unwrap();
    let shown = rows.iter().map(|row| {
        let values: Vec<String> = row.iter().map(ToString::to_string).collect();
        values.join("|")
    });
    shown.collect::<Vec<_>>().join("\n")
}

fn connection(laboratory: &Laboratory, database: &str) -> engine::Connection {
    let library = engine::Library::load(&engine::Source::Embedded).unwrap();
    let path = laboratory.path().join(database);
    engine::Connection::open(&library.into(), &path, engine::OpenFlags::READ_WRITE, None).unwrap()
}

fn files(laboratory: &Laboratory) -> Vec<String> {
    let entries = std::fs::read_dir(laboratory.path()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_real_csv_is_loaded_with_quotes_line_breaks_and_names_of_the_world() {
    let laboratory = Laboratory::new();
    laboratory.write("towns.csv", TOWNS);
    laboratory
        .pragmark(&[
            "load",
            "towns.csv",
            "towns.db",
            "--table",
            "towns",
            "--primary-key",
            "id",
            "--index",
            "name,people",
            "--check",
        ])
        .exits(0)
        .says(&["3 rows into towns", "rows/s", "way: pages"]);
    assert_eq!(
        dump(&laboratory, "towns.db", "SELECT * FROM towns"),
        "1|Bonn|335789|141.06|53111\n2|Linz, Donau|212538|95.99|04020\n3|Sant \"Julià\"\nde Lòria|NULL|60.2|№ 7"
    );
    let schema = dump(&laboratory, "towns.db", "SELECT sql FROM sqlite_master");
    assert_eq!(
        schema,
        "CREATE TABLE \"towns\" (\"id\" INTEGER PRIMARY KEY, \"name\" TEXT, \"people\" INTEGER, \"area\" REAL, \"postcode\" TEXT)\n\
         CREATE INDEX \"towns_name_people_index\" ON \"towns\" (\"name\", \"people\")"
    );
    assert_eq!(files(&laboratory), ["small.toml", "towns.csv", "towns.db"]);
}

#[test]
fn rows_are_added_by_the_names_of_their_columns() {
    let laboratory = Laboratory::new();
    laboratory.write("towns.csv", TOWNS);
    laboratory.write("more.tsv", "name\tid\nGraz\t4\n");
    laboratory
        .pragmark(&["load", "towns.csv", "towns.db", "--table", "towns"])
        .exits(0);
    laboratory
        .pragmark(&["load", "towns.csv", "towns.db", "--table", "towns"])
        .exits(3)
        .complains(&["already", "--append", "--replace"]);
    laboratory
        .pragmark(&[
            "load", "more.tsv", "towns.db", "--table", "towns", "--append",
        ])
        .exits(0)
        .says(&["1 rows into", "way: arrays (the database exists already)"]);
    assert_eq!(
        dump(
            &laboratory,
            "towns.db",
            "SELECT id, name FROM towns WHERE people IS NULL AND id > 3"
        ),
        "4|Graz"
    );
    laboratory
        .pragmark(&[
            "load",
            "more.tsv",
            "towns.db",
            "--table",
            "towns",
            "--replace",
            "--type",
            "id=TEXT",
        ])
        .exits(0);
    assert_eq!(
        dump(
            &laboratory,
            "towns.db",
            "SELECT name, id, typeof(id) FROM towns"
        ),
        "Graz|4|text"
    );
}

#[test]
fn a_malformed_row_is_named_and_nothing_is_loaded() {
    let laboratory = Laboratory::new();
    laboratory.write("bad.csv", "a,b\n1,2\n3\n\"4\"x,5\n6,7\n");
    laboratory
        .pragmark(&["load", "bad.csv", "bad.db", "--table", "t"])
        .exits(3)
        .complains(&[
            "bad.csv, row 2: it has 1 fields instead of 2",
            "--on-error skip",
        ]);
    assert_eq!(files(&laboratory), ["bad.csv", "small.toml"]);
    laboratory
        .pragmark(&[
            "load",
            "bad.csv",
            "bad.db",
            "--table",
            "t",
            "--on-error",
            "skip",
        ])
        .exits(0)
        .says(&[
            "2 rows into t",
            "2 rows skipped; they are in bad.csv.rejected.csv",
        ]);
    assert_eq!(
        laboratory.read("bad.csv.rejected.csv"),
        "row,column,reason,fields\n2,,it has 1 fields instead of 2,3\n3,a,text follows a closing quote,\"\"\"4\"\"x,5\"\n"
    );
    assert_eq!(dump(&laboratory, "bad.db", "SELECT * FROM t"), "1|2\n6|7");
}

#[test]
fn a_value_that_does_not_fit_a_strict_table_is_named() {
    let laboratory = Laboratory::new();
    laboratory.write("bad.csv", "a,b\n1,2\nmany,3\n");
    let arguments = [
        "load",
        "bad.csv",
        "bad.db",
        "--table",
        "t",
        "--strict",
        "--type",
        "a=INTEGER",
    ];
    laboratory
        .pragmark(&arguments)
        .exits(3)
        .complains(&["row 2: cannot store TEXT value in INTEGER column t.a"]);
    assert_eq!(files(&laboratory), ["bad.csv", "small.toml"]);
}

#[test]
fn mistakes_on_the_command_line_leave_nothing_behind() {
    let laboratory = Laboratory::new();
    laboratory.write("towns.csv", TOWNS);
    laboratory.write("empty.csv", "");
    laboratory.write(
        "no.db",
        "this is no database, but long enough to look like a file of some kind",
    );
    let load = |more: &[&str]| {
        let arguments = [&["load", "towns.csv", "towns.db", "--table", "t"], more].concat();
        laboratory.pragmark(&arguments)
    };
    load(&["--type", "nmae=TEXT"])
        .exits(2)
        .complains(&["no column nmae", "id, name, people"]);
    load(&["--type", "id=INT); DROP TABLE t"])
        .exits(2)
        .complains(&["is no type"]);
    load(&["--page-size", "1000"])
        .exits(2)
        .complains(&["power of two"]);
    load(&["--not-null", "nothing"])
        .exits(2)
        .complains(&["no column nothing"]);
    load(&["--primary-key", "id", "--without-rowid", "--way", "pages"])
        .exits(3)
        .complains(&[
            "the way `pages` cannot do this: the table is WITHOUT ROWID",
            "--way",
        ]);
    laboratory
        .pragmark(&["load", "missing.csv", "towns.db", "--table", "t"])
        .exits(3)
        .complains(&["cannot open missing.csv"]);
    laboratory
        .pragmark(&["load", "empty.csv", "towns.db", "--table", "t"])
        .exits(3)
        .complains(&["is empty"]);
    laboratory
        .pragmark(&["load", "towns.csv", "no.db", "--table", "t"])
        .exits(3)
        .complains(&["file is not a database"]);
    laboratory
        .pragmark(&[
            "load",
            "towns.csv",
            "no/such/folder/towns.db",
            "--table",
            "t",
        ])
        .exits(3)
        .complains(&["cannot write no/such/folder/towns.db"]);
    assert_eq!(
        files(&laboratory),
        ["empty.csv", "no.db", "small.toml", "towns.csv"]
    );
}

#[test]
fn a_locked_database_stays_as_it_was() {
    let laboratory = Laboratory::new();
    laboratory.write("towns.csv", TOWNS);
    laboratory
        .pragmark(&["load", "towns.csv", "towns.db", "--table", "towns"])
        .exits(0);
    let holder = connection(&laboratory, "towns.db");
    holder.execute("BEGIN IMMEDIATE").unwrap();
    laboratory
        .pragmark(&[
            "load",
            "towns.csv",
            "towns.db",
            "--table",
            "towns",
            "--append",
        ])
        .exits(3)
        .complains(&["locked", "another program is using the database"]);
    holder.execute("ROLLBACK").unwrap();
    assert_eq!(
        dump(&laboratory, "towns.db", "SELECT count(*) FROM towns"),
        "3"
    );
}

#[test]
fn a_load_that_is_killed_leaves_the_old_database_and_no_new_one() {
    use std::io::Write;
    let laboratory = Laboratory::new();
    laboratory.write("towns.csv", TOWNS);
    laboratory
        .pragmark(&["load", "towns.csv", "towns.db", "--table", "towns"])
        .exits(0);
    for (database, more) in [("towns.db", &["--append"][..]), ("new.db", &[])] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pragmark"))
            .args(["load", "-", database, "--table", "towns"])
            .args(more)
            .current_dir(laboratory.path())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(b"id,name\n").unwrap();
        // More than reader and pipe hold, so that rows are being written when it is killed.
        for row in 0..600_000 {
            writeln!(pipe, "{row},name of the town number {row}").unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(!laboratory.path().join("new.db").exists());
    assert_eq!(
        dump(&laboratory, "towns.db", "SELECT count(*) FROM towns"),
        "3"
    );
    assert_eq!(
        dump(&laboratory, "towns.db", "PRAGMA integrity_check"),
        "ok"
    );
}

#[test]
fn a_load_that_is_interrupted_cleans_up() {
    use std::io::Write;
    let laboratory = Laboratory::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_pragmark"))
        .args(["load", "-", "new.db", "--table", "t"])
        .current_dir(laboratory.path())
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"id,name\n").unwrap();
    for row in 0..300_000 {
        writeln!(pipe, "{row},name of the town number {row}").unwrap();
    }
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    // The next batch is the last; the pipe may be closed before all of this is taken.
    for row in 0..300_000 {
        if writeln!(pipe, "{row},name of the town number {row}").is_err() {
            break;
        }
    }
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(130),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(files(&laboratory), ["small.toml"]);
}
