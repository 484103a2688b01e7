//! Values that were bound to a statement.

use super::records::Input;
use crate::layout::{ORDER_CODE, value as kind};

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
    /// This many zeros.
    ZeroBlob(u64),
    /// A pointer, which means something in its process only.
    Pointer,
    /// A text that was hashed.
    HashedText(Hashed),
    /// A blob that was hashed.
    HashedBlob(Hashed),
    /// A value that was kept out of the recording.
    Omitted,
    /// The whole statement with its values in place, where they could not be read one by one.
    Expanded(&'a [u8]),
}

/// A text or a blob that was hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hashed {
    /// The hash, equal for equal ones.
    pub hash: u64,
    /// The length in bytes.
    pub length: u64,
    /// By which those with different first bytes are in their order.
    pub order: [u8; ORDER_CODE],
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
        kind::HASHED_TEXT => Value::HashedText(hashed(input)?),
        kind::HASHED_BLOB => Value::HashedBlob(hashed(input)?),
        kind::OMITTED => Value::Omitted,
        kind::EXPANDED => Value::Expanded(input.bytes()?),
        small @ kind::SMALL.. => Value::Integer(i64::from(small - kind::SMALL)),
        _ => return None,
    })
}

fn hashed(input: &mut Input<'_>) -> Option<Hashed> {
    Some(Hashed { length: input.number()?, hash: input.eight()?, order: input.array()? })
}
