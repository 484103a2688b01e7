//! Files of other formats than their names or options say.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use pragmark_load::{Format, Mode, Opening};

use crate::faults::{Workspace, library, refused, run, run_as};

const ARRAY: &str = " [{\"id\": 1, \"name\": \"a, b\\n\\\"]\"},\n\
                     {\"id\": 2,\n  \"tags\": [1, {\"x\": \"}\"}], \"name\": null}\r\n]\n";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

#[test]
fn an_array_of_objects_is_read_whatever_the_file_is_called() {
    let workspace = Workspace::new();
    let mut request = workspace.request();
    let utf_16 = ARRAY.encode_utf16().flat_map(u16::to_le_bytes);
    let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(utf_16).collect();
    for (name, bytes) in [
        ("a.json", ARRAY.as_bytes().to_vec()),
        ("a.csv", ARRAY.as_bytes().to_vec()),
        ("a.jsonl", ARRAY.as_bytes().to_vec()),
        ("marked.json", format!("\u{feff}{ARRAY}").into_bytes()),
        ("a.json.gz", gzip(ARRAY.as_bytes())),
        ("wide.json", wide),
    ] {
        let summary = run(&workspace.write(name, bytes), &request).unwrap();
        assert_eq!(summary.rows, 2, "{name}");
        assert_eq!(
            workspace.rows("SELECT id, name, tags FROM t"),
            ["1|a, b\n\"]|NULL", "2|NULL|[1, {\"x\": \"}\"}]"],
            "{name}"
        );
        request.mode = Mode::Replace;
    }
}

#[test]
fn an_array_that_is_cut_off_or_wrong_leaves_the_table() {
    let workspace = Workspace::new();
    let mut request = workspace.request();
    run(&workspace.write("a.csv", "id\n7\n"), &request).unwrap();
    request.mode = Mode::Replace;
    for (array, reason) in [
        ("[]", "is empty"),
        ("[{\"id\": 1}, {\"id\": 2", "the JSON array ends in the middle"),
        ("[{\"id\": 1}, {\"id\": 2}", "the JSON array ends in the middle"),
        ("[{\"id\": 1},, {\"id\": 2}]", "a comma follows no value"),
        ("[{\"id\": 1},]", "ends with a comma"),
        ("[{\"id\": 1}] {\"id\": 2}", "something follows the JSON array"),
        ("[{\"id\": 1} {\"id\": 2}]", "row 1: not a JSON object: trailing characters"),
        ("[{\"id\": 1}, 2]", "row 2: not a JSON object"),
        ("[{\"id\": 1}, {\"id\": \"a\nb\"}]", "row 2: not a JSON object: control character"),
        ("[1, 2]", "it is one array of values"),
        ("[[\"id\"], [1, 2]]", "row 1: an array of 2 values instead of 1"),
        ("[\"id\", 1]", "it is one array of values"),
    ] {
        let message = refused(&workspace.write("a.json", array), &request);
        assert!(message.contains(reason), "{array}: {message}");
        assert_eq!(workspace.rows("SELECT id FROM t"), ["7"], "{array}");
    }
}

#[test]
fn objects_on_lines_are_known_by_their_beginning() {
    let workspace = Workspace::new();
    let input = workspace.write("a.txt", "\n{ \"id\": 1}\n{\"id\": 2}\n");
    run(&input, &workspace.request()).unwrap();
    assert_eq!(workspace.rows("SELECT id FROM t"), ["1", "2"]);
}

#[test]
fn brackets_in_a_header_are_names() {
    let workspace = Workspace::new();
    let input = workspace.write("a.csv", "[id],[name]\n1,a\n");
    run(&input, &workspace.request()).unwrap();
    assert_eq!(workspace.rows("SELECT \"[id]\", \"[name]\" FROM t"), ["1|a"]);
}

#[test]
fn an_array_longer_than_many_blocks_keeps_its_order() {
    let workspace = Workspace::new();
    let rows: Vec<String> =
        (0..200_000).map(|n| format!("{{\n\"n\": {n}, \"s\": \"x{n}\"\n}}")).collect();
    let input = workspace.write("a.json", format!("[{}]", rows.join(",")));
    assert_eq!(run(&input, &workspace.request()).unwrap().rows, 200_000);
    let ordered = "SELECT count(*) FROM t WHERE n = rowid - 1 AND s = 'x' || n";
    assert_eq!(workspace.rows(ordered), ["200000"]);
}

#[test]
fn what_is_no_table_of_rows_is_named_for_what_it_is() {
    let workspace = Workspace::new();
    let mut request = workspace.request();
    run(&workspace.write("a.csv", "id\n7\n"), &request).unwrap();
    request.mode = Mode::Replace;
    let database = std::fs::read(workspace.database()).unwrap();
    let cases: [(&[u8], &str); 15] = [
        (b"<!DOCTYPE html>\n<html><body>Not here</body></html>", "HTML"),
        (b"\n <HTML>\n</HTML>", "HTML"),
        (b"\xef\xbb\xbf<?xml version=\"1.0\"?>\n<a/>", "XML"),
        (b"<rows>\n<row/>\n</rows>\n", "XML"),
        (b"PK\x03\x04\x14\0\x06\0", "a zip archive or an .xlsx workbook"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "an .xls workbook"),
        (b"\xfd7zXZ\0\0\x04", "compressed with xz"),
        (b"BZh91AY&SY\0\0", "compressed with bzip2"),
        (b"%PDF-1.7\n", "PDF"),
        (b"FEA1\0\0\0\0", "Feather"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS"),
        (&gzip(&gzip(b"a\n1\n")), "compressed twice"),
        (&gzip(b"PAR1\x15\0\x15"), "compressed Parquet"),
        (&gzip(b"ARROW1\0\0"), "compressed Arrow IPC"),
        (&gzip(&database), "compressed SQLite database"),
    ];
    for (bytes, name) in cases {
        for file in ["b.csv", "b.jsonl"] {
            let message = refused(&workspace.write(file, bytes), &request);
            let is_text = ["HTML", "XML"].contains(&name) && file == "b.jsonl";
            assert!(message.contains(name) || is_text, "{name}: {message}");
            assert!(!message.contains("UTF-8"), "{name}: {message}");
        }
        assert_eq!(workspace.rows("SELECT id FROM t"), ["7"], "{name}");
    }
}

#[test]
fn csv_that_looks_like_something_else_is_read_when_it_is_named() {
    let workspace = Workspace::new();
    let mut opening = Opening::new(&library());
    opening.format = Some(Format::Csv);
    let input = workspace.write("a.csv", "<id>,<name>\n1,a\n");
    run_as(&input, &workspace.request(), &opening).unwrap();
    assert_eq!(workspace.rows("SELECT \"<id>\", \"<name>\" FROM t"), ["1|a"]);
}
