//! A few bytes, copied and looked at as words.

/// Bytes of a short copy.
pub(crate) const SHORT: usize = 32;

/// Appends `length` bytes from `start` on. Up to [`SHORT`] bytes are copied as a block of [`SHORT`],
/// which is a move instead of a call; the buffer should have room for the block.
#[inline]
pub(crate) fn push_short(to: &mut Vec<u8>, from: &[u8], start: usize, length: usize) {
    match from.get(start..start + SHORT) {
        Some(bytes) if length <= SHORT => {
            let end = to.len() + length;
            to.extend_from_slice(bytes);
            to.truncate(end);
        }
        _ => to.extend_from_slice(&from[start..start + length]),
    }
}

/// Returns the first eight bytes as a number, the first the highest; missing bytes are 0. Of fewer bytes
/// it takes the first four and the last four, which may overlap: a copy of variable length
/// would be a call.
#[inline]
pub(crate) fn first_eight(bytes: &[u8]) -> u64 {
    if let Some(first) = bytes.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => {
            let first = u64::from(u32::from_be_bytes(*first)) << 32;
            first | u64::from(u32::from_be_bytes(*last)) << (64 - 8 * bytes.len())
        }
        _ => (bytes.iter().zip([56, 48, 40])).fold(0, |all, (b, up)| all | u64::from(*b) << up),
    }
}
