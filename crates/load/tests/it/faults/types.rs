//! Values behind the rows from which the types of columns are chosen.

use pragmark_load::{
    Column, CsvOptions, CsvSource, Fault, Input, JsonLinesSource, JsonOptions, LoadError, Mode,
    OnError, Opening, Request, Summary, load, open,
};

use crate::faults::{Workspace, library, run};

/// More rows than the types are chosen from, and a last one.
fn late(first: &str, last: &str) -> String {
    format!("v,w\n{}{last},x\n", format!("{first},x\n").repeat(10_500))
}

/// Loads what can be read only once.
fn run_once(text: String, request: &Request) -> Result<Summary, LoadError> {
    let mut source =
        CsvSource::open(Input::from_bytes("pipe", text.into_bytes()), CsvOptions::default())?;
    load(&library(), &mut source, request, &mut |_| true)
}

const CHANGED: [(&str, &str, &str); 17] = [
    ("1", "01234", "INTEGER"),
    ("1", "-01", "INTEGER"),
    ("1", "12345678901234567890", "INTEGER"),
    ("1", "+49", "INTEGER"),
    ("1", " 7", "INTEGER"),
    ("1", "0123.50", "INTEGER"),
    ("1.5", "0123.50", "REAL"),
    ("1.5", "+0.5", "REAL"),
    ("1.5", "\"00\"", "REAL"),
    ("1.5", "9007199254740993", "REAL"),
    ("1.5", "-9007199254740993", "REAL"),
    ("1.5", "12345678901234567890", "REAL"),
    ("1.5", "12345678901234567890.5", "REAL"),
    ("1.5", "9007199254740993.5", "REAL"),
    ("1.5", "1e309", "REAL"),
    ("1", "12E3", "INTEGER"),
    ("1", "0.123456789012345678", "INTEGER"),
];

#[test]
fn a_value_that_the_type_would_change_makes_the_column_text() {
    for (first, last, _) in CHANGED {
        let workspace = Workspace::new();
        let summary =
            run(&workspace.write("a.csv", late(first, last)), &workspace.request()).unwrap();
        let why = summary.why_reread.unwrap();
        assert!(why.contains("row 10501, column v"), "{why}");
        let expected = [format!("text|{first}"), format!("text|{}", last.trim_matches('"'))];
        let found = workspace.rows("SELECT DISTINCT typeof(v), v FROM t ORDER BY rowid");
        assert_eq!(found, expected);
    }
}

#[test]
fn where_rows_can_be_read_only_once_the_row_and_its_value_are_named() {
    for (first, last, declared) in CHANGED {
        let workspace = Workspace::new();
        let mut request = workspace.request();
        for on_error in [OnError::Fail, OnError::Skip] {
            request.on_error = on_error;
            let error = run_once(late(first, last), &request).unwrap_err();
            let value = last.trim_matches('"');
            let expected = format!(
                "pipe, row 10501, column v: the type {declared}, chosen from the first rows, would change the value `{value}`"
            );
            assert_eq!(error.to_string(), expected);
            assert!(!workspace.database().exists());
        }
    }
}

#[test]
fn what_the_type_leaves_as_it_is_is_loaded_in_one_go() {
    for (first, last, expected) in [
        ("1", "abc", "text|abc"),
        ("1", "1.5", "real|1.5"),
        ("1", "0", "integer|0"),
        ("1", "", "null|NULL"),
        ("1", "1-2", "text|1-2"),
        ("1.5", "0.25", "real|0.25"),
        ("1.5", "9007199254740992", "real|9007199254740992.0"),
        ("1.5", "0.30000000000000004", "real|0.30000000000000004"),
        ("1.5", "1.5e-7", "real|1.5e-7"),
        ("1", "5.0", "integer|5"),
        ("1", "1.0e3", "integer|1000"),
        ("a", "007", "text|007"),
    ] {
        let workspace = Workspace::new();
        let summary = run_once(late(first, last), &workspace.request()).unwrap();
        assert_eq!(summary.why_reread, None);
        let sql = "SELECT typeof(v), v FROM t ORDER BY rowid DESC LIMIT 1";
        assert_eq!(workspace.rows(sql), [expected], "{last}");
    }
}

#[test]
fn a_declared_type_converts_as_sqlite_does() {
    let workspace = Workspace::new();
    let mut request = workspace.request();
    request.table.types = vec![Column::new("V", "INTEGER")];
    run_once(late("1", "01234"), &request).unwrap();
    request.mode = Mode::Append;
    run_once(late("1", "05"), &request).unwrap();
    let sql = "SELECT DISTINCT typeof(v), v FROM t ORDER BY rowid";
    assert_eq!(workspace.rows(sql), ["integer|1", "integer|1234", "integer|5"]);
}

#[test]
fn refusing_null_does_not_declare_a_type() {
    let workspace = Workspace::new();
    let mut request = workspace.request();
    request.table.not_null = vec!["v".to_owned()];
    run_once(late("1", "01234"), &request).unwrap_err();
    run(&workspace.write("a.csv", late("1", "01234")), &request).unwrap();
    let schema = workspace.rows("SELECT sql FROM sqlite_master WHERE name = 't'");
    assert_eq!(schema, ["CREATE TABLE \"t\" (\"v\" TEXT NOT NULL, \"w\" TEXT)"]);
}

#[test]
fn a_column_that_begins_empty_has_the_type_of_its_values() {
    for (value, declared, stored) in
        [("5", "INTEGER", "integer"), ("0.5", "REAL", "real"), ("05", "TEXT", "text")]
    {
        let workspace = Workspace::new();
        let summary =
            run(&workspace.write("a.csv", late("", value)), &workspace.request()).unwrap();
        assert!(summary.why_reread.is_some());
        let last = format!("{stored}|{value}");
        assert_eq!(
            workspace.rows("SELECT DISTINCT typeof(v), v FROM t WHERE v IS NOT NULL"),
            [last]
        );
        let found = workspace.rows("SELECT type FROM pragma_table_info('t')");
        assert_eq!(found, [declared, "TEXT"]);
        // It stays text where it is too late to choose, and nothing is lost.
        let workspace = Workspace::new();
        run_once(late("", value), &workspace.request()).unwrap();
        let last = format!("text|{value}");
        assert_eq!(workspace.rows("SELECT typeof(v), v FROM t WHERE v IS NOT NULL"), [last]);
    }
}

#[test]
fn values_of_json_keep_their_digits_and_their_types() {
    let late = |first: &str, last: &str| {
        let first = format!("{{\"v\": {first}, \"w\": 1}}\n").repeat(10_500);
        format!("{first}{{\"v\": {last}}}\n")
    };
    for (first, last, expected) in [
        ("1", "12345678901234567890", ["text|1", "text|12345678901234567890"]),
        ("1", "\"01234\"", ["text|1", "text|01234"]),
        ("1.5", "\"2\"", ["text|1.5", "text|2"]),
        ("1.5", "9007199254740993", ["text|1.5", "text|9007199254740993"]),
        ("null", "7", ["null|NULL", "integer|7"]),
    ] {
        let workspace = Workspace::new();
        let summary =
            run(&workspace.write("a.jsonl", late(first, last)), &workspace.request()).unwrap();
        assert!(summary.why_reread.unwrap().contains("line 10501, column v"));
        let found = workspace.rows("SELECT DISTINCT typeof(v), v FROM t ORDER BY rowid");
        assert_eq!(found, expected);
    }
    let workspace = Workspace::new();
    let input = Input::from_bytes("pipe", late("1", "\"01234\"").into_bytes());
    let mut source = JsonLinesSource::open(input, &JsonOptions::default()).unwrap();
    let error = load(&library(), &mut source, &workspace.request(), &mut |_| true).unwrap_err();
    let LoadError::Row { fault, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(fault, Fault::Type("INTEGER", "01234".to_owned()));
}

#[test]
fn a_text_among_the_numbers_of_json_is_named_whether_it_stays_alone_or_makes_all_of_them_texts() {
    let json = |last: &str| {
        let numbers = "{\"v\": 1, \"w\": 2}\n".repeat(10_500);
        format!("{numbers}{{\"v\": \"oops\"}}\n{{\"v\": [7]}}\n{last}")
    };
    let csv = format!("v,w\n{}oops,2\n01,01\n", "1,2\n".repeat(10_500));
    let texts = "warning: 2 values of column v are no numbers and stayed text, such as `oops`";
    let decided = |value: &str, row: &str| {
        format!("warning: column v is TEXT because of `{value}` ({row} 10501)")
    };
    for (name, text, declared, expected) in [
        ("a.json", json(""), None, texts.to_owned()),
        ("a.json", json(""), Some("INTEGER"), texts.to_owned()),
        ("a.json", json(""), Some("BOOLEAN"), texts.replace("number", "truth value")),
        ("a.json", json("{\"late\": 1}\n"), None, decided("\"oops\"", "a.json, line")),
        ("a.json", json("{\"late\": 1}\n"), Some("INTEGER"), texts.to_owned()),
        ("a.csv", csv.replace("01,01", "1,01"), None, decided("oops", "a.csv, row")),
    ] {
        let workspace = Workspace::new();
        let mut request = workspace.request();
        request.table.types =
            declared.map(|declared| Column::new("v", declared)).into_iter().collect();
        let notes = run(&workspace.write(name, text), &request).unwrap().notes;
        let warnings =
            notes.iter().map(ToString::to_string).filter(|note| note.starts_with("warning"));
        let folder = workspace.path("").display().to_string();
        let warnings: Vec<String> = warnings.map(|note| note.replace(&folder, "")).collect();
        assert_eq!(warnings, [expected]);
    }
}

#[test]
fn one_of_several_inputs_can_change_the_type_of_all() {
    let workspace = Workspace::new();
    let inputs = [
        workspace.write("a.csv", "v,w\n1,\n"),
        workspace.write("b.csv", late("2", "03").replace("v,w", "w,v")),
        workspace.write("c.csv", late("3", "4").replace("v,w", "w,v")),
    ];
    let mut source = open(&inputs, &Opening::new(&library())).unwrap();
    let summary = load(&library(), &mut *source, &workspace.request(), &mut |_| true).unwrap();
    let why = summary.why_reread.unwrap();
    assert!(why.contains("b.csv, row 10501, column w"), "{why}");
    assert_eq!(summary.rows, 2 * 10_501 + 1);
    let found =
        workspace.rows("SELECT DISTINCT typeof(w), w FROM t WHERE w IS NOT NULL ORDER BY rowid");
    assert_eq!(found, ["text|2", "text|03", "text|3", "text|4"]);
    assert_eq!(source.info().columns.len(), 2);
}

#[test]
fn integers_of_one_input_that_the_reals_of_another_would_round_make_a_text() {
    let (reals, integers) = (late("0.5", "0.25"), late("1", "9007199254740993"));
    for (first, second) in [(&reals, &integers), (&integers, &reals)] {
        let workspace = Workspace::new();
        let inputs = [workspace.write("a.csv", first), workspace.write("b.csv", second)];
        let mut source = open(&inputs, &Opening::new(&library())).unwrap();
        let summary = load(&library(), &mut *source, &workspace.request(), &mut |_| true).unwrap();
        assert!(summary.why_reread.unwrap().contains("9007199254740993"));
        let expected = ["text|0.25", "text|0.5", "text|1", "text|9007199254740993"];
        let sql = "SELECT DISTINCT typeof(v), v FROM t ORDER BY v";
        assert_eq!(workspace.rows(sql), expected);
    }
}

#[test]
fn choosing_types_again_can_be_interrupted() {
    let workspace = Workspace::new();
    let input = workspace.write("a.csv", late("1", "01"));
    let mut source = open(&[input], &Opening::new(&library())).unwrap();
    let mut types = false;
    let stopped = load(&library(), &mut *source, &workspace.request(), &mut |progress| {
        types |= progress.phase == pragmark_load::Phase::Types;
        !types
    });
    assert!(matches!(stopped, Err(LoadError::Interrupted)));
    assert!(!workspace.database().exists());
}
