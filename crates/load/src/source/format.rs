//! The formats of inputs, and how they are detected: by the first bytes, or by the name.
//!
//! Other files are known by their first bytes too: a message that names the format helps more
//! than one about its encoding, and none of them may become a table of one column.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::{LoadError, Result};

/// The first bytes of a Parquet file (<https://parquet.apache.org/docs/file-format/>).
pub(super) const PARQUET: &[u8] = b"PAR1";
/// The first bytes of an Arrow IPC file (<https://arrow.apache.org/docs/format/Columnar.html>).
pub(super) const ARROW: &[u8] = b"ARROW1";
/// The first bytes of an Arrow IPC stream.
pub(super) const ARROW_STREAM: &[u8] = &[0xff, 0xff, 0xff, 0xff];
/// The first bytes of a database (<https://sqlite.org/fileformat2.html>, section 1.3.1).
const DATABASE: &[u8] = b"SQLite format 3\0";
/// The mark that may stand before UTF-8.
pub(super) const BYTE_ORDER_MARK: &[u8] = &[0xef, 0xbb, 0xbf];

/// The formats of inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Fields between delimiters.
    Csv,
    /// An object of JSON on each line, or an array of objects.
    JsonLines,
    /// Parquet or Arrow IPC.
    Columnar,
    /// A SQLite database.
    Database,
}

impl Format {
    /// The format of a file: databases, Parquet and Arrow IPC are known by their first bytes, JSON Lines by
    /// their names (`.jsonl`, `.ndjson`, before `.gz` or `.zst`), and everything else is text;
    /// [`open`](super::open) reads it as JSON if it begins so, and as CSV otherwise.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn of(path: &Path) -> Result<Format> {
        let beginning = beginning(path)?;
        let begins_with = |mark: &[u8]| beginning.starts_with(mark);
        Ok(if begins_with(DATABASE) {
            Format::Database
        } else if begins_with(PARQUET) || begins_with(ARROW) || begins_with(ARROW_STREAM) {
            Format::Columnar
        } else if has_name(path, &[".jsonl", ".ndjson"]) {
            Format::JsonLines
        } else {
            Format::Csv
        })
    }
}

/// Returns the first bytes of a file; none of what can be read only once, such as a pipe.
pub(super) fn beginning(path: &Path) -> Result<Vec<u8>> {
    let mut beginning = Vec::new();
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        File::open(path)
            .and_then(|file| file.take(MAGIC_BYTES).read_to_end(&mut beginning))
            .map_err(LoadError::open(path))?;
    }
    Ok(beginning)
}

/// Returns whether the name of a file has one of these endings, before `.gz` or `.zst`.
pub(super) fn has_name(path: &Path, endings: &[&str]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    endings.iter().any(|ending| name.ends_with(ending))
}

/// The offset of a mark, the mark, and the advice for such a file.
const BINARY: [(usize, &[u8], &str); 12] = [
    (
        0,
        b"PK\x03\x04",
        "it is a zip archive or an .xlsx workbook; extract the file, or save the sheet as CSV",
    ),
    (0, b"PK\x05\x06", "it is an empty zip archive"),
    (
        0,
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "it is an .xls workbook or another Office document; save the sheet as CSV",
    ),
    (
        0,
        b"\xfd7zXZ\0",
        "it is compressed with xz; load its content with `xz -dc FILE | pragmark load - …`",
    ),
    (
        // After `BZh` and a digit.
        4,
        b"1AY&SY",
        "it is compressed with bzip2; load its content with `bzip2 -dc FILE | pragmark load - …`",
    ),
    (0, b"7z\xbc\xaf\x27\x1c", "it is a 7z archive; extract the file"),
    (0, b"%PDF-", "it is a PDF document"),
    (0, b"ORC\x0a", "it is an ORC file; convert it to Parquet"),
    (0, b"Obj\x01", "it is an Avro file; convert it to Parquet or JSON Lines"),
    (0, b"FEA1", "it is a Feather file of version 1; convert it to Arrow IPC or Parquet"),
    (0, b"\x1f\x8b", "it is compressed twice; decompress it first"),
    (0, b"version https://", "it is a pointer of Git LFS; fetch the file with `git lfs pull`"),
];

/// The first bytes of other formats of `load`, which are not read from beginning to end.
const WHOLE_FILES: [(&[u8], &str); 4] = [
    (PARQUET, "Parquet file"),
    (ARROW, "Arrow IPC file"),
    (ARROW_STREAM, "Arrow IPC stream"),
    (DATABASE, "SQLite database"),
];

/// First bytes of a file from which its format is detected.
pub(super) const MAGIC_BYTES: u64 = 16;

/// Returns the reason why a file with these first bytes is not a text.
pub(super) fn unreadable_bytes(beginning: &[u8], was_compressed: bool) -> Option<String> {
    let whole = WHOLE_FILES.iter().find(|(mark, _)| beginning.starts_with(mark));
    if let Some((_, name)) = whole {
        return Some(if was_compressed {
            format!("it is a compressed {name}; decompress it first")
        } else {
            format!(
                "it is a {name}, which is read from a file of its own, not as text or from a pipe"
            )
        });
    }
    BINARY
        .iter()
        .find(|(at, mark, _)| beginning.get(*at..).is_some_and(|rest| rest.starts_with(mark)))
        .map(|(_, _, reason)| (*reason).to_owned())
}

/// Returns the reason why a text with this beginning is not CSV.
pub(super) fn unreadable_text(beginning: &[u8]) -> Option<&'static str> {
    let text = String::from_utf8_lossy(beginning).to_ascii_lowercase();
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let second = text.strip_prefix('<')?.chars().next()?;
    if text.starts_with("<!doctype html") || text.contains("<html") {
        Some("it is an HTML page, not CSV; --format csv reads it as CSV nevertheless")
    } else if second.is_ascii_lowercase() || matches!(second, '?' | '!') {
        Some("it is XML, not CSV; --format csv reads it as CSV nevertheless")
    } else {
        None
    }
}

/// Returns whether a text begins as an array of objects or arrays does, or is an empty array.
pub(super) fn is_array_of_rows(beginning: &[u8]) -> bool {
    matches!(first_two(beginning), (Some(b'['), Some(b'{' | b'[' | b']')))
}

/// Returns whether a text begins as JSON does: with an object, or an array of anything but bare words.
pub(super) fn begins_as_json(beginning: &[u8]) -> bool {
    match first_two(beginning) {
        (Some(b'{'), Some(second)) => matches!(second, b'"' | b'}'),
        (Some(b'['), Some(second)) => {
            matches!(second, b'{' | b'[' | b']' | b'"' | b'-' | b'0'..=b'9')
        }
        _ => false,
    }
}

/// Returns the first two bytes that are neither blanks nor line ends.
fn first_two(beginning: &[u8]) -> (Option<u8>, Option<u8>) {
    let mut bytes = beginning.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
    (bytes.next(), bytes.next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_header_are_no_marks() {
        for text in ["BZh,b\n1,2\n", "PK,id\n1,2\n", "7z,a\n1,2\n", "version,https\n", ""] {
            assert_eq!(unreadable_bytes(text.as_bytes(), false), None, "{text}");
        }
        assert_eq!(unreadable_text(b"< 5,> 5\n"), None);
        assert_eq!(unreadable_text(b"a,<b>\n"), None);
    }

    #[test]
    fn marks_are_known() {
        for (bytes, part) in [
            (&b"BZh91AY&SYabcdef"[..], "bzip2"),
            (b"SQLite format 3\0", "not as text or from a pipe"),
            (b"FEA1\0\0\0\0", "Feather"),
            (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
        ] {
            let reason = unreadable_bytes(bytes, false).unwrap();
            assert!(reason.contains(part), "{reason}");
        }
        assert!(unreadable_bytes(b"PAR1", true).unwrap().contains("decompress it"));
    }

    #[test]
    fn json_lines_are_known_by_their_names() {
        for name in ["a.jsonl", "b.NDJSON", "c.jsonl.gz", "d.ndjson.zst"] {
            assert!(has_name(Path::new(name), &[".jsonl", ".ndjson"]), "{name}");
        }
        for name in ["a.csv", "b.json", "jsonl", "c.gz"] {
            assert!(!has_name(Path::new(name), &[".jsonl", ".ndjson"]), "{name}");
        }
    }
}
