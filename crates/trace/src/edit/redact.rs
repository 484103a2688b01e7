//! A trace without texts and blobs.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::path::Path;
use std::sync::Arc;

use engine::{Library, Value};
use serde_json::{Value as Json, json};

use super::Draft;
use crate::content::{Classes, code};
use crate::normalise::{is_comment, pieces};
use crate::{Result, Trace, TraceError, normalised};

/// Hashes with a random key that is not kept, so that nobody can try out texts.
struct Hash<'t> {
    key: RandomState,
    trace: &'t Trace,
    /// The order of what is hashed.
    classes: Classes,
    /// Whether the classes are not numbered yet.
    collects: bool,
    /// Why a long value could not be read.
    failed: Option<TraceError>,
}

/// Writes a trace whose texts and blobs are hashed; returns how many statements it has. Their lengths, which of them are
/// equal and the order of their first sixteen bytes remain. Numbers, names and paths stay as they are; snapshots and arguments of programs are left
/// out.
///
/// # Errors
/// When the trace cannot be read or is redacted, or the new one exists or cannot be written.
pub fn redact(library: &Arc<Library>, from: &Path, to: &Path) -> Result<u64> {
    let draft = Draft::new(library, to)?;
    let trace = draft.attach(from)?;
    if trace.meta()?.redacted {
        return Err(TraceError::Redacted(from.to_owned()));
    }
    draft.execute(
        "INSERT INTO main.process SELECT id, pid, parent_pid, program, '[]', ended FROM source.process;
         INSERT INTO main.library SELECT * FROM source.library;
         INSERT INTO main.note SELECT * FROM source.note;
         INSERT INTO main.connection SELECT * FROM source.connection;
         INSERT INTO main.setting SELECT * FROM source.setting;
         INSERT INTO main.snapshot SELECT id, database, 'skipped', NULL FROM source.snapshot;
         INSERT INTO main.meta SELECT * FROM source.meta;
         INSERT OR REPLACE INTO main.meta VALUES ('redacted', 1);
         INSERT INTO main.counters SELECT * FROM source.counters;
         INSERT INTO main.execution SELECT id, connection, statement, start_us, duration_ns, ticket, counters,
           CASE typeof(\"values\") WHEN 'integer' THEN \"values\" END FROM source.execution ORDER BY id",
    )?;
    let mut hash = Hash {
        key: RandomState::new(),
        trace: &trace,
        classes: Classes::default(),
        collects: true,
        failed: None,
    };
    let others = "id IN (SELECT id FROM source.execution WHERE typeof(\"values\") = 'text')";
    hash.collect(&draft, others)?;
    for row in draft.rows("SELECT id, normalised, readonly, sql FROM source.statement")? {
        if let [id, normalised, readonly, Value::Text(sql)] = row.as_slice() {
            let sql = Value::Text(hash.sql(sql));
            let values = [id.clone(), normalised.clone(), readonly.clone(), sql];
            draft.run("INSERT INTO main.statement VALUES (?, ?, ?, ?)", &values)?;
        }
    }
    for row in draft.rows("SELECT id, sql FROM source.normalised")? {
        if let [id, Value::Text(sql)] = row.as_slice() {
            let sql = Value::Text(normalised(&hash.sql(sql)));
            draft.run("INSERT INTO main.normalised VALUES (?, ?)", &[id.clone(), sql])?;
        }
    }
    draft.rewrite_values(others, 0, |values| hash.values(values))?;
    match hash.failed {
        Some(error) => Err(error),
        None => draft.finish(),
    }
}

impl Hash<'_> {
    /// Numbers the classes of all texts and blobs: of statements, and of the values of events for which the condition
    /// holds.
    fn collect(&mut self, draft: &Draft, condition: &str) -> Result<()> {
        for row in draft.rows("SELECT sql FROM source.statement")? {
            if let [Value::Text(sql)] = row.as_slice() {
                self.sql(sql);
            }
        }
        draft.for_each_values(condition, |_, values| {
            self.values(values);
            Ok(())
        })?;
        self.classes.number();
        self.collects = false;
        Ok(())
    }

    fn of(&self, bytes: &[u8]) -> String {
        format!("{:016x}", self.key.hash_one(bytes))
    }

    fn values(&mut self, values: &str) -> String {
        let all = serde_json::from_str::<Vec<Json>>(values).unwrap_or_else(|_| {
            // Nothing of what cannot be read may stay.
            vec![json!({ "omitted": true })]
        });
        let all: Vec<Json> = all.into_iter().map(|value| self.value(value)).collect();
        Json::from(all).to_string()
    }

    fn value(&mut self, value: Json) -> Json {
        match &value {
            Json::String(text) => self.hashed(false, text.as_bytes()),
            Json::Object(object) => match object.iter().next() {
                Some((name, content)) => self.object(name, content).unwrap_or(value),
                None => value,
            },
            _ => value,
        }
    }

    fn hashed(&mut self, is_blob: bool, bytes: &[u8]) -> Json {
        let name = if is_blob { "blob_hash" } else { "text_hash" };
        json!({ name: self.of(bytes), "length": bytes.len(), "order": self.class(is_blob, bytes) })
    }

    fn class(&mut self, is_blob: bool, bytes: &[u8]) -> u64 {
        let code = code(bytes);
        if self.collects {
            self.classes.note(is_blob, code);
        }
        self.classes.of(is_blob, code)
    }

    /// Returns the replacement of an object; `None` if it has no content.
    fn object(&mut self, name: &str, content: &Json) -> Option<Json> {
        let text = content.as_str().unwrap_or_default();
        match name {
            "hex" => Some(self.hashed(true, &bytes_of(text))),
            "text_hex" => Some(self.hashed(false, &bytes_of(text))),
            "expanded" => Some(json!({ "expanded": self.sql(text) })),
            "blob" => Some(self.long(content.as_i64().unwrap_or(0))),
            _ => None,
        }
    }

    fn long(&mut self, number: i64) -> Json {
        match self.trace.long_value(number) {
            Ok(Value::Text(text)) => self.hashed(false, text.as_bytes()),
            Ok(Value::Blob(bytes)) => self.hashed(true, &bytes),
            Ok(_) => json!({ "omitted": true }),
            Err(error) => {
                self.failed = Some(error);
                Json::Null
            }
        }
    }

    /// Returns a statement with hash, length and class for each text and blob, and without comments, which may quote
    /// values.
    fn sql(&mut self, sql: &str) -> String {
        let mut out = String::with_capacity(sql.len());
        for piece in pieces(sql) {
            if is_literal(piece) {
                let (is_blob, content) = content_of(piece);
                let (hash, class) = (self.of(&content), self.class(is_blob, &content));
                out.push_str(&format!("'#{hash}:{}:{class}'", content.len()));
            } else if is_comment(piece) {
                out.push(' ');
            } else {
                out.push_str(piece);
            }
        }
        out
    }
}

/// Returns whether a piece may be a text or a blob. SQLite takes a name in double quotes for a text if nothing has this
/// name, so quoted names of several words count, too.
fn is_literal(piece: &str) -> bool {
    let mut inner = piece.chars().skip(1).take(piece.chars().count().saturating_sub(2));
    match piece.chars().next() {
        Some('\'') => true,
        Some('"') => !inner.all(|c| c.is_alphanumeric() || c == '_'),
        Some('x' | 'X') => piece[1..].starts_with('\''),
        _ => false,
    }
}

/// Returns whether a literal is a blob, and its value.
fn content_of(piece: &str) -> (bool, Vec<u8>) {
    let Some(quote) = piece.chars().next().filter(|c| "'\"".contains(*c)) else {
        return (true, bytes_of(piece[1..].trim_matches('\'')));
    };
    let inner = piece[1..].strip_suffix(quote).unwrap_or(&piece[1..]);
    let quotes = [quote; 2].iter().collect::<String>();
    (false, inner.replace(&quotes, &quote.to_string()).into_bytes())
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok())
    };
    digits.filter_map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_double_quotes_may_be_texts_unless_they_are_a_word() {
        for (piece, is_one) in [
            ("\"name\"", false),
            ("\"me@example.com\"", true),
            ("'a'", true),
            ("X'00'", true),
            ("x", false),
            ("`a b`", false),
        ] {
            assert_eq!(is_literal(piece), is_one, "{piece}");
        }
    }

    #[test]
    fn literals_stand_for_what_a_bound_value_would() {
        for (piece, is_blob, content) in [
            ("'it''s'", false, "it's"),
            ("\"a \"\"b\"", false, "a \"b"),
            ("X'4142'", true, "AB"),
            ("'open", false, "open"),
        ] {
            let expected = (is_blob, content.as_bytes().to_vec());
            assert_eq!(content_of(piece), expected, "{piece}");
        }
    }

    #[test]
    fn hexadecimal_digits_are_bytes() {
        assert_eq!(bytes_of("00ff"), [0, 255]);
        assert!(bytes_of("").is_empty());
    }
}
