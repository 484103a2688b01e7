//! Loading data: what a user does with a CSV file, and what happens when something is wrong with it.

mod choices;
mod failures;
mod inputs;
mod unloading;

use crate::laboratory::{Answer, Laboratory};

const TOWNS: &str = "\
id,name,people,area,postcode
1,Bonn,335789,141.06,53111
2,\"Linz, Donau\",212538,95.99,04020
3,\"Sant \"\"Juli\u{e0}\"\"
de L\u{f2}ria\",,60.2,\u{2116} 7
";

/// A folder with the file `towns.csv`.
fn towns() -> Laboratory {
    let laboratory = Laboratory::new();
    laboratory.write("towns.csv", TOWNS);
    laboratory
}

/// Loads a file into the table `towns` of `towns.db`.
fn load_towns(laboratory: &Laboratory, input: &str, more: &[&str]) -> Answer {
    let arguments = [&["load", input, "towns.db", "--table", "towns"], more];
    laboratory.pragmark(&arguments.concat())
}

/// A folder with the file `towns.csv` and the database `towns.db` that was loaded from it.
fn towns_loaded() -> Laboratory {
    let laboratory = towns();
    load_towns(&laboratory, "towns.csv", &[]).exits(0);
    laboratory
}

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
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_real_csv_is_loaded_with_quotes_line_breaks_and_names_of_the_world() {
    let laboratory = towns();
    load_towns(
        &laboratory,
        "towns.csv",
        &["--primary-key", "id", "--index", "name,people", "--check"],
    )
    .exits(0)
    .says(&["3 rows into towns", "rows/s", "strategy: pages"]);
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
    let laboratory = towns_loaded();
    laboratory.write("more.tsv", "name\tid\nGraz\t4\n");
    load_towns(&laboratory, "towns.csv", &[])
        .exits(3)
        .complains(&["already", "--append", "--replace"]);
    load_towns(&laboratory, "more.tsv", &["--append"])
        .exits(0)
        .says(&["1 row into", "strategy: arrays"]);
    assert_eq!(
        dump(&laboratory, "towns.db", "SELECT id, name FROM towns WHERE people IS NULL AND id > 3"),
        "4|Graz"
    );
    load_towns(&laboratory, "more.tsv", &["--replace", "--type", "id=TEXT"]).exits(0);
    assert_eq!(
        dump(&laboratory, "towns.db", "SELECT name, id, typeof(id) FROM towns"),
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
        .complains(&["bad.csv, row 2: it has 1 field instead of 2", "--on-error skip"]);
    assert_eq!(files(&laboratory), ["bad.csv", "small.toml"]);
    laboratory
        .pragmark(&["load", "bad.csv", "bad.db", "--table", "t", "--on-error", "skip"])
        .exits(0)
        .says(&["2 rows into t", "2 rows skipped; see bad.csv.rejected.csv"]);
    assert_eq!(
        laboratory.read("bad.csv.rejected.csv"),
        "input,row,column,reason,fields\nbad.csv,2,,it has 1 field instead of 2,3\nbad.csv,3,a,text follows a closing quote,\"\"\"4\"\"x,5\"\n"
    );
    assert_eq!(dump(&laboratory, "bad.db", "SELECT * FROM t"), "1|2\n6|7");
}

#[test]
fn long_ids_keep_their_digits() {
    let laboratory = Laboratory::new();
    laboratory.write(
        "ids.csv",
        "id,longer\n1234567890123456789,18446744073709551616\n1234567890123456790,18446744073709551617\n",
    );
    laboratory.write(
        "ids.jsonl",
        "{\"id\":1234567890123456789,\"longer\":18446744073709551616}\n{\"id\":1234567890123456790,\"longer\":18446744073709551617}\n",
    );
    for input in ["ids.csv", "ids.jsonl"] {
        let database = format!("{input}.db");
        let arguments = ["load", input, &database, "--table", "t", "--unique", "id"];
        laboratory.pragmark(&arguments).exits(0);
        assert_eq!(
            dump(&laboratory, &database, "SELECT typeof(id), id, longer FROM t"),
            "integer|1234567890123456789|18446744073709551616\ninteger|1234567890123456790|18446744073709551617"
        );
    }
}

#[test]
fn a_place_where_rejected_rows_cannot_go_is_told_before_anything_is_loaded() {
    let laboratory = Laboratory::new();
    laboratory.write("bad.csv", "a,b\n1,2\n3\n");
    let load = |more: &[&str]| {
        let arguments = [&["load", "bad.csv", "bad.db", "--table", "t"], more].concat();
        laboratory.pragmark(&arguments)
    };
    std::fs::create_dir(laboratory.path().join("folder")).unwrap();
    load(&["--on-error", "skip", "--rejects", "folder"])
        .exits(2)
        .complains(&["folder is a directory"]);
    assert!(!laboratory.path().join("bad.db").exists());
}

#[test]
fn a_value_that_does_not_fit_a_strict_table_is_named() {
    let laboratory = Laboratory::new();
    laboratory.write("bad.csv", "a,b\n1,2\nmany,3\n");
    let arguments =
        ["load", "bad.csv", "bad.db", "--table", "t", "--strict", "--type", "a=INTEGER"];
    laboratory
        .pragmark(&arguments)
        .exits(3)
        .complains(&["row 2: cannot store TEXT value in INTEGER column t.a"]);
    assert_eq!(files(&laboratory), ["bad.csv", "small.toml"]);
}

/// A table, an empty file, and a file that is no database.
fn towns_and_unusable_files() -> Laboratory {
    let laboratory = towns();
    laboratory.write("empty.csv", "");
    laboratory
        .write("no.db", "this is no database, but long enough to look like a file of some kind");
    laboratory
}

/// That nothing was written since [`towns_and_unusable_files`].
fn assert_nothing_was_left(laboratory: &Laboratory) {
    let expected = ["empty.csv", "no.db", "small.toml", "towns.csv"];
    assert_eq!(files(laboratory), expected);
}

#[test]
fn wrong_options_leave_nothing_behind() {
    let laboratory = towns_and_unusable_files();
    for (options, exit, complaints) in [
        (&["--type", "nmae=TEXT"][..], 2, &["no column nmae", "id, name, people"][..]),
        (&["--type", "id=INT); DROP TABLE t"], 2, &["invalid type"]),
        (&["--page-size", "1000"], 2, &["power of two"]),
        (&["--not-null", "nothing"], 2, &["no column nothing"]),
        (
            &["--upsert", "id", "--strategy", "pages"],
            3,
            &[
                "the load strategy `pages` cannot do this: duplicate rows are to be ignored or to update others",
                "--strategy",
            ],
        ),
    ] {
        let arguments = [&["load", "towns.csv", "towns.db", "--table", "t"], options].concat();
        laboratory.pragmark(&arguments).exits(exit).complains(complaints);
    }
    assert_nothing_was_left(&laboratory);
}

#[test]
fn files_that_cannot_be_read_or_written_leave_nothing_behind() {
    let laboratory = towns_and_unusable_files();
    for (input, database, complaint) in [
        ("missing.csv", "towns.db", "cannot open missing.csv"),
        ("empty.csv", "towns.db", "is empty"),
        ("towns.csv", "no.db", "file is not a database"),
        ("towns.csv", "no/such/folder/towns.db", "cannot write no/such/folder/towns.db"),
    ] {
        let arguments = ["load", input, database, "--table", "t"];
        laboratory.pragmark(&arguments).exits(3).complains(&[complaint]);
    }
    assert_nothing_was_left(&laboratory);
}

#[test]
fn a_full_text_index_finds_what_was_loaded() {
    let laboratory = towns();
    let load = |more: &[&str]| {
        let arguments = [
            &["load", "towns.csv", "towns.db", "--table", "towns", "--fts", "name", "--check"],
            more,
        ];
        laboratory.pragmark(&arguments.concat())
    };
    load(&["--page-size", "8192"])
        .exits(0)
        .says(&["full-text index: towns_fts", "strategy: pages"]);
    let found = "SELECT id FROM towns WHERE rowid IN (SELECT rowid FROM towns_fts('donau'))";
    assert_eq!(dump(&laboratory, "towns.db", found), "2");
    assert_eq!(dump(&laboratory, "towns.db", "PRAGMA page_size"), "8192");
    load(&["--replace"]).exits(0);
    assert_eq!(dump(&laboratory, "towns.db", found), "2");
    load(&["--replace", "--fts", "nothing"]).exits(2).complains(&["no column nothing"]);
}
