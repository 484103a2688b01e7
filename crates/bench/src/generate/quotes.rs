//! Quotes of securities: a time series as an application records it.

use lab::seed::{Seed, SplitMix64};

/// Milliseconds since 1970 of the first quote: 2022-01-03 14:30 UTC, the opening of a trading day.
pub const OPENING_MS: i64 = 1_641_220_200_000;

/// Where quotes come from; the first letters differ, so that a sum of them tells the venues apart.
const VENUES: [&str; 5] = ["ARCX", "BATS", "IEXG", "MEMX", "XNAS"];

/// Milliseconds from one quote to the next at most.
const MAX_STEP_MS: u64 = 40;

/// The lowest price in cents: random walks are turned back there.
const FLOOR_CENTS: i64 = 100;

/// One quote.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quote {
    /// Number of the security, from 1.
    pub security: i64,
    /// Milliseconds since 1970.
    pub ts: i64,
    /// Price that is bid, in cents; an application stores it as a REAL of whole units.
    pub bid_cents: i64,
    /// Price that is asked.
    pub ask_cents: i64,
    /// Price of the last trade.
    pub last_cents: i64,
    /// Shares.
    pub volume: i64,
    /// Code of the market.
    pub venue: &'static str,
}

/// Returns a price as it is stored.
#[inline]
pub fn price(cents: i64) -> f64 {
    cents as f64 / 100.0
}

/// `count` quotes of `securities` (at least one) securities in turn, in ascending time; each price
/// is a random walk of its own.
pub fn quotes(count: usize, securities: usize, seed: Seed) -> Vec<Quote> {
    let mut generator = seed.child("quotes").generator();
    let mut middles: Vec<i64> =
        (0..securities).map(|_| 1_000 + generator.below(49_000) as i64).collect();
    let mut ts = OPENING_MS;
    (0..count)
        .map(|number| {
            let security = number % securities;
            ts += 1 + generator.below(MAX_STEP_MS) as i64;
            Quote::draw(security as i64 + 1, ts, &mut middles[security], &mut generator)
        })
        .collect()
}

impl Quote {
    /// Draws the next quote of a security; `middle` walks at random.
    #[inline]
    pub fn draw(security: i64, ts: i64, middle: &mut i64, generator: &mut SplitMix64) -> Quote {
        *middle = (*middle + generator.below(21) as i64 - 10).max(FLOOR_CENTS);
        let half_spread = 1 + generator.below(3) as i64;
        let traded = generator.below(2 * half_spread as u64 + 1) as i64 - half_spread;
        Quote {
            security,
            ts,
            bid_cents: *middle - half_spread,
            ask_cents: *middle + half_spread,
            last_cents: *middle + traded,
            volume: 100 * (1 + generator.below(100) as i64),
            venue: VENUES[generator.below(VENUES.len() as u64) as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn securities_take_turns_in_ascending_time_and_prices_walk_in_small_steps() {
        let all = quotes(10_000, 50, Seed(4));
        assert!(all.is_sorted_by(|a, b| a.ts < b.ts));
        for (number, quote) in all.iter().enumerate() {
            assert_eq!(quote.security, number as i64 % 50 + 1);
            assert!(quote.bid_cents <= quote.last_cents && quote.last_cents <= quote.ask_cents);
            assert!(quote.bid_cents > 0 && (100..=10_000).contains(&quote.volume));
        }
        for pair in all.windows(51).map(|part| (part[0], part[50])) {
            let middle = |quote: Quote| (quote.bid_cents + quote.ask_cents) / 2;
            assert!((middle(pair.0) - middle(pair.1)).abs() <= 10);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_quotes_and_another_gives_others() {
        assert_eq!(quotes(100, 7, Seed(1)), quotes(100, 7, Seed(1)));
        assert_ne!(quotes(100, 7, Seed(1)), quotes(100, 7, Seed(2)));
    }

    #[test]
    fn venues_are_told_apart_by_their_first_letter() {
        let mut first: Vec<u8> = VENUES.iter().map(|venue| venue.as_bytes()[0]).collect();
        first.dedup();
        assert_eq!(first.len(), VENUES.len());
    }
}
