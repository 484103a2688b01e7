//! Numbers as people and spreadsheets write them: `1.240.294,00`, `$1,200.50`, `(35.00)`, `12 %`.

use std::fmt;
use std::str::FromStr;

use super::infer::Kind;
use super::number::has_leading_zero;

/// How numbers are written: the mark before decimals and the mark between thousands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberForm {
    decimal: char,
    thousands: Option<char>,
}

/// The forms that are looked for in texts.
const COMMON: [NumberForm; 4] = [
    NumberForm { decimal: ',', thousands: Some('.') },
    NumberForm { decimal: '.', thousands: Some(',') },
    NumberForm { decimal: ',', thousands: Some(' ') },
    NumberForm { decimal: '.', thousands: Some('\'') },
];

/// Signs of currencies before or behind a number.
const CURRENCIES: [&str; 32] = [
    "R$", "$", "€", "£", "¥", "₹", "₽", "₩", "₪", "₺", "฿", "zł", "Kč", "kr", "EUR", "USD", "GBP",
    "CHF", "JPY", "CNY", "INR", "BRL", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "CAD", "AUD",
    "MXN", "ZAR",
];

impl FromStr for NumberForm {
    type Err = String;

    fn from_str(example: &str) -> Result<NumberForm, String> {
        let mut marks = example.chars().filter(|c| !c.is_ascii_digit());
        let form = match (marks.next(), marks.next(), marks.next()) {
            (Some(decimal @ ('.' | ',')), None, _) => NumberForm { decimal, thousands: None },
            (Some(thousands), Some(decimal @ ('.' | ',')), None) if thousands != decimal => {
                NumberForm { decimal, thousands: Some(thousands) }
            }
            _ => NumberForm { decimal: ' ', thousands: None },
        };
        let is_known = |form: &NumberForm| {
            form.thousands
                .is_none_or(|mark| matches!(mark, '.' | ',' | '\'' | '’' | '_') || is_blank(mark))
        };
        let read = Some(form).filter(is_known).and_then(|form| form.plain(example.as_bytes()));
        match read {
            Some(number) if number.contains(&b'.') => Ok(form),
            _ => {
                Err("must be a number with a decimal mark, such as 1.234,5 or 1234,5 or '1 234.5'"
                    .to_owned())
            }
        }
    }
}

impl fmt::Display for NumberForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thousands = self.thousands.map_or_else(String::new, String::from);
        let quote = if self.thousands.is_some_and(|mark| is_blank(mark) || mark == '\'') {
            "\""
        } else {
            ""
        };
        write!(f, "{quote}1{thousands}234{}5{quote}", self.decimal)
    }
}

/// Returns whether a character is a blank, also one at which no line may break.
fn is_blank(mark: char) -> bool {
    matches!(mark, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}')
}

impl NumberForm {
    /// Returns a number of this form as SQLite writes numbers; nothing for any other text. Signs of currencies and
    /// percent are left out, and parentheses mean a minus.
    pub(crate) fn plain(&self, text: &[u8]) -> Option<Vec<u8>> {
        let text = str::from_utf8(text).ok()?.trim_matches(is_blank);
        let in_parentheses = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
        let (minus, text) = signed(in_parentheses.unwrap_or(text))?;
        let text = without_unit(text);
        let (inner, text) = signed(text)?;
        if usize::from(in_parentheses.is_some()) + usize::from(minus) + usize::from(inner) > 1 {
            return None;
        }
        let mut plain = Vec::with_capacity(text.len() + 1);
        if in_parentheses.is_some() || minus || inner {
            plain.push(b'-');
        }
        if ["inf", "infinity", "∞"].contains(&&*text.to_lowercase()) {
            plain.extend_from_slice(b"9e999");
            return Some(plain);
        }
        let (whole, fraction) = match text.split_once(self.decimal) {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (text, None),
        };
        self.push_whole(whole, &mut plain)?;
        if let Some(fraction) = fraction {
            if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            plain.push(b'.');
            plain.extend_from_slice(fraction.as_bytes());
        }
        let has_digits = plain.iter().any(u8::is_ascii_digit);
        (has_digits && !has_leading_zero(&plain)).then_some(plain)
    }

    /// Adds the digits before the decimal mark: with marks between all thousands, or with none.
    fn push_whole(&self, whole: &str, plain: &mut Vec<u8>) -> Option<()> {
        let is_mark =
            |c: char| self.thousands.is_some_and(|mark| c == mark || is_blank(c) && is_blank(mark));
        let groups: Vec<&str> = whole.split(is_mark).collect();
        for (number, group) in groups.iter().enumerate() {
            // In India the marks stand between lakhs and crores too: 12,34,567.
            let is_indian = self.thousands == Some(',') && groups.len() > 2 && groups[1].len() == 2;
            let is_whole = match (number, groups.len()) {
                (_, 1) => true,
                (0, _) => (1..=3 - usize::from(is_indian)).contains(&group.len()),
                (_, all) if is_indian && number + 1 < all => group.len() == 2,
                _ => group.len() == 3,
            };
            if !is_whole || !group.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            plain.extend_from_slice(group.as_bytes());
        }
        Some(())
    }

    /// Returns the common forms in which all of these texts are numbers that SQLite keeps; one form, if the texts show no
    /// marks.
    pub(crate) fn of_all<'t>(texts: impl Iterator<Item = &'t [u8]> + Clone) -> Vec<NumberForm> {
        let is_kept = |number: Vec<u8>| Kind::of(&number).is_number();
        let has =
            |form: &&NumberForm| texts.clone().all(|text| form.plain(text).is_some_and(is_kept));
        let forms: Vec<NumberForm> = COMMON.iter().filter(has).copied().collect();
        if forms.len() == COMMON.len() { vec![COMMON[1]] } else { forms }
    }
}

/// Takes the sign before or behind a number away; returns whether it is a minus.
fn signed(text: &str) -> Option<(bool, &str)> {
    let text = text.trim_matches(is_blank);
    for (sign, minus) in [('-', true), ('−', true), ('–', true), ('+', false)] {
        if let Some(rest) = text.strip_prefix(sign) {
            return Some((minus, rest.trim_matches(is_blank)));
        }
    }
    let price = text.trim_end_matches(['-', '–', '—']);
    match text.strip_suffix('-') {
        // `5.-` is a price without cents.
        _ if price.ends_with(['.', ',']) => Some((false, price)),
        Some(rest) => (!rest.is_empty()).then_some((true, rest)),
        None => Some((false, text)),
    }
}

/// Returns the sign of a currency or percent in a text.
pub(crate) fn unit(text: &[u8]) -> Option<&'static str> {
    let text = str::from_utf8(text).ok()?;
    ["%"].iter().chain(&CURRENCIES).copied().find(|unit| text.contains(unit))
}

/// Returns a number without the sign of a currency or percent.
fn without_unit(text: &str) -> &str {
    let text = text.strip_suffix('%').unwrap_or(text);
    let before = CURRENCIES.iter().find_map(|unit| text.strip_prefix(unit));
    let behind = || CURRENCIES.iter().find_map(|unit| text.strip_suffix(unit));
    before.or_else(behind).unwrap_or(text).trim_matches(is_blank)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(form: &str, text: &str) -> Option<String> {
        let form: NumberForm = form.parse().unwrap();
        form.plain(text.as_bytes()).map(|plain| String::from_utf8(plain).unwrap())
    }

    #[test]
    fn numbers_are_read_in_the_form_that_is_named() {
        for (form, text, number) in [
            ("1.234,5", "1.240.294,00", "1240294.00"),
            ("1.234,5", "-3,00", "-3.00"),
            ("1.234,5", "12", "12"),
            ("1.234,5", "1.234", "1234"),
            ("1,234.5", "$1,200.50", "1200.50"),
            ("1,234.5", "(35.00)", "-35.00"),
            ("1,234.5", "($1,200)", "-1200"),
            ("1,234.5", "-$7.25", "-7.25"),
            ("1,234.5", "$-7.25", "-7.25"),
            ("1,234.5", "7.25-", "-7.25"),
            ("1234,5", "12,5 %", "12.5"),
            ("1 234,5", "1\u{a0}200,5 €", "1200.5"),
            ("1'234.5", "CHF 1'200.50", "1200.50"),
            ("1,234.5", "-Infinity", "-9e999"),
            ("1,234.5", "CHF 5.-", "5."),
            ("1.234,5", "1.234,--", "1234."),
            ("1.234,5", "-5,-", "-5."),
            ("1,234.5", "–5", "-5"),
            ("1,234.5", "₹ 12,34,567.00", "1234567.00"),
        ] {
            assert_eq!(plain(form, text).as_deref(), Some(number), "{text}");
        }
    }

    #[test]
    fn what_has_another_form_is_no_number() {
        for (form, text) in [
            ("1.234,5", "12.50"),
            ("1.234,5", "1.24.294"),
            ("1.234,5", "1,2,3"),
            ("1.234,5", "31.12.2024"),
            ("1.234,5", "007"),
            ("1.234,5", ""),
            ("1.234,5", "-"),
            ("1.234,5", ","),
            ("1.234,5", "€"),
            ("1,234.5", "(-5)"),
            ("1,234.5", "1e5"),
            ("1234,5", "1.200,5"),
            ("1,234.5", "5,-"),
            ("1,234.5", "123,45,678"),
            ("1,234.5", "1,23,45"),
            ("1.234,5", "10.10.100"),
        ] {
            assert_eq!(plain(form, text), None, "{text}");
        }
    }

    #[test]
    fn an_example_must_show_the_decimal_mark() {
        for example in ["1234", "", "1.234", "1.234.5", "x", "1;234,5", "12.34,5", "a1,5"] {
            let form = example.parse::<NumberForm>();
            assert_eq!(form.is_ok(), example == "1.234", "{example}: {form:?}");
        }
        let form: NumberForm = "1 234,5".parse().unwrap();
        assert_eq!(form.to_string(), "\"1 234,5\"");
    }

    #[test]
    fn the_form_of_a_column_is_found() {
        let forms = |texts: &[&str]| {
            let forms = NumberForm::of_all(texts.iter().map(|text| text.as_bytes()));
            forms.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(forms(&["998.310,75", "12,50", "-3,00"]), ["1.234,5"]);
        assert_eq!(forms(&["1,200.50", "(35.00)"]), ["1,234.5"]);
        assert_eq!(forms(&["12,50", "x"]), [""; 0]);
        assert_eq!(forms(&[" 1", "2-"]), ["1,234.5"]);
        // SQLite would change them.
        assert_eq!(forms(&["0.1234567890123456789", "inf"]), [""; 0]);
    }
}
