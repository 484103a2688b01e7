//! Where in a TOML text something stands.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A step into a TOML document: a key of a table or an index of an array.
#[derive(Clone, Debug)]
pub enum Step {
    /// A key.
    Key(String),
    /// An index.
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Step::Key(key.to_owned())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Step::Index(index)
    }
}

/// The line, counted from one, on which byte `offset` of `text` stands.
pub fn line_of(text: &str, offset: usize) -> usize {
    let end = offset.min(text.len());
    text.as_bytes()[..end].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The byte offset of the deepest part of `path` that the document has: a key's own place where
/// the path ends in a key, an array element's otherwise.
pub fn offset_of(document: &Spanned<DeTable<'_>>, path: &[Step]) -> usize {
    let mut offset = document.span().start;
    let mut table = Some(document.get_ref());
    let mut value: Option<&Spanned<DeValue<'_>>> = None;
    for step in path {
        let found = match step {
            Step::Key(key) => table.and_then(|table| {
                table
                    .iter()
                    .find(|(name, _)| name.get_ref().as_ref() == key)
                    .map(|(name, value)| (name.span().start, value))
            }),
            Step::Index(index) => value
                .and_then(|value| value.get_ref().as_array())
                .and_then(|array| array.get(*index))
                .map(|value| (value.span().start, value)),
        };
        let Some((start, inner)) = found else { break };
        offset = start;
        value = Some(inner);
        table = inner.get_ref().as_table();
    }
    offset
}
