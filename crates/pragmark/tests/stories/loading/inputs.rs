//! Inputs other than one CSV file.

use super::{dump, files, load_towns, towns};
use crate::laboratory::Laboratory;

#[test]
fn json_lines_are_loaded_with_their_types() {
    let laboratory = Laboratory::new();
    laboratory.write(
        "a.jsonl",
        concat!(
            "{\"id\": 1, \"name\": \"Bonn\", \"open\": true, \"tags\": [\"a\", 1.50]}\n",
            "\n",
            "{\"id\": 2, \"name\": null, \"open\": false, \"area\": 95.99}\n",
        ),
    );
    laboratory
        .pragmark(&["load", "a.jsonl", "a.db", "--table", "t", "--check"])
        .exits(0)
        .says(&["2 rows into t", "strategy: pages"]);
    assert_eq!(
        dump(&laboratory, "a.db", "SELECT id, name, open, tags, area, typeof(tags) FROM t"),
        "1|Bonn|1|[\"a\", 1.50]|NULL|text\n2|NULL|0|NULL|95.99|null"
    );
    laboratory.write("b.jsonl", "{\"id\": 1}\n\n{\"id\": 2\n");
    laboratory
        .pragmark(&["load", "b.jsonl", "b.db", "--table", "t"])
        .exits(3)
        .complains(&["b.jsonl, line 3: not a JSON object", "--on-error skip"]);
}

#[test]
fn arrays_and_later_values_are_loaded_without_a_change() {
    let laboratory = Laboratory::new();
    laboratory.write("a.json", "[\n{\"id\": 1},\n{\"id\": 2}\n]\n");
    laboratory
        .pragmark(&["load", "a.json", "a.db", "--table", "t"])
        .exits(0)
        .says(&["2 rows into t"]);
    laboratory.write("a.html", "<!doctype html>\n<title>Not here</title>\n");
    laboratory
        .pragmark(&["load", "a.html", "a.db", "--table", "t", "--replace"])
        .exits(3)
        .complains(&["a.html: it is an HTML page"]);
    assert_eq!(dump(&laboratory, "a.db", "SELECT id FROM t"), "1\n2");
    laboratory.write("late.csv", &format!("zip\n{}01234\n", "53111\n".repeat(10_500)));
    laboratory
        .pragmark(&["load", "late.csv", "late.db", "--table", "t"])
        .exits(0)
        .says(&["types: from all rows", "row 10501, column zip", "`01234`"]);
    assert_eq!(
        dump(&laboratory, "late.db", "SELECT typeof(zip), zip FROM t GROUP BY zip"),
        "text|01234\ntext|53111"
    );
    let script =
        format!("'{}' load - late.db --table u < late.csv", env!("CARGO_BIN_EXE_pragmark"));
    let output = std::process::Command::new("/bin/sh")
        .args(["-c", &script])
        .current_dir(laboratory.path())
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{complaint}");
    for part in ["row 10501, column zip", "--type COLUMN=TYPE"] {
        assert!(complaint.contains(part), "{complaint}");
    }
}

#[test]
fn lists_of_columns_take_any_names() {
    let laboratory = Laboratory::new();
    laboratory.write("a.csv", "-x,\"a,b\",c\n1,2,red\n");
    let load = |more: &[&str]| {
        let arguments = [&["load", "a.csv", "a.db", "--table", "t"], more].concat();
        laboratory.pragmark(&arguments)
    };
    load(&["--index=-x", "--index", "\"a,b\",c", "--fts", "c", "--not-null", "\"a,b\""])
        .exits(0)
        .says(&["full-text index: t_fts"]);
    assert_eq!(
        dump(&laboratory, "a.db", "SELECT name FROM pragma_index_list('t') ORDER BY name"),
        "t_-x_index\nt_a,b_c_index"
    );
    load(&["--replace", "--index", "c,"]).exits(2).complains(&["one of them is empty"]);
    load(&["--replace", "--on-error", "skip=three"]).exits(2).complains(&["skip=100"]);
    load(&["--append", "--no-header"])
        .exits(0)
        .says(&["2 rows into t", "warning: the full-text index t_fts lacks the new rows"]);
    assert_eq!(
        dump(&laboratory, "a.db", "SELECT \"-x\", \"a,b\", c FROM t"),
        "1|2|red\n-x|a,b|c\n1|2|red"
    );
}

#[test]
fn words_for_null_may_begin_with_dashes() {
    let laboratory = Laboratory::new();
    laboratory.write("a.csv", "a,b\n-999,--\n5,6\n");
    let arguments = ["load", "a.csv", "a.db", "--null", "-999", "--null=--"];
    laboratory.pragmark(&arguments).exits(0);
    assert_eq!(dump(&laboratory, "a.db", "SELECT a, b FROM a"), "NULL|NULL\n5|6");
}

#[test]
fn several_inputs_become_one_table_and_the_wrong_one_is_named() {
    let laboratory = Laboratory::new();
    laboratory.write("a.csv", "id,zip\n1,53111\n2,53112\n");
    laboratory.write("b.csv", "zip,id\n04020,3\n");
    let load = |inputs: &[&str], database: &str| {
        let arguments = [&["load"], inputs, &[database, "--table", "t"]].concat();
        laboratory.pragmark(&arguments)
    };
    load(&["a.csv", "b.csv"], "ab.db").exits(0).says(&["3 rows"]);
    // The second file has shown that these are no numbers.
    assert_eq!(
        dump(&laboratory, "ab.db", "SELECT id, zip, typeof(zip) FROM t"),
        "1|53111|text\n2|53112|text\n3|04020|text"
    );
    laboratory.write("c.csv", "id,zip\n4,1\n5\n");
    load(&["a.csv", "c.csv"], "ac.db")
        .exits(3)
        .complains(&["c.csv, row 2: it has 1 field instead of 2"]);
    laboratory.write("d.csv", "id,town\n4,Bonn\n");
    load(&["a.csv", "d.csv"], "ad.db")
        .exits(3)
        .complains(&["d.csv: it has a column town, which a.csv does not have"]);
}

#[test]
fn no_file_that_is_read_is_written() {
    let laboratory = Laboratory::new();
    laboratory.write("a.csv", "id,zip\n1,53111\n2\n");
    laboratory.write("b.csv", "id,zip\n3,53112\n");
    for name in ["a", "b"] {
        let (csv, database) = (format!("{name}.csv"), format!("{name}.db"));
        laboratory
            .pragmark(&["load", &csv, &database, "--table", "t", "--on-error", "skip"])
            .exits(0);
    }
    std::fs::hard_link(laboratory.path().join("b.db"), laboratory.path().join("link.db")).unwrap();
    let before = std::fs::read(laboratory.path().join("b.db")).unwrap();
    let names = files(&laboratory);
    let refused = |arguments: &[&str], words: &str| {
        let arguments = [&["load"], arguments, &["--table", "u", "--on-error", "skip"]].concat();
        laboratory.pragmark(&arguments).exits(2).complains(&[words, "choose another file"]);
    };
    let target = "is both an input and the database to load into";
    refused(&["a.db", "b.db", "b.db"], target);
    refused(&["a.db", "b.db", "link.db"], target);
    let rejects = "is both an input and the file of rejected rows";
    refused(&["a.csv", "new.db", "--rejects", "a.csv"], rejects);
    refused(&["a.csv", "b.csv", "new.db", "--rejects", "./b.csv"], rejects);
    let both = "is both the database to load into and the file of rejected rows";
    refused(&["a.csv", "b.db", "--rejects", "b.db"], both);
    refused(&["a.csv", "new.db", "--rejects", "new.db"], both);
    assert_eq!(files(&laboratory), names);
    assert_eq!(std::fs::read(laboratory.path().join("b.db")).unwrap(), before);
}

#[test]
fn texts_in_other_encodings_are_read() {
    let laboratory = Laboratory::new();
    let path = laboratory.path().join("latin.csv");
    std::fs::write(path, b"id,name\n1,Li\xe8ge\n2,caf\xe9\n").unwrap();
    let load = |more: &[&str]| {
        let arguments = [&["load", "latin.csv", "latin.db", "--table", "t"], more].concat();
        laboratory.pragmark(&arguments)
    };
    load(&[])
        .exits(3)
        .complains(&["latin.csv, row 1, column name: it is not valid UTF-8", "--encoding"]);
    load(&["--encoding", "no-such"]).exits(2).complains(&["unknown encoding"]);
    load(&["--encoding", "latin1"]).exits(0);
    assert_eq!(dump(&laboratory, "latin.db", "SELECT name FROM t"), "Liège\ncafé");
    let utf_16: Vec<u8> =
        "\u{feff}name\n\u{1d11e}\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
    std::fs::write(laboratory.path().join("wide.csv"), utf_16).unwrap();
    laboratory.pragmark(&["load", "wide.csv", "wide.db", "--table", "t"]).exits(0);
    assert_eq!(dump(&laboratory, "wide.db", "SELECT name FROM t"), "\u{1d11e}");
}

#[test]
fn another_database_is_read_by_table_or_query() {
    let laboratory = towns();
    load_towns(&laboratory, "towns.csv", &["--primary-key", "id"]).exits(0);
    laboratory
        .pragmark(&["load", "towns.db", "copy.db", "--table", "copied", "--primary-key", "id"])
        .exits(0)
        .says(&["3 rows into copied"]);
    assert_eq!(
        dump(&laboratory, "copy.db", "SELECT * FROM copied"),
        dump(&laboratory, "towns.db", "SELECT * FROM towns")
    );
    laboratory
        .pragmark(&[
            "load",
            "towns.db",
            "copy.db",
            "--table",
            "names",
            "--rows",
            "SELECT name, length(name) AS length FROM towns WHERE id < 3",
        ])
        .exits(0)
        .says(&["2 rows into names"]);
    assert_eq!(dump(&laboratory, "copy.db", "SELECT * FROM names"), "Bonn|4\nLinz, Donau|11");
    laboratory
        .pragmark(&["load", "copy.db", "new.db", "--table", "t"])
        .exits(3)
        .complains(&["several tables", "copied, names", "--rows NAME"]);
    laboratory
        .pragmark(&["load", "copy.db", "copy.db", "--table", "t", "--rows", "names"])
        .exits(2)
        .complains(&["copy.db is both an input and the database to load into"]);
}

#[test]
fn a_table_is_named_after_its_input_unless_it_gets_another_name() {
    let laboratory = towns();
    let csv = "a,b\n1,2\n";
    for name in ["2024-sales.csv", "my \"own\".list.tsv.gz", "no_ending"] {
        laboratory.write(name, csv);
    }
    laboratory.write("response.json", "{\"response\": {\"docs\": [{\"a\": 1}]}}");
    laboratory.write("nested.json", "{\"x\": [{\"a\": 1}], \"y\": [{\"a\": 1}]}");
    let load = |arguments: &[&str]| laboratory.pragmark(&[&["load"], arguments].concat());
    load(&["towns.csv", "towns.db"]).exits(0).says(&["3 rows into towns of towns.db"]);
    load(&["towns.csv", "towns.db"]).exits(3).complains(&["towns already", "--append", "--table"]);
    load(&["towns.csv", "towns.db", "--append"]).exits(0).says(&["3 rows into towns of"]);
    for (input, more) in [
        ("2024-sales.csv", &[][..]),
        ("my \"own\".list.tsv.gz", &["--index", "b"]),
        ("no_ending", &[]),
        ("nested.json", &["--rows", "x"]),
        ("response.json", &["--rows", "response.docs"]),
        ("towns.db", &[]),
    ] {
        load(&[&[input, "all.db"], more].concat()).exits(0);
    }
    assert_eq!(
        dump(&laboratory, "all.db", "SELECT name FROM sqlite_schema WHERE type = 'table'"),
        "2024-sales\nmy \"own\".list\nno_ending\nx\ndocs\ntowns"
    );
    std::fs::create_dir(laboratory.path().join("folder")).unwrap();
    laboratory.write("folder/a.csv", csv);
    for arguments in [
        &["2024-sales.csv", "no_ending", "new.db"][..],
        &["folder", "new.db"],
        &["*.csv", "new.db"],
        &["-", "new.db"],
        &["towns.db", "new.db", "--rows", "SELECT 1 AS a"],
    ] {
        load(arguments).exits(2).complains(&["do not name the table", "--table NAME"]);
    }
    load(&["no_ending", "all.db", "towns"])
        .exits(2)
        .complains(&["the last argument is the database", "rows are read from all.db here"]);
    load(&["no_ending", "no.db", "towns"]).exits(2).complains(&["rows are read from no.db here"]);
    load(&["towns.db", "2024-sales.csv"])
        .exits(3)
        .complains(&["file is not a database", "pragmark load INPUT DATABASE"]);
    load(&["missing.csv", "new.db"]).exits(3).complains(&["cannot open missing.csv"]);
    load(&["all.db", "new.db"]).exits(3).complains(&["several tables", "--rows NAME"]);
    assert!(!laboratory.path().join("new.db").exists());
}
