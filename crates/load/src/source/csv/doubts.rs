//! Doubts about how a CSV text is read, as its first rows raise them: each becomes a warning with the option that reads the
//! text otherwise.

use super::QUOTED_EMPTY;
use super::layout::{FOOTER, has_empty_line, last_lines, may_divide};
use super::parse::Reader;
use super::scan::{Quoting, Record, Records};
use crate::error::first_characters;
use crate::source::infer::{ColumnKind, Kind};
use crate::source::notes::Note;
use crate::source::number::{has_leading_zero, is_number_to_sqlite};
use crate::source::number_form::{NumberForm, unit};
use crate::source::truth::are_truth_values;
use crate::sql::quoted;

/// Rows that are looked at.
const ROWS: usize = 1_000;
/// Words for a missing value, in small letters.
const MISSING: [&str; 22] = [
    "", "—", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "na", "n/a", "#n/a", "null", "none",
    "nan", "nil", "\\n", "-", "--", "–", ".", "?", "missing", "unknown",
];

/// The values of a column in the first rows; none for NULL.
type Values<'t> = Vec<Option<&'t [u8]>>;

fn lossy_text(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

impl Reader {
    /// Warns of doubts that the first rows raise.
    pub(super) fn doubt(&mut self, bytes: &[u8], kinds: &[ColumnKind]) {
        if self.has_blanks {
            return;
        }
        let columns = self.first_values(bytes, kinds.len());
        if self.options.header == 1 {
            self.doubt_header(kinds, &columns);
        }
        self.doubt_first_row(&columns);
        self.doubt_delimiter(bytes);
        self.doubt_empty_lines(bytes.trim_ascii());
        for ((name, column), values) in self.names.iter().zip(kinds).zip(&columns) {
            self.doubt_numbers(name, column, values);
            let texts = values.iter().flatten().copied().filter(|text| !is_missing(text));
            self.truth_values.push(are_truth_values(texts));
            let is_formula = |text: &&[u8]| text.starts_with(b"=\"") && text.ends_with(b"\"");
            if let Some(text) = values.iter().flatten().copied().find(is_formula) {
                let (text, column) = (lossy_text(text).replace("\"\"", "\""), quoted(name));
                self.notes.warn(format!("column {name} has texts as formulas of Excel, such as `{text}`, which stay as they are; substr({column}, 3, length({column}) - 3) is the text"));
            }
        }
        self.doubt_missing(kinds, &columns);
        self.doubt_nameless(&columns);
        let quotes = |text: &[u8]| text.len() > 1 && text.starts_with(b"'") && text.ends_with(b"'");
        let is_quoted = |values: &&Values<'_>| {
            let mut texts = values.iter().flatten();
            texts.clone().count() > 0 && texts.all(|text| quotes(text))
        };
        if self.dialect.quote != Some(b'\'') && columns.iter().any(|values| is_quoted(&values)) {
            self.notes
                .warn("values are in single quotes, which stay; --quote \"'\" takes them away");
        }
    }

    fn first_values<'t>(&self, bytes: &'t [u8], columns: usize) -> Vec<Values<'t>> {
        let mut records = Records::new(bytes, self.dialect);
        let (mut fields, mut values) = (Vec::new(), vec![Values::new(); columns]);
        for _ in 0..ROWS {
            fields.clear();
            if records.next(&mut fields).is_none() {
                break;
            }
            for (field, values) in fields.iter().zip(values.iter_mut()) {
                let value = (!self.is_null(bytes, *field)).then(|| &bytes[field.range()]);
                if value == Some(b"") && field.quoting == Quoting::Plain {
                    self.notes.warn("empty fields are empty texts, because --null names other words; --null '' reads them as NULL too");
                }
                values.push(value);
            }
        }
        values
    }

    /// Warns of a text whose encoding was named wrongly.
    pub(super) fn doubt_encoding(&self, bytes: &[u8]) {
        // `Ã¼` and a byte order mark.
        let marks = [&b"\xc3\x83\xc2"[..], b"\xc3\xaf\xc2\xbb\xc2\xbf"];
        let has = |mark: &&[u8]| memchr::memmem::find(bytes, mark).is_some();
        if self.encoding != "UTF-8" && marks.iter().any(has) {
            self.notes.warn("texts such as `Ã¼` are UTF-8 that was read in another encoding; --encoding utf-8 reads them");
        }
    }

    /// Warns of a header that looks like a row.
    fn doubt_header(&self, kinds: &[ColumnKind], columns: &[Values<'_>]) {
        let is_number = |name: &String| Kind::of(name.as_bytes()).is_number();
        let is_date = |text: &[u8]| {
            let digits = text.iter().filter(|byte| byte.is_ascii_digit()).count();
            (8..=10).contains(&text.len()) && digits >= 6 && text.len() - digits == 2
        };
        let mut dates = self.names.iter().zip(columns).map(|(name, values)| {
            let mut texts = values.iter().flatten();
            is_date(name.as_bytes()) && texts.next().is_some_and(|text| is_date(text))
        });
        let is_first_number = is_number(&self.names[0])
            && kinds.first().is_some_and(|column| column.kind.is_number());
        if self.names[..self.width()].iter().all(is_number) {
            self.notes.warn("the first line has only numbers and was read as the header; --header 0 reads it as a row");
        } else if is_first_number || dates.any(|is_date| is_date) {
            self.notes.warn("the first line looks like the rows and was read as the header; --header 0 reads it as a row");
        }
    }

    /// Warns of a first row that looks like a part of the header: words where all others have numbers.
    fn doubt_first_row(&self, columns: &[Values<'_>]) {
        let is_number = |text: &[u8]| self.is_number_here(text);
        // Whether the first value is a word, of a column with numbers alone behind it.
        let is_word = |values: &Values<'_>| {
            let behind: Vec<&[u8]> = values.iter().skip(1).flatten().copied().collect();
            let is_numeric = behind.len() > 1 && behind.iter().all(|text| is_number(text));
            let is_other_number = |text: &[u8]| {
                is_number_to_sqlite(text) || !NumberForm::of_all(std::iter::once(text)).is_empty()
            };
            let is_word =
                |text: &[u8]| !is_number(text) && !is_missing(text) && !is_other_number(text);
            is_numeric.then(|| values[0].is_some_and(is_word))
        };
        let words: Vec<bool> = columns.iter().filter_map(is_word).collect();
        let blank = |values: &Values<'_>| values.first().is_some_and(Option::is_none);
        if words.contains(&true)
            && (words.iter().all(|is_word| *is_word) || columns.iter().any(blank))
        {
            self.notes.warn(if self.names[0].starts_with('#') {
                "the header begins with `#`; if it is a comment, leave such lines out with --comment '#'"
            } else {
                "the first row has words in columns of numbers; if it belongs to the header: --header 2"
            });
        }
    }

    /// Warns of another character, or blanks, that may divide columns.
    fn doubt_delimiter(&self, bytes: &[u8]) {
        let mut records = Records::new(bytes, self.dialect);
        let (mut fields, mut lines) = (Vec::new(), vec![self.header_line.clone()]);
        while lines.len() <= 100
            && let Some(record) = records.next(&mut fields)
        {
            if let Record::Whole(range) = record {
                lines.push(bytes[range].to_vec());
            }
        }
        let count =
            |line: &Vec<u8>, divider: u8| line.iter().filter(|byte| **byte == divider).count();
        let of_header = |divider: &u8| count(&lines[0], *divider);
        let agree =
            |divider: &u8| lines.iter().all(|line| count(line, *divider) == of_header(divider));
        let is_single = self.width() == 1;
        let is_known = !is_single && self.options.delimiter.is_some();
        let is_other = |byte: &u8| {
            *byte != self.dialect.delimiter && may_divide(*byte, is_single) && !is_known
        };
        let least = (self.width() - 1).max(1);
        let divider = (1..=127).filter(is_other);
        let divider =
            divider.filter(|byte| of_header(byte) >= least && agree(byte)).max_by_key(of_header);
        let has_run = |line: &Vec<u8>| line.trim_ascii().windows(2).any(|pair| pair == b"  ");
        if lines.len() < 2 {
            return;
        }
        if let Some(divider) = divider {
            let divider = char::from(divider).escape_default();
            let place =
                if is_single { "there is one column, and" } else { "the delimiter is not clear:" };
            self.notes.warn(format!("{place} every row has `{divider}` equally often; --delimiter '{divider}' divides there"));
        } else if is_single && lines.iter().all(has_run) {
            self.notes.warn("there is one column, and every row has several blanks in a row: columns of fixed width are not divided");
        }
    }

    /// Warns of columns without a name or a value between others, as two delimiters in a row make them.
    fn doubt_nameless(&self, columns: &[Values<'_>]) {
        let is_empty =
            |values: &Values<'_>| !values.is_empty() && values.iter().all(Option::is_none);
        let is_nameless = |at: usize, name: &str| name == format!("column{}", at + 1);
        let all = self.names.iter().zip(columns).enumerate();
        let (empty, others): (Vec<_>, Vec<_>) =
            all.partition(|(at, (name, values))| is_empty(values) && is_nameless(*at, name));
        let names = |of: Vec<(usize, (&String, &Values<'_>))>| {
            of.into_iter().map(|(_, (name, _))| name.clone()).collect::<Vec<_>>()
        };
        if self.options.header > 0 && !empty.is_empty() {
            let (empty, others) = (names(empty).join(", "), names(others).join(","));
            self.notes.warn(format!(
                "{empty} have neither a name nor a value in the first rows; --select '{others}' leaves them out"
            ));
        }
    }

    /// Warns of empty lines in a single column, where programs write NULL so.
    fn doubt_empty_lines(&self, rows: &[u8]) {
        if self.width() > 1 {
            return;
        }
        let has_quote = self.dialect.quote.is_some_and(|quote| rows.contains(&quote));
        let has_empty =
            [&b"\n\n"[..], b"\n\r\n"].iter().any(|pair| memchr::memmem::find(rows, pair).is_some());
        if has_empty && !has_quote {
            self.notes.warn("empty lines were left out; in a single column they may mean NULL");
        }
    }

    fn is_number_here(&self, text: &[u8]) -> bool {
        let is_kept = |number: &[u8]| Kind::of(number).is_number();
        match self.options.number {
            Some(form) => form.plain(text).is_some_and(|plain| is_kept(&plain)),
            None => is_kept(text),
        }
    }

    /// Warns of numbers in a form that makes them texts.
    fn doubt_numbers(&self, name: &str, column: &ColumnKind, values: &Values<'_>) {
        // Neither a postcode nor a telephone number, such as +4930123456.
        let is_code = |text: &[u8]| {
            let digits = text.strip_prefix(b"+").filter(|rest| rest.iter().all(u8::is_ascii_digit));
            digits.is_some() || has_leading_zero(text)
        };
        if self.options.number.is_some() && column.kind.is_number() {
            let mut units: Vec<&str> = values.iter().flatten().copied().filter_map(unit).collect();
            units.sort_unstable();
            units.dedup();
            if units.len() > 1 {
                let units = units.join(" and ");
                self.notes.warn(format!("column {name} has {units}, which --number leaves out"));
            }
        }
        let is_text = |text: &&[u8]| !self.is_number_here(text) && !is_code(text);
        let texts = || values.iter().flatten().copied().filter(|text| !is_missing(text));
        let first = texts().find(is_text).filter(|_| column.kind == Kind::Text);
        let Some(value) = first else { return };
        let forms = NumberForm::of_all(texts());
        // Such as 1e5, or with more digits than a number keeps.
        let are_numbers = self.options.number.is_none() && texts().all(is_number_to_sqlite);
        if !forms.is_empty() || are_numbers && !texts().any(is_code) {
            self.notes.add(Note::Numbers {
                column: name.to_owned(),
                value: lossy_text(value),
                forms,
            });
        }
    }

    /// Warns of words for missing values that make columns of numbers texts, and of `\N`, which means nothing else.
    fn doubt_missing(&self, kinds: &[ColumnKind], columns: &[Values<'_>]) {
        let (mut names, mut words) = (Vec::new(), Vec::new());
        for ((name, column), values) in self.names.iter().zip(kinds).zip(columns) {
            let texts = || values.iter().flatten().copied();
            let (numbers, others): (Vec<&[u8]>, Vec<&[u8]>) =
                texts().partition(|text| self.is_number_here(text));
            let is_numeric = column.kind == Kind::Text && !numbers.is_empty();
            let hides = is_numeric && others.iter().all(|text| is_missing(text));
            if hides || others.contains(&&b"\\N"[..]) {
                names.push(name.clone());
                let is_empty_null = self.options.null.iter().any(String::is_empty);
                let word = |text: &&[u8]| match *text {
                    b"" if is_empty_null => QUOTED_EMPTY.to_owned(),
                    text => lossy_text(text),
                };
                words.extend(others.iter().filter(|text| is_missing(text)).map(word));
            }
        }
        words.sort();
        words.dedup();
        if words.is_empty() {
            return;
        }
        if columns.iter().flatten().any(Option::is_none) {
            words.push(String::new());
        }
        // Apart, it would end the options.
        let option = |word: &String| match &**word {
            "--" => "--null='--' ".to_owned(),
            word => format!("--null '{word}' "),
        };
        self.notes.warn(format!(
            "words for missing values are texts in {}; {}reads them as NULL",
            names.join(", "),
            words.iter().map(option).collect::<String>()
        ));
        let has_escape = |text: &&&[u8]| {
            [&b"\\t"[..], b"\\n", b"\\\\"]
                .iter()
                .any(|escape| memchr::memmem::find(text, escape).is_some())
        };
        let escaped = columns.iter().flatten().flatten().find(has_escape);
        if let Some(text) = escaped.filter(|_| words.iter().any(|word| word == "\\N")) {
            let text = first_characters(text);
            self.notes.warn(format!("texts have escapes such as `{text}`, which stay as they are"));
        }
    }

    /// Warns of last lines that may be no rows: they stand behind an empty line, or have no value.
    pub(super) fn doubt_end(&self, bytes: &[u8]) {
        let is_quote = |byte: &&u8| Some(**byte) == self.dialect.quote;
        for lines in 1..=FOOTER {
            let begin = last_lines(bytes, lines);
            let footer = &bytes[begin..];
            if begin > 0 && has_empty_line(&bytes[..begin]) {
                // Empty lines between all rows mean nothing, and behind a single row they may be between all.
                let rows = bytes[..begin].trim_ascii();
                let has_others = memchr::memchr2(b'\n', b'\r', rows).is_none()
                    || [&b"\n\n"[..], b"\n\r\n", b"\r\r\n"]
                        .iter()
                        .any(|pair| memchr::memmem::find(rows, pair).is_some());
                if !has_others && footer.iter().filter(is_quote).count().is_multiple_of(2) {
                    let first =
                        lossy_text(footer.split(|byte| *byte == b'\n').next().unwrap_or(footer));
                    self.notes.warn(format!("rows stand behind an empty line near the end, from `{}` on; --skip-lines 0,{lines} leaves them out", first.trim()));
                }
                return;
            }
        }
        let is_empty = |line: &[u8]| {
            !line.trim_ascii().is_empty()
                && line
                    .iter()
                    .all(|byte| *byte == self.dialect.delimiter || byte.is_ascii_whitespace())
        };
        let at = |lines: usize| &bytes[last_lines(bytes, lines)..last_lines(bytes, lines - 1)];
        let empty = (1..=ROWS).take_while(|lines| is_empty(at(*lines))).count();
        if empty > 0 {
            self.notes.warn(format!(
                "the last rows have no value; --skip-lines 0,{empty} leaves them out"
            ));
        }
    }
}

fn is_missing(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text).trim().to_lowercase();
    MISSING.contains(&&*text)
}
