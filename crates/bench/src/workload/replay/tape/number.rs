//! Numbers on a tape: seven bits a byte, the lowest first.

/// Appends a number.
pub(in crate::workload::replay) fn put(out: &mut Vec<u8>, number: u64) {
    let mut rest = number;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Appends a number that may be below zero.
pub(in crate::workload::replay) fn put_signed(out: &mut Vec<u8>, number: i64) {
    put(out, ((number << 1) ^ (number >> 63)) as u64);
}

/// Bytes that are read. Everything is `None` where they end too early.
#[derive(Debug)]
pub(in crate::workload::replay) struct Input<'b>(&'b [u8]);

impl<'b> Input<'b> {
    pub(in crate::workload::replay) fn new(bytes: &'b [u8]) -> Input<'b> {
        Input(bytes)
    }

    pub(in crate::workload::replay) fn number(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.bytes(1)?[0];
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
            shift += 7;
        }
    }

    pub(in crate::workload::replay) fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub(in crate::workload::replay) fn bytes(&mut self, length: usize) -> Option<&'b [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    /// What has not been read.
    pub(in crate::workload::replay) fn rest(&self) -> &'b [u8] {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_read_as_written(number in any::<u64>(), signed in any::<i64>()) {
            let mut out = Vec::new();
            put(&mut out, number);
            put_signed(&mut out, signed);
            let mut input = Input::new(&out);
            prop_assert_eq!(input.number(), Some(number));
            prop_assert_eq!(input.signed(), Some(signed));
            prop_assert_eq!(input.number(), None);
        }
    }
}
