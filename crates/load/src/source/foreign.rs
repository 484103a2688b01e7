//! Files that are no table of rows, known by their first bytes: a message that names what they are helps more
//! than one about their encoding, and none of them may become a table of one column.

/// At which byte a file has this mark, and what to do with it.
const BINARY: [(usize, &[u8], &str); 7] = [
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
];

/// What other formats of `load` begin with; they are not read from beginning to end.
const WHOLE_FILES: [(&[u8], &str); 3] = [
    (super::columnar::PARQUET, "Parquet file"),
    (super::columnar::ARROW, "Arrow IPC file"),
    (super::database::MAGIC, "SQLite database"),
];

/// Bytes that [`of_bytes`] has to see.
pub(super) const BYTES: usize = 16;

/// What is wrong with bytes that should begin a text, if anything.
pub(super) fn of_bytes(beginning: &[u8], was_compressed: bool) -> Option<String> {
    let whole = WHOLE_FILES.iter().find(|(mark, _)| beginning.starts_with(mark));
    if let Some((_, name)) = whole {
        return Some(match was_compressed {
            true => format!("it is a compressed {name}; decompress it first"),
            false => format!(
                "it is a {name}, which is read from a file of its own, not as text or from a pipe"
            ),
        });
    }
    BINARY
        .iter()
        .find(|(at, mark, _)| beginning.get(*at..).is_some_and(|rest| rest.starts_with(mark)))
        .map(|(_, _, reason)| (*reason).to_owned())
}

/// What is wrong with the beginning of a text that should be CSV, if anything.
pub(super) fn of_text(beginning: &[u8]) -> Option<&'static str> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_header_are_no_marks() {
        for text in ["BZh,b\n1,2\n", "PK,id\n1,2\n", "7z,a\n1,2\n", ""] {
            assert_eq!(of_bytes(text.as_bytes(), false), None, "{text}");
        }
        assert_eq!(of_text(b"< 5,> 5\n"), None);
        assert_eq!(of_text(b"a,<b>\n"), None);
    }

    #[test]
    fn marks_are_known() {
        for (bytes, part) in [
            (&b"BZh91AY&SYabcdef"[..], "bzip2"),
            (b"SQLite format 3\0", "not as text or from a pipe"),
        ] {
            let reason = of_bytes(bytes, false).unwrap();
            assert!(reason.contains(part), "{reason}");
        }
        assert!(of_bytes(b"PAR1", true).unwrap().contains("decompress it"));
    }
}
