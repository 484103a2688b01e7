//! Files as people have them: lines that are no rows, blanks, numbers and quotes in other forms, documents of JSON.

use pragmark_load::{
    CsvOptions, Fault, Format, LoadError, Mode, Note, Opening, Selection, Summary, open, outline,
};

use crate::faults::{Workspace, library, refused, run, run_as};

fn with(csv: CsvOptions) -> Opening {
    Opening { csv, ..Opening::new(&library()) }
}

/// Loads a text, and returns the rows of the table, their values between bars, and the notes.
pub(super) fn loaded(
    name: &str,
    text: impl AsRef<[u8]>,
    opening: &Opening,
) -> (Vec<String>, Vec<Note>) {
    let workspace = Workspace::new();
    let Summary { notes, .. } =
        run_as(&workspace.write(name, text), &workspace.request(), opening).unwrap();
    (workspace.rows("SELECT * FROM t"), notes)
}

/// Returns whether a note has these words.
pub(super) fn has(notes: &[Note], words: &str) -> bool {
    notes.iter().any(|note| note.to_string().contains(words))
}

fn columns(name: &str, text: &str, opening: &Opening) -> Vec<String> {
    let workspace = Workspace::new();
    run_as(&workspace.write(name, text), &workspace.request(), opening).unwrap();
    workspace.rows("SELECT name, type FROM pragma_table_info('t')")
}

fn fault(name: &str, text: &str) -> Fault {
    let workspace = Workspace::new();
    match run(&workspace.write(name, text), &workspace.request()).unwrap_err() {
        LoadError::Row { fault, .. } => fault,
        error => panic!("{error}"),
    }
}

#[test]
fn the_line_with_which_excel_names_the_delimiter_is_no_header() {
    let opening = with(CsvOptions::default());
    for text in [
        "sep=;\nName;Qty\nfoo;1\n",
        "\"sep=,\"\r\nName,Qty\r\nfoo,1\r\n",
        "sep=\t\nName\tQty\nfoo\t1",
    ] {
        let (rows, notes) = loaded("a.csv", text, &opening);
        assert_eq!(rows, ["foo|1"], "{text}");
        assert!(has(&notes, "names the delimiter"), "{text}");
    }
    assert_eq!(columns("a.csv", "sep=;\nName\nfoo\n", &opening), ["Name|TEXT"]);
}

#[test]
fn lines_around_the_rows_are_left_out_and_totals_are_noted() {
    let text = "Report of 2026\n\na,b,\n1,x,\n2,y,\n(2 rows)\n";
    let (rows, notes) = loaded("a.csv", text, &with(CsvOptions::default()));
    assert_eq!(rows, ["1|x", "2|y"]);
    assert!(has(&notes, "skipped: the last line, `(2 rows)`"));
    assert!(has(&notes, "skipped: 1 line before the header, from `Report of 2026` on"));
    let text = "a,b\n1,x\nTotal,1\n\n";
    let (_, notes) = loaded("a.csv", text, &with(CsvOptions::default()));
    assert!(has(&notes, "`Total,1`, looks like a total"));
    let without = with(CsvOptions { skip_last: 1, ..CsvOptions::default() });
    assert_eq!(loaded("a.csv", text, &without).0, ["1|x"]);
    // A short last row may be half of one.
    assert!(matches!(fault("a.csv", "a,b\n1,x\n2"), Fault::Fields { found: 1, .. }));
}

#[test]
fn last_lines_are_left_out_wherever_blocks_end() {
    let without = with(CsvOptions { skip_last: 3, ..CsvOptions::default() });
    for length in 262_130..262_150 {
        let rows = "1,x\n".repeat(2 * length / 4);
        let text = format!(
            "a,b\n{rows}{}\nnote\n\n\"note\",1,2\n(9 rows)\n",
            "y".repeat(length % 16) + ",2"
        );
        let (found, _) = loaded("a.csv", text, &without);
        assert_eq!(found.len(), 2 * length / 4 + 1, "{length}");
    }
}

#[test]
fn a_delimiter_at_the_end_of_rows_makes_no_column_unless_it_has_a_value() {
    let opening = with(CsvOptions::default());
    assert_eq!(columns("a.csv", "a,b,\n1,2,\n", &opening), ["a|INTEGER", "b|INTEGER"]);
    assert_eq!(columns("a.csv", "a,b\n1,2,\n3,4,\n", &opening), ["a|INTEGER", "b|INTEGER"]);
    assert_eq!(columns("a.csv", "a,b,\n1,2,x\n", &opening).len(), 3);
    let late = format!("a,b,\n{}1,2,x\n", "1,2,\n".repeat(10_500));
    assert!(matches!(fault("a.csv", &late), Fault::Fields { found: 3, expected: 2, .. }));
}

#[test]
fn several_lines_of_a_header_are_joined_and_numbers_as_names_are_noted() {
    let two = with(CsvOptions { header: 2, ..CsvOptions::default() });
    let text = "id,2019,,2020\n,Q1,Q2,Q1\n1,2,3,4\n";
    assert_eq!(
        columns("a.csv", text, &two),
        ["id|INTEGER", "2019 Q1|INTEGER", "2019 Q2|INTEGER", "2020 Q1|INTEGER"]
    );
    let (_, notes) = loaded("a.csv", "1,2\n3,4\n", &with(CsvOptions::default()));
    assert!(has(&notes, "has only numbers"));
}

#[test]
fn blanks_next_to_delimiters_are_noted_and_trimmed() {
    let text = "name, place, n\nAnn, \"Oslo, Norway\", 1\nBob, \"Rome\" , 2\n";
    assert!(matches!(fault("a.csv", text), Fault::Fields { has_blanks: true, .. }));
    let trim = with(CsvOptions { trim: true, ..CsvOptions::default() });
    assert_eq!(loaded("a.csv", text, &trim).0, ["Ann|Oslo, Norway|1", "Bob|Rome|2"]);
    assert_eq!(columns("a.csv", text, &trim), ["name|TEXT", "place|TEXT", "n|INTEGER"]);
    for text in ["a, b\n1, 2\n", "a ,b\n1 ,2\n"] {
        let (_, notes) = loaded("a.csv", text, &with(CsvOptions::default()));
        assert!(has(&notes, "--trim"), "{text}");
    }
}

#[test]
fn numbers_are_read_in_the_form_that_is_named() {
    let number = |form: &str| {
        with(CsvOptions { number: Some(form.parse().unwrap()), ..CsvOptions::default() })
    };
    let text = "town;sum\na;998.310,75\nb;1.240.294,00\nc;12,50\nd;-3,00\n";
    let (rows, _) = loaded("a.csv", text, &number("1.234,5"));
    assert_eq!(rows, ["a|998310.75", "b|1240294.0", "c|12.5", "d|-3.0"]);
    let text = "a,b,c\n\"1,200.50\",5 %,x\n(35.00),7%,2\n$7.25,,1e5\n";
    let (rows, _) = loaded("a.csv", text, &number("1,234.5"));
    assert_eq!(rows, ["1200.5|5|x", "-35.0|7|2", "7.25|NULL|1e5"]);
    // 12.50 in a column of numbers with decimal commas is neither 12.5 nor 1250.
    assert_eq!(
        columns("a.csv", "a;b\n1;12,50\n2;12.50\n", &number("1.234,5")),
        ["a|INTEGER", "b|TEXT"]
    );
    let late = format!("a;b\n{}1;12.50\n", "1;1.200,5\n".repeat(10_500));
    assert_eq!(columns("a.csv", &late, &number("1.234,5"))[1], "b|TEXT");
    let (_, notes) = loaded("a.csv", "a;b\nx;12,50\n", &with(CsvOptions::default()));
    assert!(has(&notes, "--number 1.234,5"), "{notes:?}");
}

#[test]
fn a_type_of_numbers_for_a_column_without_any_is_refused_and_texts_among_numbers_are_counted() {
    let workspace = Workspace::new();
    let mut request = workspace.request();
    request.table.types = vec![pragmark_load::Column::new("b", "REAL")];
    let input = workspace.write("a.csv", "a;b\nx;1.240.294,00\ny;12,50\n");
    let Err(LoadError::NoNumbers { value, form, .. }) = run(&input, &request) else {
        panic!("nothing is converted");
    };
    assert_eq!((&*value, form.unwrap().to_string()), ("1.240.294,00", "1.234,5".to_owned()));
    let input = workspace.write("a.csv", "a;b\nx;1,5\ny;2\nz;-\n");
    let mut source = open(std::slice::from_ref(&input), &Opening::new(&library())).unwrap();
    let preview = outline(&library(), &mut *source, &request, 3).unwrap();
    assert!(
        !preview.notes.iter().any(|note| matches!(note, Note::Texts { .. })),
        "not counted yet"
    );
    let notes = run(&input, &request).unwrap().notes;
    assert!(
        notes.contains(&Note::Texts {
            column: "b".to_owned(),
            wanted: "number",
            values: 2,
            value: "1,5".to_owned()
        }),
        "{notes:?}"
    );
    // Dates have an affinity of numbers, and are texts.
    request.table = pragmark_load::Table::new("u");
    request.table.types = vec![pragmark_load::Column::new("b", "DATE")];
    let text = "a,b\nx,2024-01-01\nx,10:00\n";
    assert!(!has(&run(&workspace.write("a.csv", text), &request).unwrap().notes, "stayed text"));
    let dated = Opening { dates: Some(Default::default()), ..Opening::new(&library()) };
    let text = "a,b\nx,31.12.2024\n";
    request.mode = Mode::Append;
    let notes = run_as(&workspace.write("a.csv", text), &request, &dated).unwrap().notes;
    assert!(!has(&notes, "stayed text"), "{notes:?}");
}

#[test]
fn a_quote_between_tabs_joins_no_rows_that_nobody_joined() {
    for text in [
        "id\ttitle\tyear\n1\t\"Star\t1990\n2\tMoon\"\t1991\n3\tSun\t1992\n",
        "id\ttitle\n1\t\"open\n2\tx\n",
        "id\ttitle\n1\t\"A\" team\n",
    ] {
        assert!(matches!(fault("a.tsv", text), Fault::Quote { is_tab: true, .. }), "{text}");
        let none = with(CsvOptions { quote: None, ..CsvOptions::default() });
        assert_eq!(loaded("a.tsv", text, &none).0.len(), text.lines().count() - 1);
    }
    let quoted = "id\ttitle\n1\t\"a\tb\nc\"\n";
    let known = with(CsvOptions { is_quote_known: true, ..CsvOptions::default() });
    assert_eq!(loaded("a.tsv", quoted, &known).0, ["1|a\tb\nc"]);
}

#[test]
fn rows_that_break_the_rules_are_mended_and_listed() {
    let workspace = Workspace::new();
    let mut request = workspace.request();
    request.rejects = Some(workspace.path("mended.csv"));
    let lenient = with(CsvOptions { lenient: true, ..CsvOptions::default() });
    let text = "a,b,c\n1,2,3\n4,5\n6,7,8,9,\"x, y\"\n\"He said \"hi\"\",1,2\n";
    let summary = run_as(&workspace.write("a.csv", text), &request, &lenient).unwrap();
    assert_eq!((summary.rows, summary.mended, summary.rejected), (4, 3, 0));
    assert_eq!(
        workspace.rows("SELECT * FROM t"),
        ["1|2|3|NULL", "4|5|NULL|NULL", "6|7|8|9,\"x, y\"", "He said \"hi\"|1|2|NULL"]
    );
    let listed = std::fs::read_to_string(workspace.path("mended.csv")).unwrap();
    let unclosed = workspace.write("b.csv", "a,b\n1,\"5\" pipe\n");
    let error = run_as(&unclosed, &workspace.again(), &lenient).unwrap_err();
    let fault = |error| match error {
        LoadError::Row { fault, .. } => fault,
        error => panic!("{error}"),
    };
    assert!(matches!(fault(error), Fault::Quote { is_lenient: true, .. }));
    for part in
        [",2,,it has 2 fields instead of 3", ",3,,it has 5 fields", ",4,,quotes within quotes"]
    {
        assert!(listed.contains(part), "{listed}");
    }
}

#[test]
fn encodings_with_several_bytes_for_each_character_are_named() {
    let workspace = Workspace::new();
    let wide = |bytes: fn(u32) -> Vec<u8>| {
        "a;b\n1;é\n".chars().flat_map(|c| bytes(c as u32)).collect::<Vec<u8>>()
    };
    for (text, name) in [
        (wide(|c| (c as u16).to_le_bytes().to_vec()), "UTF-16LE"),
        (wide(|c| (c as u16).to_be_bytes().to_vec()), "UTF-16BE"),
        (wide(|c| c.to_le_bytes().to_vec()), "UTF-32"),
        (wide(|c| c.to_be_bytes().to_vec()), "UTF-32"),
        ([vec![0xff, 0xfe, 0, 0], wide(|c| c.to_le_bytes().to_vec())].concat(), "UTF-32"),
    ] {
        let message = refused(&workspace.write("a.csv", text), &workspace.request());
        assert!(message.ends_with(name), "{message}");
    }
    let mixed = "a,b\né,1\n".bytes().chain(*b"x\xe9,2\n").collect::<Vec<u8>>();
    let error = run(&workspace.write("a.csv", mixed), &workspace.request()).unwrap_err();
    let is_mixed =
        matches!(error, LoadError::Row { fault: Fault::Encoding { is_mixed: true, .. }, .. });
    assert!(is_mixed, "{error}");
}

#[test]
fn json_of_another_encoding_names_the_option() {
    let workspace = Workspace::new();
    let message =
        refused(&workspace.write("a.jsonl", b"{\"a\": \"\xe9\"}\n"), &workspace.request());
    assert!(message.contains("--encoding, such as windows-1252"), "{message}");
}

#[test]
fn the_rows_of_a_json_document_are_found() {
    let opening = with(CsvOptions::default());
    for text in [
        "{\n \"release\": \"x\",\n \"contests\": [\n {\"id\": 1},\n {\"id\": 2}\n ]\n}\n",
        "{\"release\":\"x\",\"contests\":[{\"id\":1},{\"id\":2}]}",
        "{\n \"id\": 1\n}\n{\n \"id\": 2\n}\n",
        "{\"id\": 1} {\"id\": 2}\n",
        "\u{feff}{\"id\": 1}{\"id\": 2}\n",
    ] {
        assert_eq!(loaded("a.json", text, &opening).0, ["1", "2"], "{text}");
    }
    let (rows, _) = loaded("a.json", "{\"x\": {\"id\": 1}, \"y\": {\"id\": 2}}", &opening);
    assert_eq!(rows, ["x|1", "y|2"]);
    let two = "{\"a\": [{\"id\": 1}], \"b\": {\"c\": [{\"id\": 2}]}, \"d\": [{\"id\": 3}]}";
    let workspace = Workspace::new();
    let message = refused(&workspace.write("a.json", two), &workspace.request());
    assert!(message.contains("a, d; choose one with --rows"), "{message}");
    let mut named = opening.clone();
    named.selection = Selection::of("b.c");
    assert_eq!(loaded("a.json", two, &named).0, ["2"]);
}

#[test]
fn json_that_is_refused_is_loaded_with_the_option_that_the_refusal_names() {
    let long = "x".repeat(1 << 20);
    let lines = Opening { format: Some(Format::JsonLines), ..with(CsvOptions::default()) };
    let workspace = Workspace::new();
    for (text, count) in [
        (format!("{{\n \"a\": \"{long}\",\n \"b\": [1]\n}}\n"), 1),
        (format!("{{\n \"a\": \"{long}\"\n}}\n{{\n \"a\": \"y\"\n}}\n"), 2),
        (format!("{{\"a\": \"{long}\"}}\n{{\"a\": \"y\"}}\n"), 2),
        ("{\n \"a\": {\"3\": 1, \"7\": 2},\n \"b\": {\"3\": 3, \"7\": 4}\n}\n".to_owned(), 1),
        ("{\n \"a\": [1, 2],\n \"b\": [3, 4]\n}\n".to_owned(), 1),
    ] {
        let beginning = &text[..20];
        let message = refused(&workspace.write("a.json", &text), &workspace.request());
        assert!(message.contains("--format json-lines"), "{beginning}: {message}");
        assert_eq!(loaded("a.json", &text, &lines).0.len(), count, "{beginning}");
    }
}

#[test]
fn json_of_other_programs_is_read() {
    let opening = with(CsvOptions::default());
    let text = "{\"a\": NaN, \"s\": \"NaN \\\" Infinity\"}\n{\"a\": -Infinity}\n{\"a\": 1.5}\n";
    let (rows, _) = loaded("a.jsonl", text, &opening);
    assert_eq!(rows, ["NULL|NaN \" Infinity", "-inf|NULL", "1.5|NULL"]);
    let (_, notes) = loaded("a.jsonl", "{\"id\": 1, \"ID\": 2}\n", &opening);
    assert!(has(&notes, "keys: ID, "), "{notes:?}");
    let (rows, notes) =
        loaded("a.jsonl", "{\"a\":1,\"b\":2}\n{\"a\":3,\"b\":4,\"a\":5}\n", &opening);
    assert_eq!(rows, ["1|2", "5|4"]);
    assert!(has(&notes, "the key a twice; its last value was loaded"), "{notes:?}");
    assert_eq!(
        columns("a.jsonl", "{\"id\": 1, \"ID\": \"x\"}\n{\"ID\": \"y\"}\n", &opening),
        ["id|INTEGER", "ID_2|TEXT"]
    );
}

#[test]
fn a_key_that_comes_late_is_a_column_too() {
    let workspace = Workspace::new();
    let text = "{\"a\": 1}\n".repeat(10_500) + "{\"a\": 2, \"b\": \"x\"}\n";
    let summary = run(&workspace.write("a.jsonl", text), &workspace.request()).unwrap();
    assert!(summary.why_reread.is_some());
    assert_eq!(workspace.rows("SELECT a, b FROM t WHERE b IS NOT NULL"), ["2|x"]);
}
