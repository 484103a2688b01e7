//! How a CSV text is laid out: its delimiter, the lines before its header and the ones behind its last row.

use super::scan::{Dialect, Record, Records};

/// Records that are looked at.
const RECORDS: usize = 100;
/// The longest preamble, in records.
const LONGEST_PREAMBLE: usize = 20;
/// Records at the end of a text that may be a footer.
pub(super) const FOOTER: usize = 3;

/// The delimiters that are tried; of equally frequent ones the last is chosen: a comma may stand in numbers and texts.
const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];
/// Delimiters that are tried where the first line has none of these.
const RARE: [u8; 4] = [b'\x01', b'\x1f', b'^', b'~'];

/// Where rows begin, and what divides them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) delimiter: u8,
    /// Bytes before the header.
    pub(super) begin: usize,
}

/// Returns the delimiter that Excel's line `sep=;` names.
pub(super) fn named_delimiter(text: &[u8]) -> Option<u8> {
    let end = memchr::memchr2(b'\n', b'\r', text).unwrap_or(text.len());
    let line = &text[..end];
    let inner = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\""));
    let (name, value) = inner.unwrap_or(line).split_at_checked(4)?;
    let delimiter = *value.first()?;
    // Other spreadsheets add empty fields.
    let is_one = value.iter().all(|byte| *byte == delimiter);
    let divides = delimiter.is_ascii() && !delimiter.is_ascii_alphanumeric() && delimiter != b'"';
    (name.eq_ignore_ascii_case(b"sep=") && is_one && divides).then_some(delimiter)
}

/// Finds delimiter and header. The delimiter of the first line holds, unless no other row agrees with it and with another
/// one, or behind a preamble, all do.
pub(super) fn layout(text: &[u8], first: Dialect, is_delimiter_known: bool) -> Layout {
    let as_first = Layout { delimiter: first.delimiter, begin: 0 };
    let counts = counts(text, first);
    let agree = counts.iter().filter(|record| record.fields == counts[0].fields).count();
    if counts.len() < 2 || counts[0].fields > 1 && agree > 1 {
        return as_first;
    }
    let others = DELIMITERS.iter().chain(&RARE).filter(|_| !is_delimiter_known);
    let candidates = std::iter::once(&first.delimiter).chain(others);
    let layouts =
        candidates.filter_map(|delimiter| body(text, Dialect { delimiter: *delimiter, ..first }));
    layouts.max_by_key(|(fields, _)| *fields).map_or(as_first, |(_, layout)| layout)
}

/// A record of the beginning: where it begins, and how many fields it has; `None` if it is broken.
struct Counted {
    begin: usize,
    fields: usize,
}

fn counts(text: &[u8], dialect: Dialect) -> Vec<Counted> {
    let mut records = Records::new(text, dialect);
    let (mut counts, mut fields) = (Vec::new(), Vec::new());
    while counts.len() < RECORDS {
        fields.clear();
        counts.push(match records.next(&mut fields) {
            Some(Record::Whole(range)) => Counted { begin: range.start, fields: fields.len() },
            Some(Record::Broken { range, .. }) => Counted { begin: range.start, fields: 0 },
            None => break,
        });
    }
    counts
}

/// Returns the fields of rows that all have the same number of them, and where they begin. A preamble ends with an empty
/// line, or has lines with at most half of the fields.
fn body(text: &[u8], dialect: Dialect) -> Option<(usize, Layout)> {
    let counts = counts(text, dialect);
    let most = counts.iter().map(|record| record.fields).max()?;
    let begin = counts.iter().position(|record| record.fields == most)?;
    let rows = &counts[begin..];
    let of_footer =
        if counts.len() < RECORDS { FOOTER.min(rows.len().saturating_sub(2)) } else { 0 };
    let is_body =
        rows.len() > 1 && rows[..rows.len() - of_footer].iter().all(|record| record.fields == most);
    let is_preamble =
        begin <= LONGEST_PREAMBLE && counts[..begin].iter().all(|record| record.fields * 2 <= most);
    let at = rows.first()?.begin;
    let is_commented = counts[..begin].iter().all(|record| text[record.begin] == b'#');
    let is_separated = has_empty_line(&text[..at]) || most > 2 || is_commented;
    let is_sure = most > 1 && is_body && (begin == 0 || is_preamble && is_separated);
    is_sure.then_some((most, Layout { delimiter: dialect.delimiter, begin: at }))
}

/// Returns the length of a first line of dashes, as tools draw it around a header: `---+----`; 0 if there is none.
pub(super) fn ruler(text: &[u8], delimiter: u8) -> usize {
    let begin = text.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
    let end = memchr::memchr2(b'\n', b'\r', &text[begin..]).map_or(text.len(), |at| begin + at);
    let line = &text[begin..end];
    let divides = |byte: &u8| *byte == delimiter || *byte == b'+';
    let is_ruler = line.iter().all(|byte| divides(byte) || b"-=|: ".contains(byte))
        && line.iter().any(divides)
        && [&b"---"[..], b"==="].iter().any(|run| memchr::memmem::find(line, run).is_some());
    if is_ruler { end } else { 0 }
}

/// Returns whether an empty line stands at the end.
pub(super) fn has_empty_line(text: &[u8]) -> bool {
    let rest = text.strip_suffix(b"\n").unwrap_or(text);
    let rest = rest.strip_suffix(b"\r").unwrap_or(rest);
    matches!(rest.last(), Some(b'\n' | b'\r'))
}

/// Returns the delimiter that is most frequent in the first line that is not empty, outside of quotes.
pub(super) fn guess_delimiter(beginning: &[u8], quote: Option<u8>, prefers_tab: bool) -> u8 {
    let mut counts = DELIMITERS.map(|delimiter| (delimiter, 0));
    let mut within_quotes = false;
    let is_end = |byte: &&u8| matches!(byte, b'\n' | b'\r');
    for byte in beginning.iter().skip_while(is_end) {
        if Some(*byte) == quote {
            within_quotes = !within_quotes;
        } else if !within_quotes {
            if is_end(&byte) {
                break;
            }
            if let Some((_, count)) = counts.iter_mut().find(|(known, _)| known == byte) {
                *count += 1;
            }
        }
    }
    if prefers_tab && (counts[1].1 > 0 || counts.iter().all(|(_, count)| *count == 0)) {
        return b'\t';
    }
    // The last of the equally frequent ones.
    let found = counts.iter().filter(|(_, count)| *count > 0).max_by_key(|(_, count)| *count);
    found.map_or(b',', |(byte, _)| *byte)
}

/// Returns whether a byte may divide fields: in a single column any that is no part of words and numbers.
pub(super) fn may_divide(byte: u8, is_single: bool) -> bool {
    let is_rare =
        matches!(byte, b'^' | b'~' | b':' | b'#' | b'!' | b'\x01'..=b'\x08' | b'\x0e'..=b'\x1f');
    is_single && is_rare || DELIMITERS.contains(&byte)
}

/// Returns whether blanks stand behind, or before, every delimiter of the first records.
pub(super) fn has_blanks(text: &[u8], dialect: Dialect) -> bool {
    let mut records = Records::new(text, Dialect { quote: None, ..dialect });
    let mut fields = Vec::new();
    let (mut seen, mut before, mut behind) = (0, true, true);
    for _ in 0..RECORDS {
        fields.clear();
        let Some(Record::Whole(_)) = records.next(&mut fields) else { break };
        let text = |at: usize| &text[fields[at].range()];
        let last = fields.len() - 1;
        seen += last;
        if seen == 0 {
            return false;
        }
        behind &= (1..=last).all(|at| text(at).starts_with(b" "));
        before &= (0..last).all(|at| text(at).ends_with(b" "));
    }
    seen > 1 && (before || behind) && dialect.delimiter != b' '
}

/// Returns where the last lines begin that are not empty, this number of them.
pub(super) fn last_lines(text: &[u8], lines: usize) -> usize {
    let mut end = text.len();
    for _ in 0..lines {
        let line = text[..end].trim_ascii_end();
        end = memchr::memrchr2(b'\n', b'\r', line).map_or(0, |at| at + 1);
    }
    end
}

/// Returns whether a line counts the rows, as tools write it at the end: `(120 rows)`, `120 rows in set`.
pub(super) fn is_row_count(line: &str) -> bool {
    let line = line.trim_matches(['(', ')']);
    let Some((count, what)) = line.split_once(' ') else { return false };
    let is_count = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    let what = what.to_ascii_lowercase();
    is_count
        && ["row", "record"].iter().any(|unit| {
            let rest = what.strip_prefix(unit).map(|rest| rest.strip_prefix('s').unwrap_or(rest));
            matches!(rest, Some("" | " affected" | " selected" | " returned" | " in set"))
        })
}

/// Words that stand before totals.
const TOTALS: [&str; 12] = [
    "total", "totals", "grand total", "subtotal", "sum", "summe", "gesamt", "gesamtsumme", "somme",
    "totale", "suma", "totaal",
];

/// Returns whether a row is a total: the word stands in its first field.
pub(super) fn is_total(line: &str, delimiter: u8) -> bool {
    let first = line.split(char::from(delimiter)).next().unwrap_or_default();
    let first = first.trim_matches(|c| matches!(c, '"' | ' ' | ':')).to_lowercase();
    TOTALS.contains(&first.split(':').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::super::scan::Quotes;
    use super::*;

    fn layout_of(text: &str) -> (char, usize) {
        let delimiter = guess_delimiter(text.as_bytes(), Some(b'"'), false);
        let dialect = Dialect {
            delimiter,
            quote: Some(b'"'),
            comment: None,
            trim: false,
            quotes: Quotes::Strict,
        };
        let layout = layout(text.as_bytes(), dialect, false);
        (char::from(layout.delimiter), layout.begin)
    }

    #[test]
    fn the_delimiter_is_the_one_on_which_all_rows_agree() {
        assert_eq!(layout_of("a;b;c\n1,5;2;x\n"), (';', 0));
        assert_eq!(layout_of("name, first;age\nx;1\ny;2\n"), (';', 0));
        assert_eq!(layout_of("a|b\n1|2\n3\n"), ('|', 0));
        assert_eq!(layout_of("name;price, EUR\nx;1,5\ny;2,5\n"), (';', 0));
        assert_eq!(layout_of("a;b,c\n1,2\n3,4\n"), (',', 0));
        // Rows that differ from the header are wrong rows, not another header.
        assert_eq!(layout_of("a,b\n1,2,3\n4,5,6\n"), (',', 0));
        assert_eq!(layout_of("text\nhello, world\nfoo, bar\n"), (',', 0));
    }

    #[test]
    fn a_preamble_is_what_stands_before_rows_that_agree() {
        assert_eq!(layout_of("Report of 2026\n\na,b\n1,2\n3,4\n"), (',', 16));
        assert_eq!(layout_of("Report, of 2026\nall of it\na;b;c\n1;2;3\n"), (';', 26));
        assert_eq!(layout_of("Report\na;b;c\n1;2;3\n4;5;6\n(2 rows)\n"), (';', 7));
    }

    #[test]
    fn excel_names_the_delimiter_on_a_line_of_its_own() {
        for (line, delimiter) in [
            ("sep=;\na", Some(b';')),
            ("\"SEP=,\"\r\n", Some(b',')),
            ("sep=\t", Some(b'\t')),
            ("sep=,,,\n", Some(b',')),
            ("sep=\n", None),
            ("sep=a\n", None),
            ("step=;\n", None),
        ] {
            assert_eq!(named_delimiter(line.as_bytes()), delimiter, "{line}");
        }
    }

    #[test]
    fn footers_are_known() {
        for line in ["(120 rows)", "1 row", "(3 rows affected)", "120 rows in set"] {
            assert!(is_row_count(line), "{line}");
        }
        for line in ["120", "rows", "12 rowing boats", "(a rows)", "\t(2 rows)"] {
            assert!(!is_row_count(line), "{line}");
        }
        assert!(is_total("\"Grand Total:\",,5", b','));
        assert!(is_total("Total: account,,5", b','));
        assert!(!is_total("Totally,5", b','));
        assert_eq!(last_lines(b"a\nb\n\nc\n\n", 2), 2);
    }
}
