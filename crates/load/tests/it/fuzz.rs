//! Whatever bytes come in, reading them ends: in rows, or in an error that names the input. And what is
//! read does not depend on how the work was divided.
//!
//! `PROPTEST_CASES=1000000 cargo test --release -p pragmark-load --test it fuzz` looks longer; a case that
//! fails is kept in `proptest-regressions` and tried first from then on.

use std::sync::Arc;

use crate::library;
use arrow_array::StringArray;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use engine::{Connection, OpenFlags};
use pragmark_load::{
    Affinity, Batch, CsvOptions, CsvSource, Encoding, Input, JsonLinesSource, JsonOptions,
    LoadError, LoadStrategy, OnError, ReadOptions, Request, Source, Table, load,
};
use proptest::prelude::*;

/// Reads a source to its end.
fn read(source: &mut dyn Source) -> Result<Vec<Batch>, LoadError> {
    let affinities: Vec<Affinity> =
        source.columns().iter().map(|column| Affinity::of(&column.declared)).collect();
    source.begin(ReadOptions::new(affinities));
    let mut batches = Vec::new();
    while let Some(batch) = source.next()? {
        batches.push(batch);
    }
    Ok(batches)
}

/// Numbers are given once each, in order, to rows and to what is left out.
fn check_numbers(batches: &[Batch]) {
    let mut next = 1;
    for batch in batches {
        assert_eq!(batch.numbers.first, next);
        let mut left_out = batch.numbers.left_out.iter().copied().peekable();
        for index in 0..batch.rows.num_rows() {
            while left_out.next_if_eq(&next).is_some() {
                next += 1;
            }
            assert_eq!(batch.numbers.number(index), next);
            next += 1;
        }
        next += left_out.len() as u64;
        for bad in &batch.malformed {
            assert!(batch.numbers.left_out.contains(&bad.row));
        }
    }
}

/// Whether a row of a CSV text ends at this byte.
fn ends_row(text: &[u8], at: usize) -> bool {
    matches!(text.get(at), None | Some(b'\n' | b'\r'))
}

/// A field of a CSV text that begins at `at`, and where it ends; `None` instead of the field where it is
/// malformed.
fn field(text: &[u8], at: usize) -> (Option<Vec<u8>>, usize) {
    let rest = |at: usize| (at..).find(|at| ends_row(text, *at)).unwrap_or(at);
    if text.get(at) != Some(&b'"') {
        let is_end = |at: &usize| text.get(*at) == Some(&b',') || ends_row(text, *at);
        let end = (at..).find(is_end).unwrap_or(at);
        return (Some(text[at..end].to_vec()), end);
    }
    let (mut field, mut at) = (Vec::new(), at + 1);
    loop {
        match (text.get(at), text.get(at + 1)) {
            (None, _) => return (None, at),
            (Some(b'"'), Some(b'"')) => at += 1,
            (Some(b'"'), next) => {
                let is_whole = next == Some(&b',') || ends_row(text, at + 1);
                let end = if is_whole { at + 1 } else { rest(at + 1) };
                return (is_whole.then_some(field), end);
            }
            _ => {}
        }
        field.push(text[at]);
        at += 1;
    }
}

/// Every row of a CSV text by the plainest reading of its rules, byte for byte: `None` stands for a row
/// that is malformed.
fn plainly(text: &[u8], columns: usize) -> Vec<Option<Vec<String>>> {
    let (mut rows, mut at) = (Vec::new(), 0);
    while at < text.len() {
        if ends_row(text, at) {
            at += 1;
            continue;
        }
        let start = at;
        let mut fields = Vec::new();
        loop {
            let (field, end) = field(text, at);
            at = end;
            let is_broken = field.is_none();
            fields.push(field);
            if is_broken || text.get(at) != Some(&b',') {
                break;
            }
            at += 1;
        }
        let is_text = std::str::from_utf8(&text[start..at]).is_ok();
        at += 1;
        let fields: Option<Vec<Vec<u8>>> = fields.into_iter().collect();
        let good = fields.filter(|fields| fields.len() == columns && is_text);
        let texts = |fields: Vec<Vec<u8>>| {
            let texts = fields.into_iter().map(String::from_utf8);
            texts.collect::<Result<_, _>>().unwrap()
        };
        rows.push(good.map(texts));
    }
    rows
}

/// The rows that the reader gives, with the malformed ones where they were.
fn by_reader(batches: &[Batch]) -> Vec<Option<Vec<String>>> {
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<&StringArray> =
            batch.rows.columns().iter().map(|column| column.as_string::<i32>()).collect();
        for index in 0..batch.rows.num_rows() {
            rows.resize(batch.numbers.number(index) as usize - 1, None);
            let row = columns.iter().map(|column| column.value(index).to_owned());
            rows.push(Some(row.collect()));
        }
        let all = batch.rows.num_rows() + batch.numbers.left_out.len();
        rows.resize((batch.numbers.first - 1) as usize + all, None);
    }
    rows
}

fn csv(text: Vec<u8>) -> Result<CsvSource, LoadError> {
    let options = CsvOptions {
        delimiter: Some(b','),
        null: vec!["\u{1}".to_owned()],
        finds_rows: false,
        ..CsvOptions::default()
    };
    CsvSource::open(Input::from_bytes("fuzz", text), options)
}

/// Bytes that mean something to CSV, and some that are no UTF-8.
fn csv_bytes() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop::sample::select(b"aab1,,\"\"\n\n\r \xc3\xa9\xff".to_vec());
    prop::collection::vec(bytes, 0..200)
}

/// Pieces that mean something to JSON Lines.
fn json_text() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "{\"a\": 1}\n",
        "{\"a\": \"x\"}\n",
        "{\"b\": null, \"a\": 1.5e3}",
        "{",
        "}",
        "\n",
        "\r\n",
        "[1, {\"c\": \"\\u00e9\"}]",
        "\"\\ud800\"",
        "\"a\"",
        ":",
        ",",
        "tru",
        "e",
        "-0",
        "1e999",
        "18446744073709551616",
        " ",
        "\u{feff}",
        "{\"a\": [[[[[]]]]]}\n",
        "\\",
    ];
    let piece = prop_oneof![
        9 => prop::sample::select(pieces.to_vec()).prop_map(|text| text.as_bytes().to_vec()),
        1 => Just(vec![0xff]),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

const ARROW_COMPRESSIONS: [Option<arrow_ipc::CompressionType>; 3] =
    [None, Some(arrow_ipc::CompressionType::ZSTD), Some(arrow_ipc::CompressionType::LZ4_FRAME)];

/// A columnar file as its writer makes it: Arrow in each compression, then Parquet.
fn columnar_file(form: usize) -> Vec<u8> {
    let numbers: ArrayRef =
        Arc::new(Int64Array::from_iter((0..50).map(|n| (n % 7 > 0).then_some(n))));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..50).map(|n| "ab".repeat(n))));
    let batch = RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap();
    let mut bytes = Vec::new();
    if let Some(compression) = ARROW_COMPRESSIONS.get(form) {
        let options = arrow_ipc::writer::IpcWriteOptions::default()
            .try_with_compression(*compression)
            .unwrap();
        let mut writer = arrow_ipc::writer::FileWriter::try_new_with_options(
            &mut bytes,
            &batch.schema(),
            options,
        )
        .unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        drop(writer);
    } else {
        let mut writer =
            parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }
    bytes
}

proptest! {
    #[test]
    fn csv_is_read_as_its_rules_say_whatever_the_bytes(body in csv_bytes()) {
        let mut text = b"x,y\n".to_vec();
        text.extend_from_slice(&body);
        let mut source = csv(text).unwrap();
        // As text, so that every byte is seen.
        source.begin(ReadOptions::new([Affinity::Text, Affinity::Text]));
        let mut batches = Vec::new();
        while let Some(batch) = source.next().unwrap() {
            batches.push(batch);
        }
        check_numbers(&batches);
        prop_assert_eq!(by_reader(&batches), plainly(&body, 2));
    }

    #[test]
    fn any_header_and_any_types_end_in_rows_or_an_error(text in csv_bytes()) {
        if let Ok(mut source) = csv(text) {
            check_numbers(&read(&mut source).unwrap());
        }
    }

    #[test]
    fn json_lines_end_in_rows_or_an_error(text in json_text()) {
        if let Ok(mut source) = JsonLinesSource::open(Input::from_bytes("fuzz", text), &JsonOptions::default()) {
            check_numbers(&read(&mut source).unwrap());
        }
    }

    #[test]
    fn any_bytes_in_any_encoding_end_in_rows_or_an_error(
        bytes in prop::collection::vec(any::<u8>(), 0..100),
        label in prop::sample::select(vec!["utf-16le", "utf-16be", "shift_jis", "gb18030", "windows-1252", "iso-2022-jp"]),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fuzz.csv");
        std::fs::write(&path, &bytes).unwrap();
        let encoding: Encoding = label.parse().unwrap();
        let input = Input::open(&path, Some(encoding));
        if let Ok(mut source) = input.and_then(|input| CsvSource::open(Ok(input), CsvOptions::default())) {
            check_numbers(&read(&mut source).unwrap());
        }
    }

    #[test]
    fn damaged_compression_is_an_error_and_no_panic(
        form in 0_usize..2,
        place in 0_usize..200,
        byte in any::<u8>(),
    ) {
        use std::io::Write;
        let text = b"a,b\n1,2\n3,4\n".repeat(20);
        let mut bytes = if form == 0 {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gzip.write_all(&text).unwrap();
            gzip.finish().unwrap()
        } else {
            zstd::encode_all(&text[..], 1).unwrap()
        };
        let place = place % bytes.len();
        bytes[place] = byte;
        if let Ok(mut source) = csv(bytes) {
            // Damage may also go unnoticed, or look like the end.
            let _ = read(&mut source);
        }
    }
}

proptest! {
    #[test]
    fn damaged_columnar_files_are_an_error_and_no_panic(
        form in 0..=ARROW_COMPRESSIONS.len(),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = columnar_file(form);
        let place = place.index(bytes.len());
        bytes[place] = byte;
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fuzz");
        std::fs::write(&path, &bytes).unwrap();
        let opening = pragmark_load::Opening::new(&library());
        if let Ok(mut source) = pragmark_load::open(&[path], &opening) {
            let _ = read(&mut *source);
        }
    }
}

proptest! {
    // Each case makes databases.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    /// What a CSV text comes to does not depend on the strategy, and the database is sound.
    #[test]
    fn both_ways_make_the_same_table_of_any_text(body in csv_bytes()) {
        let mut text = b"x,y\n".to_vec();
        text.extend_from_slice(&body);
        let folder = tempfile::tempdir().unwrap();
        let mut tables = Vec::new();
        for strategy in [LoadStrategy::Pages, LoadStrategy::Arrays] {
            let path = folder.path().join(format!("{strategy:?}"));
            let mut request = Request::new(&path, Table::new("t"));
            request.strategy = Some(strategy);
            request.on_error = OnError::Skip;
            request.check = true;
            let mut source = csv(text.clone()).unwrap();
            tables.push(match load(&library(), &mut source, &request, &mut |_| true) {
                Err(LoadError::NothingLoaded { rows, first, .. }) => Err((rows, first)),
                loaded => {
                    loaded.unwrap();
                    let connection = Connection::open(&library(), &path, OpenFlags::READ_ONLY, None).unwrap();
                    let sql = "SELECT rowid, typeof(x), x, typeof(y), y FROM t";
                    Ok(connection.query_all(sql).unwrap())
                }
            });
        }
        prop_assert_eq!(&tables[0], &tables[1]);
    }
}
