//! A few bytes, copied and looked at as words.

/// Bytes of a short copy.
pub(crate) const SHORT: usize = 32;

/// Adds so many bytes that begin at a place. A few are copied together with those behind them, [`SHORT`] at a time,
/// which is a move and not a call; there is best room for so many more.
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

/// The first eight bytes as a number, the first the highest; what is missing at the end is 0. Of fewer bytes
/// the first four and the last four are taken, which may be partly the same: a copy of so many bytes as there
/// are would be a call.
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
