//! How often each of several scripts is executed.

use crate::random::Prng;

/// Divides `file@weight` into both; without a weight it is 1.
///
/// # Errors
/// The weight is not a whole number.
pub fn weighted(text: &str) -> Result<(&str, u32), String> {
    let Some((name, weight)) = text.rsplit_once('@') else {
        return Ok((text, 1));
    };
    let wrong = |_| format!("the weight in `{text}` must be a whole number from 0");
    Ok((name, weight.parse().map_err(wrong)?))
}

/// The number of a script, chosen by its weight; the first where all weights are zero.
#[inline]
pub fn choose(weights: &[u32], prng: &mut Prng) -> usize {
    match weights {
        [] | [_] => 0,
        several => choose_of_several(several, prng),
    }
}

fn choose_of_several(weights: &[u32], prng: &mut Prng) -> usize {
    let all: u64 = weights.iter().copied().map(u64::from).sum();
    if all == 0 {
        return 0;
    }
    let mut left = prng.up_to(all - 1);
    for (number, weight) in weights.iter().enumerate() {
        match left.checked_sub(u64::from(*weight)) {
            Some(less) => left = less,
            None => return number,
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_follows_the_last_at_sign() {
        assert_eq!(weighted("a@b.sql@3"), Ok(("a@b.sql", 3)));
        assert_eq!(weighted("a.sql"), Ok(("a.sql", 1)));
        assert_eq!(weighted("a.sql@0"), Ok(("a.sql", 0)));
        assert!(weighted("a.sql@x").unwrap_err().contains("a.sql@x"));
    }

    #[test]
    fn scripts_come_as_often_as_their_weights_say() {
        let mut prng = Prng::new(5);
        let mut counts = [0_u32; 3];
        for _ in 0..10_000 {
            counts[choose(&[3, 0, 1], &mut prng)] += 1;
        }
        // Six standard deviations are 260.
        assert!(counts[0].abs_diff(7_500) < 260, "{counts:?}");
        assert_eq!(counts[1], 0);
        assert_eq!(choose(&[0, 0], &mut prng), 0);
    }
}
