//! Variables of scripts: names are numbered when a script is read, so that running it looks nothing up.

use std::collections::BTreeMap;

use crate::error::{EvaluationError, Result};

/// The number of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(pub usize);

/// Variables that pgbench defines: the scale factor, the number of the client from 0, the seed of hash functions,
/// and the seed of the run.
pub const PREDEFINED: [&str; 4] = ["scale", "client_id", "default_seed", "random_seed"];

/// The names of the variables of several scripts; the predefined ones have the first slots.
#[derive(Clone, Debug)]
pub struct Names(BTreeMap<String, Slot>);

impl Default for Names {
    fn default() -> Names {
        Names(PREDEFINED.map(str::to_owned).into_iter().zip((0..).map(Slot)).collect())
    }
}

impl Names {
    /// Returns the slot of a name, a new one if it has none yet.
    pub fn slot(&mut self, name: &str) -> Slot {
        let new = Slot(self.0.len());
        *self.0.entry(name.to_owned()).or_insert(new)
    }

    /// Returns the name of a slot of these names.
    pub fn name(&self, slot: Slot) -> &str {
        self.0.iter().find(|(_, known)| **known == slot).map_or("", |(name, _)| name)
    }

    /// Returns how many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the name that is most like one without a value, which may be a misspelling of it.
    pub fn nearest(&self, unset: Slot) -> Option<&str> {
        let others = self.0.iter().filter(|(_, slot)| **slot != unset);
        lab::experiment::nearest(self.name(unset), others.map(|(name, _)| name.as_str()))
    }
}

/// The value of a variable. Text and bytes are in [`Variables`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Value {
    /// No value yet.
    #[default]
    Unset,
    /// SQL's NULL.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Double(f64),
    /// Text, see [`Variables::bytes`].
    Text,
    /// Bytes, see [`Variables::bytes`].
    Blob,
}

impl Value {
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            Value::Unset => "variable without a value",
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Int(_) => "whole number",
            Value::Double(_) => "number",
            Value::Text => "text",
            Value::Blob => "blob",
        }
    }
}

/// The values of one client's variables.
#[derive(Debug, Default)]
pub struct Variables {
    values: Vec<Value>,
    /// For each slot the memory of its text or bytes, which is kept and filled again.
    bytes: Vec<Vec<u8>>,
    /// Whether one ever held text or bytes: copies of numbers alone are made for each transaction.
    any_bytes: bool,
}

impl Clone for Variables {
    fn clone(&self) -> Variables {
        Variables {
            values: self.values.clone(),
            bytes: self.bytes.clone(),
            any_bytes: self.any_bytes,
        }
    }

    /// Allocates nothing where this already held as much.
    #[inline]
    fn clone_from(&mut self, source: &Variables) {
        self.values.clone_from(&source.values);
        if source.any_bytes || self.bytes.len() != source.bytes.len() {
            self.any_bytes = source.any_bytes;
            self.bytes.resize_with(source.bytes.len(), Vec::new);
            for (value, (own, other)) in
                source.values.iter().zip(self.bytes.iter_mut().zip(&source.bytes))
            {
                if matches!(value, Value::Text | Value::Blob) {
                    own.clone_from(other);
                }
            }
        }
    }
}

impl Variables {
    /// Variables without values, one for each name.
    pub fn new(names: &Names) -> Variables {
        Variables {
            values: vec![Value::Unset; names.count()],
            bytes: vec![Vec::new(); names.count()],
            any_bytes: false,
        }
    }

    /// Returns the value of a variable.
    #[inline]
    pub fn get(&self, slot: Slot) -> Value {
        self.values[slot.0]
    }

    /// Gives a variable a value that is neither text nor bytes.
    #[inline]
    pub fn set(&mut self, slot: Slot, value: Value) {
        self.values[slot.0] = value;
    }

    /// Gives a variable a text.
    pub fn set_text(&mut self, slot: Slot, text: &str) {
        self.set_bytes(slot, Value::Text, text.as_bytes());
    }

    /// Gives a variable bytes.
    pub fn set_blob(&mut self, slot: Slot, bytes: &[u8]) {
        self.set_bytes(slot, Value::Blob, bytes);
    }

    fn set_bytes(&mut self, slot: Slot, value: Value, bytes: &[u8]) {
        self.values[slot.0] = value;
        self.any_bytes = true;
        let memory = &mut self.bytes[slot.0];
        memory.clear();
        memory.extend_from_slice(bytes);
    }

    /// Returns the bytes of a variable that holds a text or a blob.
    #[inline]
    pub fn bytes(&self, slot: Slot) -> &[u8] {
        &self.bytes[slot.0]
    }

    /// Returns the text of a variable that holds one.
    pub fn text(&self, slot: Slot) -> Option<&str> {
        match self.get(slot) {
            Value::Text => std::str::from_utf8(self.bytes(slot)).ok(),
            _ => None,
        }
    }

    /// Returns the value of a variable in an expression: a text is parsed as pgbench parses it.
    pub(crate) fn scalar(&self, slot: Slot) -> Result<Value> {
        match self.get(slot) {
            Value::Unset => Err(EvaluationError::Undefined),
            Value::Text => {
                self.text(slot).and_then(read).ok_or(EvaluationError::Type("text", "a number"))
            }
            Value::Blob => Err(EvaluationError::Type("blob", "a number")),
            scalar => Ok(scalar),
        }
    }
}

/// Returns a text as a value, by pgbench's rules: abbreviations of truth values are accepted.
fn read(text: &str) -> Option<Value> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    let begins = |word: &str| {
        !text.is_empty()
            && word.get(..text.len()).is_some_and(|start| text.eq_ignore_ascii_case(start))
    };
    if is("null") {
        Some(Value::Null)
    } else if begins("true") || begins("yes") || is("on") {
        Some(Value::Bool(true))
    } else if begins("false") || begins("no") || is("off") || is("of") {
        Some(Value::Bool(false))
    } else if let Ok(number) = text.trim_start().parse() {
        Some(Value::Int(number))
    } else {
        text.trim_start().parse().ok().map(Value::Double)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_slot_and_predefined_names_come_first() {
        let mut names = Names::default();
        let aid = names.slot("aid");
        assert_eq!((names.slot("aid"), names.slot("scale")), (aid, Slot(0)));
        assert_eq!(names.name(aid), "aid");
        assert_eq!(names.count(), PREDEFINED.len() + 1);
    }

    #[test]
    fn texts_count_as_what_they_say_in_expressions_only() {
        let mut names = Names::default();
        let slot = names.slot("x");
        let mut variables = Variables::new(&names);
        assert_eq!(variables.scalar(slot), Err(EvaluationError::Undefined));
        for (text, wanted) in [
            ("12", Some(Value::Int(12))),
            (" -3", Some(Value::Int(-3))),
            ("1.5e3", Some(Value::Double(1500.0))),
            ("NULL", Some(Value::Null)),
            ("ye", Some(Value::Bool(true))),
            ("of", Some(Value::Bool(false))),
            ("o", None),
            ("", None),
            ("Ä", None),
        ] {
            variables.set_text(slot, text);
            assert_eq!(variables.scalar(slot).ok(), wanted, "{text}");
            assert_eq!(variables.text(slot), Some(text));
        }
        variables.set_blob(slot, b"\x00\xff");
        assert!(variables.scalar(slot).is_err());
        assert_eq!((variables.bytes(slot), variables.text(slot)), (&b"\x00\xff"[..], None));
    }

    #[test]
    fn a_copy_holds_the_same() {
        let mut names = Names::default();
        let (text, number) = (names.slot("t"), names.slot("n"));
        let mut from = Variables::new(&names);
        from.set_text(text, "words");
        from.set(number, Value::Int(7));
        let mut to = Variables::default();
        to.clone_from(&from);
        assert_eq!((to.text(text), to.get(number)), (Some("words"), Value::Int(7)));
    }
}
