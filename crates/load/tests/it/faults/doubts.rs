//! Files that can be read in two ways: the one that was chosen is said, with the option for the other one.

use pragmark_load::{Column, CsvOptions, LoadError, Mode, Note, Opening, Selection};

use crate::faults::layouts::{has, loaded};
use crate::faults::{Workspace, library, refused, run_as};

fn opening() -> Opening {
    Opening::new(&library())
}

fn notes(name: &str, text: &str) -> Vec<Note> {
    loaded(name, text, &opening()).1
}

#[test]
fn every_doubt_names_the_option_that_reads_the_file_otherwise() {
    for (text, words) in [
        ("id,x\n1,NA\n2,-\n3,5\n", "are texts in x; --null '-' --null 'NA' reads"),
        ("id,x\n1,\n2,n/a\n3,5\n", "--null 'n/a' --null '' reads"),
        ("id,x\n1,\\N\n2,ab\n", "--null '\\N' reads"),
        ("id,x\n1,#DIV/0!\n2,3\n", "--null '#DIV/0!' reads"),
        ("# by x\n# v 1\nid,v\n1,2\n3,4\n", "skipped: 2 lines before the header"),
        ("name,len\n,(mm)\na,2.5\nb,3.5\n", "--header 2"),
        (",2019,2019\nname,q1,q2\nx,1,2\ny,3,4\n", "--header 2"),
        ("id,t\n1,a\nid,t\n2,b\n", "repeats the header"),
        ("1,2024-01-01,x\n2,2024-01-02,y\n", "--header 0"),
        ("Ann,2024-01-01\nBob,2024-01-02\n", "--header 0"),
        ("id,t\n1,a\n2,b\n\nSource: Bureau of X, 2024\n", "--skip-lines 0,1"),
        ("id,t\n1,a\n2,b\n,\n,\n", "the last rows have no value; --skip-lines 0,2"),
        ("id,name\n1,'a'\n2,'c'\n", "--quote \"'\""),
        ("a:b\n1:x\n2:y\n", "--delimiter ':'"),
        ("ID   NAME\n01   Smith\n02   Li\n", "columns of fixed width"),
        ("a,b\n--,---\n1,2\n", "skipped: a line of dashes"),
        ("a;b,c\n1;2,3\n4;5,6\n", "every row has `,` equally often; --delimiter ','"),
        ("id,x\n1,\"1,23,456.5\"\n", "such as `1,23,456.5`, which --number 1,234.5 reads"),
        ("id,x\n1, 5\n2,7\n", "such as ` 5`, which --number 1,234.5 reads"),
        ("id,x\n1,5\nTotal: all,5\n", "looks like a total"),
        ("id,x\n1,1e5\n2,2\n", "such as `1e5`, which --type COLUMN=REAL reads as numbers"),
        ("id,x\n1,0.1234567890123456789\n2,2\n", "which --type COLUMN=REAL reads"),
        ("id,x\n1,--\n2,2\n", "--null='--' reads"),
        ("x\n1\n\n2\n", "empty lines were left out"),
        ("id\tt\n1\ta\\tb\n2\t\\N\n", "escapes such as `a\\tb`, which stay"),
        ("id,t\n1,a\n\u{feff}id,t\n2,b\n", "a row repeats the header"),
        ("id,t\n1,a\n\u{feff}2,b\n", "a row begins with a byte order mark"),
        ("\"id\",\"x\"\n\"1\",\"5\"\n\"2\",\"\"\n", "--null '\"\"' reads"),
        ("id,x\n1,5\n2,\u{a0}\n3,—\n", "--null '\u{a0}' --null '—' reads"),
        ("# by x, y\nid,v\n1,2\n3,4\n", "--comment '#'"),
        ("id,x\n1,1.5\n2,-inf\n3,NaN\n", "such as `-inf`, which --number 1,234.5"),
        ("id,zip\n1,=\"00123\"\n2,5\n", "such as `=\"00123\"`, which stay"),
        ("id,zip\n1,\"=\"\"00123\"\"\"\n2,5\n", "such as `=\"00123\"`, which stay"),
        (
            "a||b||c\n1||x||2\n",
            "column2, column4 have neither a name nor a value in the first rows; --select 'a,b,c'",
        ),
        (
            "id,paid,ok\n1,TRUE,Y\n2,,N\n3,false,Y\n",
            "in paid, ok, which conditions take for false; --type COLUMN=BOOLEAN makes",
        ),
    ] {
        let notes = notes("a.csv", text);
        assert!(has(&notes, words), "{text}: {notes:?}");
    }
}

#[test]
fn a_form_of_numbers_that_reads_no_value_is_missed() {
    let number = Some("1.234,5".parse().unwrap());
    let opening = Opening { csv: CsvOptions { number, ..CsvOptions::default() }, ..opening() };
    let (rows, notes) = loaded("a.csv", "a;b;c\n1.5;1,5;x\n2.25;2;y\n", &opening);
    assert_eq!(rows, ["1.5|1.5|x", "2.25|2.0|y"]);
    assert!(has(&notes, "column a has texts such as `1.5`, which --number 1,234.5"), "{notes:?}");
    assert!(!has(&notes, "column b") && !has(&notes, "column c"), "{notes:?}");
}

#[test]
fn units_that_are_left_out_and_texts_of_another_encoding_are_noticed() {
    for (text, has_doubt) in [("x\n$5\n€6\n", true), ("x\n12%\n$5\n", true), ("x\n$5\n6\n", false)]
    {
        let csv = CsvOptions { number: Some("1,234.5".parse().unwrap()), ..CsvOptions::default() };
        let (_, notes) = loaded("a.csv", text, &Opening { csv, ..opening() });
        assert_eq!(has(&notes, "which --number leaves out"), has_doubt, "{text}: {notes:?}");
    }
    for (text, has_doubt) in [("a\né\n", true), ("\u{feff}a\nx\n", true), ("a\nx\n", false)] {
        let encoding = Some("windows-1252".parse().unwrap());
        let (_, notes) = loaded("a.csv", text, &Opening { encoding, ..opening() });
        assert_eq!(has(&notes, "--encoding utf-8 reads"), has_doubt, "{text}: {notes:?}");
    }
}

#[test]
fn numbers_that_lose_digits_in_a_declared_column_are_noticed() {
    for (value, is_rounded) in [
        ("12345678901234567890", true),
        ("1e400", true),
        ("9223372036854775807", false),
        ("007", false),
    ] {
        let workspace = Workspace::new();
        let mut request = workspace.request();
        request.table.types = vec![Column::new("n", "NUMERIC")];
        let input = workspace.write("a.csv", format!("n\n{value}\n1.50\n"));
        let notes = run_as(&input, &request, &opening()).unwrap().notes;
        assert_eq!(has(&notes, "column n do not fit 64 bits"), is_rounded, "{value}: {notes:?}");
        assert!(!has(&notes, "--type"), "{value}: {notes:?}");
    }
}

#[test]
fn lines_of_dashes_around_the_header_are_no_rows() {
    for text in [
        "id,n\n--,---\n-1,a\n2,b\n",
        " id | n \n----+---\n -1 | a\n  2 | b\n(2 rows)\n\n",
        "+----+---+\r\nid | n\r\n+----+---+\r\n-1 | a\r\n2 | b\r\n",
    ] {
        let csv = CsvOptions { trim: true, ..CsvOptions::default() };
        assert_eq!(loaded("a.csv", text, &Opening { csv, ..opening() }).0, ["-1|a", "2|b"]);
    }
}

#[test]
fn telephone_numbers_are_no_doubt() {
    for (last, has_doubt) in [("+4979542916", false), ("1.234.567", true)] {
        let notes = notes("a.csv", &format!("id,t\n1,+4930123456\n2,{last}\n"));
        assert_eq!(has(&notes, "--number"), has_doubt, "{notes:?}");
    }
}

#[test]
fn empty_texts_in_quotes_and_infinities_are_read_as_they_are_said_to_be() {
    let csv = CsvOptions {
        null: vec!["\"\"".to_owned(), "NaN".to_owned()],
        number: Some("1,234.5".parse().unwrap()),
        ..CsvOptions::default()
    };
    let text = "\"i\",\"x\",\"t\"\n\"1\",\"-inf\",\"\"\n\"\",\"Infinity\",\"a\"\n2,NaN,\"b\"\n";
    let opening = Opening { csv, ..opening() };
    let workspace = Workspace::new();
    run_as(&workspace.write("a.csv", text), &workspace.request(), &opening).unwrap();
    assert_eq!(
        workspace.rows("SELECT i, x, t, typeof(i) || typeof(x) FROM t"),
        ["1|-inf|NULL|integerreal", "NULL|inf|a|nullreal", "2|NULL|b|integernull"]
    );
}

#[test]
fn words_for_true_and_false_become_1_and_0_where_the_type_is_declared() {
    let workspace = Workspace::new();
    let mut request = workspace.request();
    request.table.types = ["a", "b"].map(|name| Column::new(name, "BOOLEAN")).to_vec();
    let text = "a,b,c\ntrue,Y,true\nFALSE,\"n\",false\n,1,true\nt,maybe,false\n";
    let loaded = run_as(&workspace.write("a.csv", text), &request, &opening()).unwrap();
    let rows = workspace.rows("SELECT a, b, c, typeof(a) || typeof(b) FROM t");
    let expected = [
        "1|1|true|integerinteger",
        "0|0|false|integerinteger",
        "NULL|1|true|nullinteger",
        "1|maybe|false|integertext",
    ];
    assert_eq!(rows, expected);
    let notes: Vec<String> = loaded.notes.iter().map(ToString::to_string).collect();
    assert!(notes.iter().any(|note| note.contains("texts in c,")), "{notes:?}");
    let mut request = workspace.again();
    request.table.types = vec![Column::new("a", "BOOLEAN")];
    request.table.strict = true;
    run_as(&workspace.write("b.csv", "a\nN\nyes\n"), &request, &opening()).unwrap();
    assert_eq!(workspace.rows("SELECT a, typeof(a) FROM t"), ["0|integer", "1|integer"]);
    assert!(
        notes.iter().any(|note| note.contains("column b, `maybe`, is no truth value")),
        "{notes:?}"
    );
}

#[test]
fn words_for_true_and_false_become_1_and_0_in_a_boolean_column_that_is_there() {
    for (file, text) in [
        ("a.csv", "id,paid,t\n1,true,no\n2,No,true\n3,maybe,\n"),
        (
            "a.jsonl",
            "{\"id\": 1, \"paid\": true, \"t\": \"no\"}\n{\"id\": 2, \"paid\": \"No\", \"t\": \"true\"}\n\
             {\"id\": 3, \"paid\": \"maybe\", \"t\": null}\n",
        ),
    ] {
        let workspace = Workspace::new();
        let table = "CREATE TABLE t(id INTEGER PRIMARY KEY, paid BOOLEAN, t TEXT)";
        workspace.connection().execute(table).unwrap();
        let mut request = workspace.request();
        request.mode = Mode::Append;
        run_as(&workspace.write(file, text), &request, &opening()).unwrap();
        let rows = workspace.rows("SELECT id, paid, typeof(paid), t FROM t");
        assert_eq!(rows, ["1|1|integer|no", "2|0|integer|true", "3|maybe|text|NULL"], "{file}");
    }
}

#[test]
fn a_late_text_among_numbers_is_counted() {
    let text = format!("id,x\n{}3,n/a\n4,-\n", "1,2\n".repeat(20_000));
    let notes = notes("a.csv", &text);
    let counted = Note::Texts {
        column: "x".to_owned(),
        wanted: "number",
        values: 2,
        value: "n/a".to_owned(),
    };
    assert!(notes.contains(&counted), "{notes:?}");
}

#[test]
fn files_without_a_doubt_raise_none() {
    for text in [
        "id,2019,2020\na,1,2\nb,3,4\n",
        "id,t\n1,a\n2,b\n",
        "time,x\n12:30,1\n12:40,2\n",
        "id,t\n1,\"a\n\nb\"\n2,\"c\n\nd\"\n",
        "name\nAnn\nBob\n",
        "url\nhttp://a\nhttp://b\n",
        "id,grade\n1,A\n2,-\n3,B\n",
        "day,x\n2024-01-01,1\n2024-01-02,2\n",
        "id,x\n1,\n2,5\n",
        "code,x\na,1\n",
        "it's,x\n1,'\n",
        "a,b\n\n1,x\n\n2,y\n\n3,z\n",
        "name\nname\nAnn\n",
        "\n\nname\r\nAnn\r\nBob\r\n\r\n",
        "a,b\r\r\n1,x\r\r\n2,y\r\r\n",
        "a,b\r\r\n1,x\r\r\n2,y\r\r\n3,z\r\r\n",
        "zip\n01234\n90210\n10001\n",
        "id\n12345678901234567890\n9223372036854775807\n",
        "zip,t\n1e5,+491\n012,+492\n",
        "d\n\"Tue, 31 Dec 2024\"\n\"Wed, 01 Jan 2025\"\n",
        "a,b\n1,\"x;y\"\n2,\"y;z\"\n",
    ] {
        let warnings: Vec<String> = notes("a.csv", text)
            .iter()
            .filter(|note| matches!(note, Note::Warning(_)))
            .map(ToString::to_string)
            .collect();
        assert_eq!(warnings, [""; 0], "{text}");
    }
}

#[test]
fn rare_delimiters_are_found_and_several_words_mean_null() {
    for divider in ['^', '~', '\u{1}', '\u{1f}'] {
        let text = "id,n,z\n1,x,2\n2,y,3\n".replace(',', &divider.to_string());
        assert_eq!(loaded("a.csv", text, &opening()).0, ["1|x|2", "2|y|3"]);
    }
    assert_eq!(loaded("a.csv", "a^2,b^2\n1,2\n3,4\n", &opening()).0, ["1|2", "3|4"]);
    let null = ["NA", "-", ""].map(str::to_owned).to_vec();
    let opening = Opening { csv: CsvOptions { null, ..CsvOptions::default() }, ..opening() };
    let (rows, notes) = loaded("a.csv", "id,x\n1,NA\n2,-\n3,5\n4,\n", &opening);
    assert_eq!(rows, ["1|NULL", "2|NULL", "3|5", "4|NULL"]);
    assert!(!has(&notes, "--null"), "{notes:?}");
}

#[test]
fn rows_of_json_may_be_arrays() {
    for text in ["[[1,\"a\"],\n[2, null]]", "[1,\"a\"]\n[2,null]\n"] {
        assert_eq!(loaded("a.json", text, &opening()).0, ["1|a", "2|NULL"], "{text}");
    }
    let (rows, notes) = loaded("a.json", "[[\"id\",\"n\"],[1,\"a\"],[2,\"b\"]]", &opening());
    assert_eq!(rows, ["1|a", "2|b"]);
    assert!(has(&notes, "--header 0"), "{notes:?}");
    let none = CsvOptions { header: 0, ..CsvOptions::default() };
    let (rows, _) = loaded("a.json", "[[\"x\",\"y\"]]", &Opening { csv: none, ..opening() });
    assert_eq!(rows, ["x|y"]);
    let split = "{\"columns\":[\"a\",\"b\"],\"data\":[[1,2],[3,4]]}";
    let data = Opening { selection: Selection::of("data"), ..opening() };
    assert_eq!(loaded("a.json", split, &data).0, ["1|2", "3|4"]);
    let workspace = Workspace::new();
    let refused = |text: &str| refused(&workspace.write("a.json", text), &workspace.request());
    assert!(refused("\"hello\"").contains("not a JSON object"));
    assert!(refused("[1, 2, 3]").contains("one array of values"));
    assert!(refused("[[1,2],[3]]").contains("an array of 1 values instead of 2"));
    for text in [split, "{\"a\":[1,2],\"b\":[3,4]}"] {
        assert!(refused(text).contains("a list or object for each column"), "{text}");
    }
}

#[test]
fn dates_that_are_not_there_are_missed() {
    let dated = Opening { dates: Some(Default::default()), ..opening() };
    let (_, notes) = loaded("a.csv", "id,d\n1,x\n2,y\n", &dated);
    assert!(has(&notes, "found no column of dates"), "{notes:?}");
    let csv = CsvOptions { null: vec!["NULL".to_owned()], ..CsvOptions::default() };
    let named = Opening { csv, ..dated.clone() };
    let empty = "first rows; column d has an empty text beside `31.12.2023`";
    for (values, expected) in [
        ("31.12.2023\n2,01.02.2024\n3,\n", empty),
        ("\n2,31.12.2023\n", empty),
        ("01/02/2024\n2,25/06/2024\n3,06/25/2024\n", "`06/25/2024` beside `25/06/2024`"),
        ("2024-01-01\n2,2024-01-01 10:00\n3,x\n", "`2024-01-01 10:00` beside `2024-01-01`"),
    ] {
        let (_, notes) = loaded("a.csv", format!("id,d\n1,{values}"), &named);
        assert!(has(&notes, expected), "{notes:?}");
        let is_empty = expected == empty;
        assert_eq!(has(&notes, "--null '' reads them as NULL too"), is_empty, "{notes:?}");
    }
    let (_, notes) = loaded("a.csv", "id,d\n1,31.12.2024\n", &dated);
    assert!(!has(&notes, "found no"), "{notes:?}");
}

#[test]
fn what_is_no_file_is_no_database() {
    let workspace = Workspace::new();
    let input = workspace.write("a.csv", "a\n1\n");
    for name in [":memory:", "file:x?mode=memory"] {
        let mut request = workspace.request();
        request.database = name.into();
        assert!(refused(&input, &request).contains("no path of a file"), "{name}");
    }
}

#[test]
fn a_table_too_wide_for_sqlite_is_made_long() {
    let workspace = Workspace::new();
    let names: Vec<String> = (0..2_500).map(|at| format!("c{at}")).collect();
    let values: Vec<String> = (0..2_500).map(|at| at.to_string()).collect();
    let text = format!("id,{}\nx,{}\ny{}\n", names.join(","), values.join(","), ",".repeat(2_500));
    let input = workspace.write("a.csv", text);
    let wide = run_as(&input, &workspace.request(), &opening()).unwrap_err();
    assert!(matches!(wide, LoadError::TooManyColumns(2_501)), "{wide}");
    let long = Opening { long: vec!["id".to_owned()], ..opening() };
    run_as(&input, &workspace.request(), &long).unwrap();
    assert_eq!(
        workspace.rows("SELECT count(*), count(DISTINCT name), sum(value), max(id) FROM t"),
        ["2500|2500|3123750|x"]
    );
}

#[test]
fn values_made_long_keep_their_types_and_the_numbers_of_their_rows() {
    let workspace = Workspace::new();
    let long = Opening { long: vec!["id".to_owned()], ..opening() };
    let input = workspace.write("a.csv", "id,a,b\n1,5,2.5\n2,,x y\n3,7,007\n");
    run_as(&input, &workspace.request(), &long).unwrap();
    assert_eq!(
        workspace.rows("SELECT * FROM t"),
        ["1|a|5", "1|b|2.5", "2|b|x y", "3|a|7", "3|b|007"]
    );
    assert_eq!(
        workspace.rows("SELECT type FROM pragma_table_info('t')"),
        ["INTEGER", "TEXT", "TEXT"]
    );
    let mut request = workspace.request();
    request.table = pragmark_load::Table::new("u");
    request.table.not_null = vec!["id".to_owned()];
    request.database = workspace.path("b.db");
    let input = workspace.write("b.csv", "id,a,b\n1,5,2\n,3,4\n");
    let error = run_as(&input, &request, &long).unwrap_err().to_string();
    assert!(error.contains("b.csv, row 2"), "{error}");
    // A type that a later value changes is chosen again.
    let text = format!("id,a,b\n{}1,2,007\n", "1,2,3\n".repeat(10_500));
    let summary = run_as(&workspace.write("c.csv", text), &workspace.again(), &long).unwrap();
    assert!(summary.why_reread.is_some());
    assert_eq!(
        workspace.rows("SELECT value FROM t WHERE typeof(value) = 'text' AND value = '007'"),
        ["007"]
    );
}
