//! Rows of the table `user`: an area of six digits or none, an age, and whether the user is active
//! (the table of <https://github.com/avinassh/fast-sqlite3-inserts>).

use lab::seed::Seed;
use lab::seed::SplitMix64;

/// One row, without its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// Six ASCII digits, or NULL.
    pub area: Option<[u8; 6]>,
    /// 5, 10 or 15.
    pub age: u8,
    /// 0 or 1.
    pub active: u8,
}

impl User {
    /// The row that is inserted over and over where data is constant.
    pub const CONSTANT: User = User { area: Some(*b"123456"), age: 5, active: 0 };
}

/// Random rows in numbered parts. Each part can be drawn without the others, so that several threads draw the same rows
/// as one.
#[derive(Clone, Copy, Debug)]
pub struct Users {
    seed: Seed,
    rows: usize,
    rows_per_part: usize,
    null_percent: u64,
}

impl Users {
    /// `rows` rows in parts of `rows_per_part` (at least one; the last may be shorter), of whose
    /// areas `null_percent` in a hundred are NULL.
    pub fn new(seed: Seed, rows: usize, rows_per_part: usize, null_percent: u64) -> Users {
        Users { seed: seed.child("users"), rows, rows_per_part, null_percent }
    }

    /// Returns the number of parts.
    pub fn parts(&self) -> usize {
        self.rows.div_ceil(self.rows_per_part)
    }

    /// Returns the rows of a part, drawn as they are asked for.
    #[inline]
    pub fn part(&self, number: usize) -> impl ExactSizeIterator<Item = User> + use<> {
        let rows = self.rows.saturating_sub(number * self.rows_per_part).min(self.rows_per_part);
        let null_percent = self.null_percent;
        let mut generator = self.seed.nth(number as u64).generator();
        (0..rows).map(move |_| draw(&mut generator, null_percent))
    }

    /// Returns every row in order.
    pub fn all(&self) -> impl Iterator<Item = User> + '_ {
        (0..self.parts()).flat_map(|number| self.part(number))
    }
}

#[inline]
fn draw(generator: &mut SplitMix64, null_percent: u64) -> User {
    let area = (generator.below(100) >= null_percent).then(|| digits(generator.below(1_000_000)));
    User { area, age: 5 + 5 * generator.below(3) as u8, active: generator.below(2) as u8 }
}

/// Returns a number below a million as six digits.
#[inline]
fn digits(mut number: u64) -> [u8; 6] {
    let mut digits = [0; 6];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_stated_shares_of_every_value() {
        let users: Vec<User> = Users::new(Seed(1), 30_000, 1_000, 50).all().collect();
        let share = |of: &dyn Fn(&User) -> bool| {
            users.iter().filter(|user| of(user)).count() as f64 / users.len() as f64
        };
        assert!((share(&|user| user.area.is_none()) - 0.5).abs() < 0.02);
        assert!((share(&|user| user.active == 1) - 0.5).abs() < 0.02);
        for age in [5, 10, 15] {
            assert!((share(&|user| user.age == age) - 1.0 / 3.0).abs() < 0.02);
        }
        assert_eq!(digits(42), *b"000042");
    }

    #[test]
    fn parts_make_up_the_whole_and_repeat_for_a_seed() {
        let users = Users::new(Seed(1), 25, 10, 0);
        let lengths: Vec<usize> = (0..users.parts()).map(|n| users.part(n).len()).collect();
        assert_eq!(lengths, [10, 10, 5]);
        let all: Vec<User> = users.all().collect();
        assert!(all.iter().all(|user| user.area.is_some()));
        assert_eq!(all[10..20], users.part(1).collect::<Vec<_>>());
        assert_ne!(all[..5], all[20..]);
        assert!(Users::new(Seed(1), 25, 10, 100).all().all(|user| user.area.is_none()));
    }
}
