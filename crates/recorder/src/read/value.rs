//! Values that were bound to a statement.

use super::records::Input;
use crate::layout::value as kind;

/// One bound value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// NULL, or nothing bound.
    Null,
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// A text, normally UTF-8.
    Text(&'a [u8]),
    /// A blob.
    Blob(&'a [u8]),
    /// So many zeros.
    ZeroBlob(u64),
    /// A pointer, which means something in its process only.
    Pointer,
    /// The hash of a text, and its length in bytes.
    HashedText(u64, u64),
    /// The hash of a blob, and its length in bytes.
    HashedBlob(u64, u64),
    /// A value that was kept out of the recording.
    Omitted,
    /// The whole statement with its values in place, where they could not be read one by one.
    Expanded(&'a [u8]),
}

/// The values of one execution, in the order of their places.
#[derive(Clone, Copy, Debug, Default)]
pub struct Values<'a> {
    bytes: &'a [u8],
}

impl<'a> Values<'a> {
    /// Reads the values at the beginning of `input`; nothing if they are torn.
    pub(super) fn take(input: &mut Input<'a>) -> Option<Values<'a>> {
        let count = input.number()?;
        let begin = input.rest();
        for _ in 0..count {
            take(input)?;
        }
        let bytes = &begin[..begin.len() - input.rest().len()];
        Some(Values { bytes })
    }

    /// The values.
    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        let mut input = Input::new(self.bytes);
        std::iter::from_fn(move || take(&mut input))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

fn take<'a>(input: &mut Input<'a>) -> Option<Value<'a>> {
    Some(match input.byte()? {
        kind::NULL => Value::Null,
        kind::INTEGER => {
            let number = input.number()?;
            Value::Integer((number >> 1) as i64 ^ -((number & 1) as i64))
        }
        kind::REAL => Value::Real(f64::from_bits(input.eight()?)),
        kind::TEXT => Value::Text(input.bytes()?),
        kind::BLOB => Value::Blob(input.bytes()?),
        kind::ZEROBLOB => Value::ZeroBlob(input.number()?),
        kind::POINTER => Value::Pointer,
        kind::HASHED_TEXT => {
            let length = input.number()?;
            Value::HashedText(input.eight()?, length)
        }
        kind::HASHED_BLOB => {
            let length = input.number()?;
            Value::HashedBlob(input.eight()?, length)
        }
        kind::OMITTED => Value::Omitted,
        kind::EXPANDED => Value::Expanded(input.bytes()?),
        small @ kind::SMALL.. => Value::Integer(i64::from(small - kind::SMALL)),
        _ => return None,
    })
}
