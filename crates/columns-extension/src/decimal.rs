//! Numbers that SQLite has no type for: decimals as text with every digit, and floating point numbers of 16
//! bits.

/// The text of a decimal: an integer of little-endian bytes, in two's complement, without its decimal point.
pub(crate) fn text(bytes: &[u8], scale: i32) -> String {
    let is_negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut digits = digits(&magnitude(bytes, is_negative));
    let sign = if is_negative { "-" } else { "" };
    let after = match usize::try_from(scale) {
        Ok(after) => after,
        Err(_) => {
            digits.extend(std::iter::repeat_n('0', scale.unsigned_abs() as usize));
            0
        }
    };
    if after == 0 {
        return format!("{sign}{digits}");
    }
    let padded = format!("{digits:0>width$}", width = after + 1);
    let (whole, fraction) = padded.split_at(padded.len() - after);
    format!("{sign}{whole}.{fraction}")
}

/// An integer without its sign, in groups of 32 bits, the lowest first.
fn magnitude(bytes: &[u8], is_negative: bool) -> Vec<u32> {
    let mut carry = is_negative;
    let groups = bytes.chunks_exact(4).map(|group| {
        let group = u32::from_le_bytes([group[0], group[1], group[2], group[3]]);
        if !is_negative {
            return group;
        }
        let (negated, over) = (!group).overflowing_add(u32::from(carry));
        carry = over;
        negated
    });
    groups.collect()
}

/// What is divided by, and the number of its zeros.
const STEP: u64 = 1_000_000_000;
const ZEROS: usize = 9;

/// The decimal digits of an integer.
fn digits(groups: &[u32]) -> String {
    let mut left = groups.to_vec();
    let mut parts = Vec::new();
    while left.iter().any(|group| *group != 0) {
        let mut rest = 0;
        for group in left.iter_mut().rev() {
            let value = rest << 32 | u64::from(*group);
            *group = (value / STEP) as u32;
            rest = value % STEP;
        }
        parts.push(rest);
    }
    let mut text = parts.pop().unwrap_or(0).to_string();
    for part in parts.iter().rev() {
        text += &format!("{part:0ZEROS$}");
    }
    text
}

/// A floating point number of 16 bits (IEEE 754), which one of 64 bits holds exactly.
pub(crate) fn half(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let fraction = f64::from(bits & 0x3ff);
    let exponent = i32::from(bits >> 10 & 0x1f);
    sign * match exponent {
        0 => fraction * 2_f64.powi(-24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1.0 + fraction / 1_024.0) * 2_f64.powi(exponent - 15),
    }
}
