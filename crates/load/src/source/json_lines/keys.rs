//! The keys of objects, and what their values are.

use super::{Lines, object, split};
use crate::error::LoadError;
use crate::source::infer::{Kind, Seen};
use crate::table::same;

/// The keys of lines in the order of their appearance, with what their values are.
#[derive(Default)]
pub(super) struct Keys {
    columns: Vec<(String, Seen)>,
    /// Lines so far.
    lines: usize,
    /// The number of the first line that is no object, and what is wrong with it.
    first_problem: Option<(usize, String)>,
}

impl Keys {
    /// Adds those of so many lines.
    pub(super) fn add(&mut self, bytes: &[u8], most: usize) {
        for line in split(bytes).take(most) {
            self.lines += 1;
            match object(line) {
                Ok(Some(object)) => object.0.iter().for_each(|(key, value)| {
                    let (kind, row) = (kind(value.get()), self.lines as u64);
                    let known = self.columns.iter().position(|(name, _)| name == key);
                    let at = known.unwrap_or_else(|| {
                        let name = key.clone().into_owned();
                        self.columns.push((name, Seen::NOTHING));
                        self.columns.len() - 1
                    });
                    self.columns[at].1.see(kind, row, value.get().as_bytes());
                }),
                Ok(None) => {}
                Err(problem) => {
                    self.first_problem.get_or_insert((self.lines, problem));
                }
            }
        }
    }

    /// All of them, and `more`.
    pub(super) fn checked(
        self,
        lines: &Lines,
        more: &[String],
    ) -> Result<Vec<(String, Seen)>, LoadError> {
        let (input, mut columns) = (&lines.input, self.columns);
        if columns.is_empty() {
            let reason = match self.first_problem {
                Some((number, reason)) => format!("{} {number}: {reason}", lines.unit.name()),
                None => "it contains no object with a key".to_owned(),
            };
            return Err(LoadError::form(input, reason));
        }
        for name in more {
            if !columns.iter().any(|(known, _)| same(known, name)) {
                columns.push((name.clone(), Seen::NOTHING));
            }
        }
        check_names(input, &columns)?;
        Ok(columns)
    }
}

/// Only these keys, with what their values are as far as that is known.
pub(super) fn selected(known: &[(String, Seen)], only: &[String]) -> Vec<(String, Seen)> {
    let of = |name: &String| {
        let found = known.iter().find(|(known, _)| known == name);
        (name.clone(), found.map_or(Seen::NOTHING, |(_, seen)| seen.clone()))
    };
    only.iter().map(of).collect()
}

/// Keys that differ only in JSON cannot be two columns.
fn check_names(input: &str, columns: &[(String, Seen)]) -> Result<(), LoadError> {
    for (number, (name, _)) in columns.iter().enumerate() {
        let wrong = if name.contains('\0') {
            Some("a key holds a NUL character".to_owned())
        } else {
            columns[..number].iter().find(|(known, _)| same(known, name)).map(|(known, _)| {
                format!("the keys {known} and {name} differ only in case, which SQLite ignores")
            })
        };
        if let Some(reason) = wrong {
            return Err(LoadError::form(input, reason));
        }
    }
    Ok(())
}

/// What a value is, as JSON writes it.
fn kind(raw: &str) -> Kind {
    match raw.as_bytes().first() {
        Some(b'n') => Kind::Unknown,
        Some(b't' | b'f') => Kind::Integer,
        Some(b'"' | b'[' | b'{') | None => Kind::Text,
        Some(_) => Kind::of_digits(raw.as_bytes()).unwrap_or(Kind::Real),
    }
}
