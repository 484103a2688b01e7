//! Loading data: what a user does with a CSV file, and what happens when something is wrong with it.

use std::process::Command;

use crate::laboratory::{Laboratory, wait_until};

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
        .says(&["1 row into", "way: arrays"]);
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
            "bad.csv, row 2: it has 1 field instead of 2",
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
            dump(
                &laboratory,
                &database,
                "SELECT typeof(id), id, longer FROM t"
            ),
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
    load(&["--unique", "id", "--on-error", "skip", "--way", "pages"])
        .exits(3)
        .complains(&[
            "the way `pages` cannot do this: rows that are not unique are to be skipped",
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
        .complains(&[
            "towns.db: database is locked",
            "another program is using the database",
        ]);
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
fn what_a_killed_load_left_goes_with_the_next_one() {
    use std::io::Write;
    let laboratory = Laboratory::new();
    laboratory.write("towns.csv", TOWNS);
    let mut child = start_from_pipe(&laboratory, "towns.db");
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"id,name\n1,a\n").unwrap();
    // More than is read before anything is made.
    pipe.write_all(&b"2,b\n".repeat(1_000_000)).unwrap();
    let unfinished = |laboratory: &Laboratory| {
        let names = files(laboratory).into_iter();
        names
            .filter(|name| name.starts_with("towns.db.unfinished-"))
            .count()
    };
    wait_until(|| unfinished(&laboratory) == 1);
    // Another load to the same place, while the first one goes on, leaves its file alone.
    laboratory.write("bad.csv", "a\n1,2\n");
    laboratory
        .pragmark(&["load", "bad.csv", "towns.db", "--table", "towns"])
        .exits(3);
    assert_eq!(unfinished(&laboratory), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(unfinished(&laboratory), 1);
    laboratory
        .pragmark(&["load", "towns.csv", "towns.db", "--table", "towns"])
        .exits(0);
    assert_eq!(
        files(&laboratory),
        ["bad.csv", "small.toml", "towns.csv", "towns.db"]
    );
}

fn start_from_pipe(laboratory: &Laboratory, database: &str) -> std::process::Child {
    Command::new(env!("CARGO_BIN_EXE_pragmark"))
        .args(["load", "-", database, "--table", "t"])
        .current_dir(laboratory.path())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_load_that_waits_for_its_input_can_be_interrupted() {
    use std::io::Write;
    let laboratory = Laboratory::new();
    let mut child = start_from_pipe(&laboratory, "new.db");
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(&b"2,b\n".repeat(500_000)).unwrap();
    wait_until(|| files(&laboratory).len() > 1);
    // The pipe stays open, and nothing comes.
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let status = child.wait().unwrap();
    drop(pipe);
    assert_eq!(status.code(), Some(130));
    assert_eq!(files(&laboratory), ["small.toml"]);
}

#[test]
fn a_full_disk_leaves_the_old_database() {
    let laboratory = Laboratory::new();
    laboratory.write("towns.csv", TOWNS);
    laboratory
        .pragmark(&["load", "towns.csv", "towns.db", "--table", "towns"])
        .exits(0);
    let rows: String = (0..200_000).map(|n| format!("{n},{n}\n")).collect();
    laboratory.write("many.csv", &format!("id,people\n{rows}"));
    let before = std::fs::read(laboratory.path().join("towns.db")).unwrap();
    for (database, mode) in [
        ("new.db", "--plain"),
        ("towns.db", "--append"),
        ("towns.db", "--replace"),
    ] {
        // Files of at most 512 KiB; a program that does not expect the signal is killed by it.
        let script = "trap '' XFSZ; ulimit -f 1024; exec \"$0\" \"$@\"";
        let output = Command::new("/bin/sh")
            .args(["-c", script, env!("CARGO_BIN_EXE_pragmark")])
            .args(["load", "many.csv", database, "--table", "towns", mode])
            .current_dir(laboratory.path())
            .output()
            .unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            output.status.code(),
            Some(3),
            "{database} {mode}: {complaint}"
        );
        assert!(complaint.contains("error: "), "{complaint}");
        assert_eq!(
            files(&laboratory),
            ["many.csv", "small.toml", "towns.csv", "towns.db"]
        );
        let now = std::fs::read(laboratory.path().join("towns.db")).unwrap();
        assert!(now == before, "{database} {mode}");
    }
}

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
        .says(&["2 rows into t", "way: pages"]);
    assert_eq!(
        dump(
            &laboratory,
            "a.db",
            "SELECT id, name, open, tags, area, typeof(tags) FROM t"
        ),
        "1|Bonn|1|[\"a\", 1.50]|NULL|text\n2|NULL|0|NULL|95.99|null"
    );
    laboratory.write("b.jsonl", "{\"id\": 1}\n\n{\"id\": 2\n");
    laboratory
        .pragmark(&["load", "b.jsonl", "b.db", "--table", "t"])
        .exits(3)
        .complains(&["b.jsonl, line 3: it is no JSON object", "--on-error skip"]);
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
    load(&["a.csv", "b.csv"], "ab.db")
        .exits(0)
        .says(&["3 rows"]);
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
            .pragmark(&[
                "load",
                &csv,
                &database,
                "--table",
                "t",
                "--on-error",
                "skip",
            ])
            .exits(0);
    }
    std::fs::hard_link(
        laboratory.path().join("b.db"),
        laboratory.path().join("link.db"),
    )
    .unwrap();
    let before = std::fs::read(laboratory.path().join("b.db")).unwrap();
    let names = files(&laboratory);
    let refused = |arguments: &[&str], words: &str| {
        let arguments = [
            &["load"],
            arguments,
            &["--table", "u", "--on-error", "skip"],
        ]
        .concat();
        laboratory
            .pragmark(&arguments)
            .exits(2)
            .complains(&[words, "name another file"]);
    };
    let target = "is both an input and the database to load into";
    refused(&["a.db", "b.db", "b.db"], target);
    refused(&["a.db", "b.db", "link.db"], target);
    let rejects = "is both an input and the file for rejected rows";
    refused(&["a.csv", "new.db", "--rejects", "a.csv"], rejects);
    refused(
        &["a.csv", "b.csv", "new.db", "--rejects", "./b.csv"],
        rejects,
    );
    let both = "is both the database to load into and the file for rejected rows";
    refused(&["a.csv", "b.db", "--rejects", "b.db"], both);
    refused(&["a.csv", "new.db", "--rejects", "new.db"], both);
    assert_eq!(files(&laboratory), names);
    assert_eq!(
        std::fs::read(laboratory.path().join("b.db")).unwrap(),
        before
    );
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
    load(&[]).exits(3).complains(&[
        "latin.csv, row 1, column name: it is not valid UTF-8",
        "--encoding",
    ]);
    load(&["--encoding", "no-such"])
        .exits(2)
        .complains(&["no encoding"]);
    load(&["--encoding", "latin1"]).exits(0);
    assert_eq!(
        dump(&laboratory, "latin.db", "SELECT name FROM t"),
        "Liège\ncafé"
    );
    let utf_16: Vec<u8> = "\u{feff}name\n\u{1d11e}\n"
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    std::fs::write(laboratory.path().join("wide.csv"), utf_16).unwrap();
    laboratory
        .pragmark(&["load", "wide.csv", "wide.db", "--table", "t"])
        .exits(0);
    assert_eq!(
        dump(&laboratory, "wide.db", "SELECT name FROM t"),
        "\u{1d11e}"
    );
}

#[test]
fn another_database_is_read_by_table_or_query() {
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
        ])
        .exits(0);
    laboratory
        .pragmark(&[
            "load",
            "towns.db",
            "copy.db",
            "--table",
            "copied",
            "--primary-key",
            "id",
        ])
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
            "--query",
            "SELECT name, length(name) AS length FROM towns WHERE id < 3",
        ])
        .exits(0)
        .says(&["2 rows into names"]);
    assert_eq!(
        dump(&laboratory, "copy.db", "SELECT * FROM names"),
        "Bonn|4\nLinz, Donau|11"
    );
    laboratory
        .pragmark(&["load", "copy.db", "new.db", "--table", "t"])
        .exits(3)
        .complains(&["several tables", "copied, names", "--from-table"]);
    laboratory
        .pragmark(&[
            "load",
            "copy.db",
            "copy.db",
            "--table",
            "t",
            "--from-table",
            "names",
        ])
        .exits(2)
        .complains(&["copy.db is both an input and the database to load into"]);
}

#[test]
fn a_full_text_index_finds_what_was_loaded() {
    let laboratory = Laboratory::new();
    laboratory.write("towns.csv", TOWNS);
    let load = |more: &[&str]| {
        let arguments = [
            &[
                "load",
                "towns.csv",
                "towns.db",
                "--table",
                "towns",
                "--fts",
                "name",
                "--check",
            ],
            more,
        ];
        laboratory.pragmark(&arguments.concat())
    };
    load(&["--page-size", "8192"])
        .exits(0)
        .says(&["full-text index: towns_fts", "way: pages"]);
    let found = "SELECT id FROM towns WHERE rowid IN (SELECT rowid FROM towns_fts('donau'))";
    assert_eq!(dump(&laboratory, "towns.db", found), "2");
    assert_eq!(dump(&laboratory, "towns.db", "PRAGMA page_size"), "8192");
    load(&["--replace"]).exits(0);
    assert_eq!(dump(&laboratory, "towns.db", found), "2");
    load(&["--replace", "--fts-table", "towns"])
        .exits(3)
        .complains(&["already"]);
    load(&["--replace", "--fts", "nothing"])
        .exits(2)
        .complains(&["no column nothing"]);
}

#[test]
fn the_share_of_the_disk_is_measured_when_asked_for() {
    let laboratory = Laboratory::new();
    laboratory.write("towns.csv", TOWNS);
    laboratory
        .pragmark(&[
            "load",
            "towns.csv",
            "towns.db",
            "--table",
            "towns",
            "--measure-disk",
        ])
        .exits(0)
        .says(&["disk: ", "% of the", "raw writes"]);
    assert_eq!(files(&laboratory), ["small.toml", "towns.csv", "towns.db"]);
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

/// The comparison of tools with few rows, and without the tools of which a test cannot know whether they
/// are installed.
const FEW_TOOLS: &str = r#"
id = "few-tools"
question = "How fast do tools load a file?"
workload = "load-file"
base = { rows = 5_000 }
factors = { tool = ["pragmark-pages", "pragmark-arrays", "pandas"] }
[design]
kind = "one-at-a-time"
baseline = { tool = "pragmark-pages" }
stopping = { rounds = 3, max_rounds = 3 }
"#;

#[test]
fn tools_that_load_are_compared_and_one_that_is_missing_is_skipped_with_how_to_get_it() {
    let laboratory = Laboratory::new();
    laboratory.write("tools.toml", FEW_TOOLS);
    laboratory
        .pragmark_with_variables(
            &[("PRAGMARK_PYTHON", "/no/such/python")],
            &["run", "tools.toml", "--out", "run"],
        )
        .exits(0);
    let outcomes = |variant: &str| {
        let variant = format!("tool={variant}");
        let trials = laboratory.trials("run");
        let of_variant = trials
            .into_iter()
            .filter(move |trial| trial["variant"] == *variant);
        of_variant
            .map(|trial| trial["outcome"].clone())
            .collect::<Vec<_>>()
    };
    for variant in ["pragmark-pages", "pragmark-arrays"] {
        let outcomes = outcomes(variant);
        assert!(outcomes.len() >= 3, "{variant}: {outcomes:?}");
        for outcome in outcomes {
            let measured = &outcome["measured"];
            let metrics = &measured["metrics"];
            for metric in ["seconds", "rows_per_s", "db_bytes"] {
                assert!(metrics[metric].as_f64().unwrap() > 0.0, "{metric}");
            }
            let version = measured["tables"][0]["rows"][0][0].as_str().unwrap();
            assert!(version.starts_with("pragmark"), "{version}");
        }
    }
    for outcome in outcomes("pandas") {
        let why = outcome["skipped"]["why"].as_str().unwrap();
        for part in ["/no/such/python", "pip install pandas", "PRAGMARK_PYTHON"] {
            assert!(why.contains(part), "{why}");
        }
    }
}
