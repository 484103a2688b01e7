//! Rows that go out of a database, and messages that name the option which helps.

use super::{dump, towns_loaded};
use crate::laboratory::Laboratory;

#[test]
fn rows_are_unloaded_and_loaded_again() {
    let laboratory = towns_loaded();
    let all = "SELECT * FROM towns";
    for name in ["out.csv.gz", "out.parquet", "out.arrows", "out.json"] {
        let unloaded = laboratory.pragmark(&["unload", "towns.db", name]);
        unloaded.exits(0).says(&["3 rows into", name]);
        let database = format!("{name}.db");
        laboratory.pragmark(&["load", name, &database, "--table", "towns"]).exits(0);
        assert_eq!(dump(&laboratory, &database, all), dump(&laboratory, "towns.db", all), "{name}");
    }
    laboratory
        .pragmark(&["unload", "towns.db", "out.json"])
        .exits(2)
        .complains(&["out.json already exists", "--replace"]);
    let query = "SELECT name FROM towns WHERE id = 1";
    laboratory
        .pragmark(&["unload", "towns.db", "-", "--rows", query, "--format", "jsonl"])
        .exits(0)
        .says(&["{\"name\":\"Bonn\"}\n"]);
    laboratory
        .pragmark(&["unload", "towns.db", "-", "--rows", query])
        .exits(0)
        .says(&["name\nBonn\n"]);
    laboratory
        .pragmark(&["unload", "towns.db", "out"])
        .exits(2)
        .complains(&["the format is not clear", "--format"]);
}

#[test]
fn a_text_without_rows_loads_none_where_the_table_is_known() {
    let laboratory = towns_loaded();
    let none = "SELECT * FROM towns WHERE 0";
    let rows = || dump(&laboratory, "towns.db", "SELECT count(*) FROM towns");
    let before = rows();
    for name in ["none.json", "none.jsonl", "none.csv"] {
        laboratory.pragmark(&["unload", "towns.db", name, "--rows", none]).exits(0);
        let append = ["load", name, "towns.db", "--table", "towns", "--append"];
        laboratory.pragmark(&append).exits(0).says(&["0 rows into towns"]);
        assert_eq!(rows(), before, "{name}");
    }
    laboratory.pragmark(&["unload", "towns.db", "some.json", "--rows", "SELECT 99 AS id"]).exits(0);
    let both = ["load", "none.json", "some.json", "towns.db", "--table", "towns", "--append"];
    laboratory.pragmark(&both).exits(0).says(&["1 row into towns"]);
    let none = ["load", "none.json", "none.jsonl", "towns.db", "--table", "towns", "--append"];
    laboratory.pragmark(&none).exits(0).says(&["0 rows into towns"]);
    laboratory.pragmark(&["load", "none.json", "new.db"]).exits(3).complains(&["is empty"]);
    laboratory.write("people.sql", "CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT)");
    laboratory.pragmark(&["load", "none.json", "people.sql", "new.db"]).exits(0);
    assert_eq!(dump(&laboratory, "new.db", "SELECT name FROM sqlite_schema"), "people");
}

#[test]
fn what_is_odd_in_a_file_is_said_with_the_option_that_helps() {
    let laboratory = Laboratory::new();
    for (name, text, option) in [
        ("words.tsv", "word\tgloss\napple\t\"banana\nfig\t\"x\"\n", "--quote none"),
        ("spaces.csv", "name, place\nAnn, \"Oslo, Norway\"\nBob, x\n", "--trim"),
        ("short.csv", "a,b,c\n1,2,3\nnotes\n", "--skip-lines 0,LINES"),
        ("wide.csv", "a\0,\0b\0\n\x001\0,\x002\0\n\0", "--encoding utf-16le"),
    ] {
        laboratory.write(name, text);
        let load = laboratory.pragmark(&["load", name, "a.db", "--table", "t"]);
        load.exits(3).complains(&[option]);
    }
    laboratory.write("sums.csv", "d;sum\nx;1.240.294,00\ny;12,50\n");
    let load = |more: &[&str]| {
        laboratory.pragmark(&[&["load", "sums.csv", "s.db", "--table", "t"], more].concat())
    };
    load(&["--type", "sum=REAL"]).exits(3).complains(&["no numbers", "--number 1.234,5"]);
    load(&[]).exits(0).says(&["delimiter `;`", "warning: column sum", "--number 1.234,5"]);
    load(&["--replace", "--number", "1.234,5"]).exits(0);
    assert_eq!(dump(&laboratory, "s.db", "SELECT sum(sum) FROM t"), "1240306.5");
}

#[test]
fn a_file_of_sql_keeps_types_keys_and_indexes() {
    let laboratory = towns_loaded();
    let keys =
        ["--primary-key", "id", "--type", "people=BIGINT", "--index", "name", "--table", "t"];
    laboratory.pragmark(&[&["load", "towns.csv", "typed.db"][..], &keys].concat()).exits(0);
    let unloaded = laboratory.pragmark(&["unload", "typed.db", "t.csv", "t.sql"]);
    unloaded.exits(0).says(&["3 rows into t.csv", "CREATE statements in t.sql"]);
    let load = |more: &[&str]| {
        laboratory.pragmark(&[&["load", "t.csv", "t.sql", "again.db"], more].concat())
    };
    load(&["--dry-run"]).exits(0).says(&["\"people\" BIGINT", "CREATE INDEX"]);
    load(&[]).exits(0).says(&["3 rows into t of", "strategy: pages"]);
    for sql in ["SELECT * FROM t", "SELECT sql FROM sqlite_schema"] {
        assert_eq!(dump(&laboratory, "again.db", sql), dump(&laboratory, "typed.db", sql));
    }
    load(&[]).exits(3).complains(&["t already exists"]);
    laboratory
        .write("rows.sql", "CREATE TABLE t(id, name, people); INSERT INTO t VALUES (1, 'a', 2)");
    let rows = laboratory.pragmark(&["load", "t.csv", "rows.sql", "rows.db"]);
    rows.exits(3).complains(&["rows.sql: it inserts rows"]);
    for more in
        [&["--append"][..], &["--replace=keep-indexes"], &["--table", "u"], &["--type", "id=TEXT"]]
    {
        load(more).exits(2).complains(&["a file of SQL makes the table"]);
    }
    let alone = laboratory.pragmark(&["load", "t.sql", "new.db"]);
    alone.exits(2).complains(&["rows of other inputs", "sqlite3"]);
    let wrong = laboratory.pragmark(&["unload", "typed.db", "u.csv", "u.txt"]);
    wrong.exits(2).complains(&["must end in .sql"]);
}
