//! The order of texts and blobs whose content is hashed.
//!
//! Those with the same first sixteen bytes are one class. Classes are numbered from 1 in the order of these bytes, texts
//! before blobs, as SQLite sorts them without a collation.

use std::collections::BTreeMap;

use recorder::layout::ORDER_CODE;

/// The code that orders a text or a blob: larger, byte by byte, for a later one.
pub(crate) type Code = [u8; ORDER_CODE];

/// The classes of a trace: known once all texts and blobs were noted and numbered.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    /// By whether it is one of blobs, and by its code.
    numbers: BTreeMap<(bool, Code), u64>,
}

impl Classes {
    /// Notes that a text, or a blob, is in the class with this code.
    pub(crate) fn note(&mut self, is_blob: bool, code: Code) {
        self.numbers.insert((is_blob, code), 0);
    }

    /// Numbers the classes that were noted.
    pub(crate) fn number(&mut self) {
        for (number, class) in (1..).zip(self.numbers.values_mut()) {
            *class = number;
        }
    }

    /// Returns the number of a class; 0 for one that was not noted.
    pub(crate) fn of(&self, is_blob: bool, code: Code) -> u64 {
        self.numbers.get(&(is_blob, code)).copied().unwrap_or(0)
    }
}

/// Returns the code of a text or a blob: two bytes for each of the first ones, 0 behind the end.
pub(crate) fn code(content: &[u8]) -> Code {
    let mut code = Code::default();
    for (two, byte) in code.chunks_exact_mut(2).zip(content) {
        two.copy_from_slice(&(u16::from(*byte) + 1).to_be_bytes());
    }
    code
}

/// Returns a statement of a recording with a class for each hashed text in place of the code that the recorder has
/// written: `'#HASH:LENGTH:tCODE'`, or with a `b` for a blob.
pub(crate) fn with_classes(sql: &str, mut class: impl FnMut(bool, Code) -> u64) -> String {
    let mut out = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(at) = rest.find("'#") {
        let (before, after) = rest.split_at(at + 2);
        let (text, after) = after.split_at(after.find('\'').unwrap_or(after.len()));
        out.push_str(before);
        out.push_str(&with_class(text, &mut class).unwrap_or_else(|| text.to_owned()));
        rest = after;
    }
    out + rest
}

fn with_class(text: &str, class: &mut impl FnMut(bool, Code) -> u64) -> Option<String> {
    let (others, code) = text.rsplit_once(':')?;
    let is_blob = match code.as_bytes().first()? {
        b't' => false,
        b'b' => true,
        _ => return None,
    };
    let code = code_of(code.get(1..)?)?;
    Some(format!("{others}:{}", class(is_blob, code)))
}

/// Returns a code that is written in hexadecimal digits.
fn code_of(digits: &str) -> Option<Code> {
    let mut code = Code::default();
    if digits.len() != 2 * code.len() {
        return None;
    }
    for (at, byte) in code.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_the_order_of_the_first_bytes_and_texts_come_before_blobs() {
        let ordered: [(bool, &[u8]); 7] = [
            (false, b""),
            (false, b"0123456789abcdefz"),
            (false, b"a"),
            (false, b"a\0"),
            (false, b"abcdz"),
            (false, b"b"),
            (true, b""),
        ];
        let mut classes = Classes::default();
        for (is_blob, content) in ordered.iter().rev() {
            classes.note(*is_blob, code(content));
        }
        classes.number();
        let numbers = ordered.map(|(is_blob, content)| classes.of(is_blob, code(content)));
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(code(b"0123456789abcdefz"), code(b"0123456789abcdef"));
    }

    #[test]
    fn only_codes_of_the_recorder_are_replaced() {
        let code = format!("1f{}", "00".repeat(ORDER_CODE - 1));
        let sql = format!(
            "SELECT '#00ff:3:t{code}', '#00ff:3:b{code}', '#5', '#a:t1f', a:t1 FROM \"'#x:y'\""
        );
        assert_eq!(
            with_classes(&sql, |is_blob, code| u64::from(code[0]) + u64::from(is_blob)),
            "SELECT '#00ff:3:31', '#00ff:3:32', '#5', '#a:t1f', a:t1 FROM \"'#x:y'\""
        );
    }
}
