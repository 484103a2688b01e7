//! Functions of a column of times that are compared, and the ranges of the column itself that say the same.

use engine::Value;
use script::effect::{literal, quoted};
use script::{Kind, Token, closing};

use super::rewrites::{Affinity, Edits, affinity};
use super::{Cause, Seen};
use crate::conditions::{begins_condition, ends_condition};

/// The beginnings of a time: their length, format, what a time lacks then, and the step to the next one.
const BEGINNINGS: [(usize, &str, &str, &str); 6] = [
    (4, "%Y", "-01-01", "+1 year"),
    (7, "%Y-%m", "-01", "+1 month"),
    (10, "%Y-%m-%d", "", "+1 day"),
    (13, "%Y-%m-%d %H", ":00", "+1 hour"),
    (16, "%Y-%m-%d %H:%M", "", "+1 minute"),
    (19, "%Y-%m-%d %H:%M:%S", "", "+1 second"),
];

/// A call that gives the beginning of a time in a column.
struct Call<'s> {
    text: &'s str,
    /// The column as the text has it, and its name.
    column: &'s str,
    name: String,
    beginning: (usize, &'static str, &'static str, &'static str),
    /// Whether the column has seconds since 1970 instead of texts.
    is_number: bool,
    /// The place of its last token.
    close: usize,
}

impl Seen<'_> {
    /// Returns the text with ranges of a column in place of comparisons of a function of it, if all rows allow it.
    pub(super) fn ranges(&self) -> Option<(Cause, Edits)> {
        let (mut edits, mut cause) = (Edits::new(), None);
        for place in 1..self.tokens.len() {
            if !begins_condition(&self.tokens[place - 1]) {
                continue;
            }
            let Some(call) = self.call(place) else { continue };
            let Some((end, range)) = self.range(&call) else { continue };
            if self.is_beginning(&call) {
                edits.push((self.tokens[place].start..end, range));
                let operands =
                    self.tokens[call.close..].iter().take_while(|token| token.start < end);
                let mut operands = operands.filter(|token| token.kind == Kind::Parameter);
                let operand = operands.next().map(|token| token.text.to_owned());
                let (call, column) = (call.text.to_owned(), call.name);
                cause.get_or_insert(Cause::Range { call, column, operand });
            }
        }
        Some((cause?, edits))
    }

    /// Returns the text with a column alone in place of the time since it, such as `julianday('now') - julianday(column) < 7`, if all rows
    /// allow it.
    pub(super) fn since(&self) -> Option<(Cause, Edits)> {
        let all = &self.tokens;
        (1..all.len()).filter(|place| begins_condition(&all[place - 1])).find_map(|place| {
            let (minus, now) = self.operand(place)?;
            all.get(minus).filter(|sign| sign.text == "-")?;
            let name = all.get(minus + 1)?;
            let (is_day, first) = match (name.text.to_lowercase().as_str(), all.get(minus + 3)?) {
                ("julianday", _) => (Some(true), minus + 3),
                ("unixepoch", _) => (Some(false), minus + 3),
                ("strftime", format) if format.text == "'%s'" => (Some(false), minus + 5),
                _ => (None, minus + 1),
            };
            let (_, table, column, last) = self.column(first)?;
            let after = last + usize::from(is_day.is_some());
            let operator: String = all
                .get(after..)?
                .iter()
                .map_while(|token| "<>=".contains(token.text).then_some(token.text))
                .collect();
            let span = after + operator.len();
            let end =
                (span..all.len()).find(|place| ends_condition(&all[*place])).unwrap_or(all.len());
            let difference = match end.checked_sub(span)? {
                0 => return None,
                1 => self.text(span, end).to_owned(),
                _ => format!("({})", self.text(span, end)),
            };
            let text = self.text(first, last);
            let quoted = quoted(&column);
            let operator = match (operator.as_str(), is_day) {
                // A time in whole seconds is after one with a fraction if it is after its second.
                ("<" | "<=", Some(true)) | ("<", _) => ">",
                (">" | ">=", Some(true)) | (">=", _) => "<=",
                ("<=", _) => ">=",
                (">", _) => "<",
                _ => return None,
            };
            let (bound, differs) = match is_day {
                Some(is_day) => {
                    let unit = if is_day { "" } else { ", 'unixepoch'" };
                    let differs = format!("{quoted} IS NOT datetime({quoted})");
                    (format!("datetime({now} - {difference}{unit})"), differs)
                }
                None => {
                    let differs = format!("typeof({quoted}) NOT IN ('integer', 'real', 'null')");
                    (format!("{now} - {difference}"), differs)
                }
            };
            self.has_none(table, &differs).then(|| {
                let start = all[place].start;
                let expression = self.text(place, after).to_owned();
                let edits = vec![(
                    start..all[end - 1].start + all[end - 1].text.len(),
                    format!("{text} {operator} {bound}"),
                )];
                (Cause::Since { expression, column }, edits)
            })
        })
    }

    /// Returns the call that begins at this token.
    fn call(&self, place: usize) -> Option<Call<'_>> {
        let (all, sql) = (&self.tokens, &self.query.sql);
        let close = closing(all, place + 1).filter(|_| all[place + 1].text == "(")?;
        let arguments: Vec<&[Token<'_>]> =
            all[place + 2..close].split(|token| token.text == ",").collect();
        let word = |argument: usize| match arguments.get(argument)? {
            [token] => Some(token.text),
            _ => None,
        };
        let (length, number, rest) = match all[place].text.to_lowercase().as_str() {
            "date" => (10, 0, 1),
            "datetime" => (19, 0, 1),
            "strftime" => {
                let format = word(0)?.trim_matches('\'');
                let same = |it: &&(usize, &str, &str, &str)| it.1 == format;
                (BEGINNINGS.iter().find(same)?.0, 1, 2)
            }
            "substr" | "substring" if word(1)? == "1" => (word(2)?.parse().ok()?, 0, 3),
            _ => return None,
        };
        let is_number = match (arguments.len().checked_sub(rest)?, word(rest)) {
            (0, _) => false,
            (1, Some("'unixepoch'")) => true,
            _ => return None,
        };
        let (first, last) = (arguments.get(number)?.first()?, arguments[number].last()?);
        let is_column = matches!(arguments[number], [_] | [_, Token { text: ".", .. }, _]);
        Some(Call {
            text: &sql[all[place].start..=all[close].start],
            column: &sql[first.start..last.start + last.text.len()],
            name: last.name().filter(|_| is_column && !last.is_text())?,
            beginning: *BEGINNINGS.iter().find(|known| known.0 == length)?,
            is_number,
            close,
        })
    }

    /// Returns where the comparison after a call ends, and the range of the column that says the same.
    fn range(&self, call: &Call<'_>) -> Option<(usize, String)> {
        let (all, after) = (&self.tokens, call.close + 1);
        let column = call.column;
        if all.get(after)?.is("between") {
            let (and, first) = self.operand(after + 1)?;
            all.get(and).filter(|token| token.is("and"))?;
            let (next, last) = self.operand(and + 1)?;
            let [from, to] = [self.bound(call, first, false)?, self.bound(call, last, true)?];
            return Some((self.end(next)?, format!("{column} >= {from} AND {column} < {to}")));
        }
        let signs = all[after..].iter().take_while(|token| "<>=".contains(token.text));
        let operator: String = signs.map(|token| token.text).collect();
        let (next, operand) = self.operand(after + operator.len())?;
        let bound = |is_next| self.bound(call, operand, is_next);
        let range = match operator.as_str() {
            "=" | "==" => {
                format!("{column} >= {} AND {column} < {}", bound(false)?, bound(true)?)
            }
            ">=" => format!("{column} >= {}", bound(false)?),
            "<" => format!("{column} < {}", bound(false)?),
            ">" => format!("{column} >= {}", bound(true)?),
            "<=" => format!("{column} < {}", bound(true)?),
            _ => return None,
        };
        Some((self.end(next)?, range))
    }

    /// Returns the place after a literal, a parameter or a call of a function, and its text.
    fn operand(&self, place: usize) -> Option<(usize, &str)> {
        let (all, token) = (&self.tokens, self.tokens.get(place)?);
        let is_call = token.kind == Kind::Word && all.get(place + 1)?.text == "(";
        let last = if is_call { closing(all, place + 1)? } else { place };
        let is_literal = token.kind == Kind::Parameter || token.is_text();
        let text = &self.query.sql[token.start..all[last].start + all[last].text.len()];
        (is_call || is_literal).then_some((last + 1, text))
    }

    /// Returns where an operand ends before this token, unless it is part of an expression.
    fn end(&self, next: usize) -> Option<usize> {
        let last = &self.tokens[next - 1];
        let is_part = |token: &Token<'_>| token.kind == Kind::Sign && token.text != ")";
        let is_free =
            self.tokens.get(next).is_none_or(|token| !is_part(token) && !token.is("collate"));
        is_free.then_some(last.start + last.text.len())
    }

    /// Returns the least value of the column with this beginning, or with the next one; a literal for a literal.
    fn bound(&self, call: &Call<'_>, operand: &str, is_next: bool) -> Option<String> {
        let (length, format, rest, step) = call.beginning;
        let is_literal = operand.starts_with('\'');
        if is_literal && operand.len() != length + 2 {
            return None;
        }
        let begun =
            if rest.is_empty() { operand.to_owned() } else { format!("{operand} || '{rest}'") };
        let step = if is_next { format!(", '{step}'") } else { String::new() };
        let bound = match (call.is_number, is_next) {
            (true, _) => format!("unixepoch({begun}{step})"),
            (false, false) => return Some(operand.to_owned()),
            (false, true) if length == 10 => format!("date({begun}{step})"),
            (false, true) => format!("strftime('{format}', {begun}{step})"),
        };
        if !is_literal {
            return Some(bound);
        }
        match self.subject.connect().ok()?.query_value(&format!("SELECT {bound}")).ok()? {
            Value::Text(text) => Some(literal(&text)),
            Value::Integer(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// Returns whether the call gives the beginning of the column's value in each row, so that both are in one order.
    fn is_beginning(&self, call: &Call<'_>) -> bool {
        let Some(table) = self.table_with(&call.name) else { return false };
        let (column, length) = (quoted(&call.name), call.beginning.0);
        let kind = table.column(&call.name).map_or("", |place| &table.columns[place].kind);
        // Beside a column of numbers, a year in a text is a number, which is less than every text.
        if length == 4 && !call.is_number && affinity(kind) != Affinity::Text {
            return false;
        }
        let format = call.beginning.1;
        let differs = if call.is_number {
            format!(
                "{column} IS NOT NULL AND (typeof({column}) NOT IN ('integer', 'real') OR date({column}, 'unixepoch') IS NULL)"
            )
        } else {
            format!(
                "{column} IS NOT NULL AND (typeof({column}) <> 'text' OR strftime('{format}', {column}) IS NOT substr({column}, 1, {length}))"
            )
        };
        self.has_none(table, &differs)
    }
}
