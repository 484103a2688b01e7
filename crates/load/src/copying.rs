//! Copies of a few bytes.

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
