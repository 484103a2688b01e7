//! Decimals as texts with every digit.

/// Returns the text of a decimal: an integer of little-endian bytes, in two's complement, and the number of digits
/// after its decimal point.
pub fn decimal_text(bytes: &[u8], scale: i32) -> String {
    let mut text = integer_text(bytes);
    let Ok(after) = usize::try_from(scale) else {
        text.extend(std::iter::repeat_n('0', scale.unsigned_abs() as usize));
        return text;
    };
    if after > 0 {
        let sign = usize::from(text.starts_with('-'));
        let missing = (after + 1).saturating_sub(text.len() - sign);
        text.insert_str(sign, &"0".repeat(missing));
        text.insert(text.len() - after, '.');
    }
    text
}

fn integer_text(bytes: &[u8]) -> String {
    if let Ok(bytes) = bytes.try_into() {
        return i32::from_le_bytes(bytes).to_string();
    }
    if let Ok(bytes) = bytes.try_into() {
        return i64::from_le_bytes(bytes).to_string();
    }
    if let Ok(bytes) = bytes.try_into() {
        return i128::from_le_bytes(bytes).to_string();
    }
    let is_negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let digits = digits(magnitude(bytes, is_negative));
    if is_negative { format!("-{digits}") } else { digits }
}

/// Returns an integer without its sign, in groups of 32 bits, the lowest first.
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

/// The divisor of each step, and the number of its zeros.
const STEP: u64 = 1_000_000_000;
const ZEROS: usize = 9;

/// Returns the decimal digits of an integer.
fn digits(mut groups: Vec<u32>) -> String {
    let mut parts = Vec::new();
    while groups.iter().any(|group| *group != 0) {
        let mut rest = 0;
        for group in groups.iter_mut().rev() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_point_stands_where_the_scale_says() {
        let text = |value: i64, scale| decimal_text(&value.to_le_bytes(), scale);
        for (value, scale, expected) in [
            (1_230, 2, "12.30"),
            (-5, 2, "-0.05"),
            (0, 2, "0.00"),
            (-12_345, 5, "-0.12345"),
            (-12_345, 4, "-1.2345"),
            (7, 0, "7"),
            (123, -2, "12300"),
            (0, -2, "000"),
        ] {
            assert_eq!(text(value, scale), expected);
        }
    }

    #[test]
    fn integers_of_every_width_have_the_same_text() {
        for value in [0, 1, -1, 999_999_999, 1_000_000_000, i32::MAX, i32::MIN] {
            let expected = value.to_string();
            assert_eq!(decimal_text(&value.to_le_bytes(), 0), expected);
            assert_eq!(decimal_text(&i64::from(value).to_le_bytes(), 0), expected);
            assert_eq!(decimal_text(&i128::from(value).to_le_bytes(), 0), expected);
            let sign = if value < 0 { 0xff } else { 0 };
            let wide = [&i128::from(value).to_le_bytes()[..], &[sign; 16]].concat();
            assert_eq!(decimal_text(&wide, 0), expected);
        }
    }
}
