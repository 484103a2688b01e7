//! A statement as a form with slots: the text without its values, and where each value comes from.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::fit::Shape;
use crate::fit::values::Fit;
use crate::normalise::{is_comment, pieces};

/// Where the value of a slot comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// The text has it.
    Written(Json),
    /// It is bound, under this index from 0.
    Bound(usize),
}

/// A statement in parts: a slot is between each part and the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Form {
    /// The text around the slots, one more than there are slots.
    pub parts: Vec<String>,
    /// The slots, in the order of the text.
    pub slots: Vec<Origin>,
}

impl Form {
    /// Takes a statement apart.
    pub fn of(sql: &str) -> Form {
        let mut form = Form::default();
        let (mut part, mut names) = (String::new(), Vec::new());
        for piece in pieces(sql.trim_end_matches([';', ' ', '\n', '\t'])) {
            match slot(piece, &mut names) {
                Some(origin) => {
                    form.parts.push(std::mem::take(&mut part));
                    form.slots.push(origin);
                }
                None if is_comment(piece) || piece.trim().is_empty() => part.push(' '),
                None => part.push_str(piece),
            }
        }
        form.parts.push(part);
        form
    }

    /// Has an insertion skip rows with a key that exists, as drawn values may be, unless it says what happens then. Returns whether it does.
    pub fn ignore_collisions(&mut self) -> bool {
        let lower: Vec<String> = self.parts.iter().map(|part| part.to_ascii_lowercase()).collect();
        let decides = lower.iter().any(|part| part.contains("on conflict"));
        let first = lower[0].split_whitespace().next().unwrap_or_default();
        if decides || !["insert", "with"].contains(&first) {
            return false;
        }
        let mut places = lower.iter().enumerate().filter_map(|(number, part)| {
            let (at, _) = part
                .match_indices("into")
                .find(|(at, _)| part[..*at].split_whitespace().next_back() == Some("insert"))?;
            Some((number, at))
        });
        let Some((number, at)) = places.next() else { return false };
        drop(places);
        self.parts[number].insert_str(at, "OR IGNORE ");
        true
    }

    /// Returns the text with this for each slot.
    pub fn with(&self, slots: &[String]) -> String {
        let mut text = String::new();
        for (number, part) in self.parts.iter().enumerate() {
            text.push_str(part);
            text.push_str(slots.get(number).map_or("", String::as_str));
        }
        text
    }

    /// Returns the key that equal forms share.
    pub fn key(&self) -> String {
        self.with(&vec!["?".to_owned(); self.slots.len()])
    }
}

/// Returns where the value of a token comes from; `None` if it is not a value.
fn slot(token: &str, names: &mut Vec<String>) -> Option<Origin> {
    let first = token.chars().next()?;
    match first {
        '0'..='9' | '.' => literal(token),
        '\'' => {
            let inner = token[1..].strip_suffix('\'').unwrap_or(&token[1..]);
            Some(Origin::Written(inner.replace("''", "'").into()))
        }
        'x' | 'X' if token[1..].starts_with('\'') => {
            let digits = token[2..].trim_end_matches('\'');
            Some(Origin::Written(serde_json::json!({ "hex": digits })))
        }
        '?' | ':' | '@' | '$' if token.len() > 1 || first == '?' => {
            Some(Origin::Bound(index(token, names)))
        }
        _ => None,
    }
}

fn literal(token: &str) -> Option<Origin> {
    let number = token.parse::<i64>().map(Json::from);
    let number = number.or_else(|_| token.parse::<f64>().map(Json::from));
    // A hexadecimal number stays as it is written.
    number.ok().map(Origin::Written)
}

/// Returns the index that SQLite gives to a parameter: by its name or its number, otherwise the next one.
fn index(token: &str, names: &mut Vec<String>) -> usize {
    if let Some(number) = token.strip_prefix('?').and_then(|number| number.parse::<usize>().ok()) {
        let length = names.len().max(number.min(32_766));
        names.resize(length, String::new());
        return number.saturating_sub(1);
    }
    let known = (token != "?").then(|| names.iter().position(|name| name == token)).flatten();
    known.unwrap_or_else(|| {
        names.push(token.to_owned());
        names.len() - 1
    })
}

/// Returns a script that executes one of the shapes, by how often each came.
pub fn script(shapes: &[(Shape, u64)], forms: &[Form], fits: &BTreeMap<usize, Vec<Fit>>) -> String {
    let total: u64 = shapes.iter().map(|(_, count)| count).sum();
    let mut text = format!("-- recorded transactions: {total}\n");
    if shapes.len() > 1 {
        text += &format!("\\set shape random(1, {total})\n");
    }
    let (mut sum, mut variables) = (0, 0);
    for (number, (shape, count)) in shapes.iter().enumerate() {
        sum += count;
        text += &match number {
            _ if shapes.len() == 1 => String::new(),
            0 => format!("\\if :shape <= {sum}\n"),
            _ => format!("\\elif :shape <= {sum}\n"),
        };
        text += &format!("-- {count} of {total}\n");
        for form in shape {
            text += &statement(&forms[*form], fits.get(form), &mut variables);
        }
    }
    if shapes.len() > 1 {
        text += "\\endif\n";
    }
    text
}

/// Returns the commands for the variables of a statement, and the statement. A parameter has one value, wherever the statement has it.
fn statement(form: &Form, fits: Option<&Vec<Fit>>, variables: &mut usize) -> String {
    let (mut commands, mut slots) = (String::new(), Vec::<(String, String)>::new());
    for (place, fit) in fits.into_iter().flatten().enumerate() {
        let own = &form.slots[place];
        let mut earlier = form.slots[..place].iter().zip(&slots);
        let is_same = |slot: &Origin| matches!(slot, Origin::Bound(_)) && slot == own;
        if let Some((_, same)) = earlier.find(|(slot, _)| is_same(slot)) {
            slots.push(same.clone());
            continue;
        }
        *variables += 1;
        let name = format!("v{variables}");
        let before = slots.last().map_or("", |(name, _)| name);
        if let Some(command) = fit.command(&name, before) {
            commands += &command;
            commands.push('\n');
        }
        let sql = fit.sql(&name);
        slots.push((name, sql));
    }
    let slots: Vec<String> = slots.into_iter().map(|(_, sql)| sql).collect();
    format!("{commands}{};\n", form.with(&slots).trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_taken_apart_and_put_together() {
        let form = Form::of(
            "SELECT a1, 'it''s' FROM t -- why\nWHERE b = :b AND c > 1.5 AND d = :b OR e = ?;",
        );
        let origins = [
            Origin::Written("it's".into()),
            Origin::Bound(0),
            Origin::Written(1.5.into()),
            Origin::Bound(0),
            Origin::Bound(1),
        ];
        assert_eq!(form.slots, origins);
        let names: Vec<String> = (1..=5).map(|it| format!(":v{it}")).collect();
        assert_eq!(
            form.with(&names),
            "SELECT a1, :v1 FROM t  WHERE b = :v2 AND c > :v3 AND d = :v4 OR e = :v5"
        );
        assert_eq!(Form::of("a = ?2 OR b = ?").slots, [Origin::Bound(1), Origin::Bound(2)]);
        let one = Form::of("SELECT x'00', -7");
        assert_eq!(one.key(), "SELECT ?, -?");
        assert_eq!(Form::of("SELECT 0xff, t1").slots, []);
        assert_eq!(Form::of("SELECT t$1, .5").slots, [Origin::Written(0.5.into())]);
    }

    #[test]
    fn only_insertions_that_leave_it_open_skip_rows_with_a_key_that_exists() {
        let skipping = |sql: &str| {
            let mut form = Form::of(sql);
            form.ignore_collisions();
            form.key()
        };
        let skips = "insert OR IGNORE into t(a) VALUES (?)";
        assert_eq!(skipping("insert into t(a) VALUES (1)"), skips);
        assert_eq!(
            skipping("WITH c(n) AS (SELECT 1) INSERT INTO t SELECT n FROM c"),
            "WITH c(n) AS (SELECT ?) INSERT OR IGNORE INTO t SELECT n FROM c"
        );
        for sql in [
            "INSERT OR REPLACE INTO t VALUES (?)",
            "UPDATE into_t SET a = ?",
            "INSERT INTO t VALUES (?) ON CONFLICT DO NOTHING",
        ] {
            assert_eq!(skipping(sql), sql);
        }
    }
}
