//! The quotes of a security: a random walk, the same whenever it is made from the same seed.

use crate::generate::Quote;
use crate::generate::quotes::price;
use crate::workload::prelude::*;

/// The statement that inserts a quote.
pub(super) const INSERT: &str = "INSERT INTO quotes VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

/// Inserts a quote by the statement [`INSERT`].
#[inline]
pub(super) fn insert(quote: &Quote, insert: &mut Statement<'_, 'static>) -> Result<()> {
    insert.bind_i64(1, quote.ts)?;
    insert.bind_f64(2, price(quote.bid_cents))?;
    insert.bind_f64(3, price(quote.ask_cents))?;
    insert.bind_f64(4, price(quote.last_cents))?;
    insert.bind_i64(5, quote.volume)?;
    insert.bind_text_borrowed(6, quote.venue)?;
    Ok(insert.run()?)
}

/// Milliseconds from one quote to the next at most.
const LONGEST_GAP_MS: u64 = 500;

/// The quotes of one security, in the order of time and without end.
#[derive(Clone, Debug)]
pub(super) struct Quotes {
    generator: SplitMix64,
    ts: i64,
    /// In hundredths, so that the walk is exact.
    price: i64,
}

impl Quotes {
    /// Returns the quotes after the moment `after`.
    pub(super) fn new(seed: Seed, after: i64) -> Quotes {
        Quotes { generator: seed.generator(), ts: after, price: 10_000 }
    }
}

impl Iterator for Quotes {
    type Item = Quote;

    fn next(&mut self) -> Option<Quote> {
        self.ts += 1 + self.generator.below(LONGEST_GAP_MS) as i64;
        Some(Quote::draw(1, self.ts, &mut self.price, &mut self.generator))
    }
}

/// Sums of some quotes that must be found again: their number, the sum of volumes and the latest moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) rows: i64,
    pub(super) volume: i64,
    pub(super) latest: i64,
}

impl Sums {
    /// Returns the sums of these and more quotes.
    pub(super) fn with(self, quotes: impl Iterator<Item = Quote>) -> Sums {
        quotes.fold(self, |sums, quote| Sums {
            rows: sums.rows + 1,
            volume: sums.volume + quote.volume,
            latest: sums.latest.max(quote.ts),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_the_same_for_the_same_seed_and_ascend_in_time() {
        let quotes = |seed| Quotes::new(Seed(seed), 1_000).take(2_000).collect::<Vec<_>>();
        assert_eq!(quotes(1), quotes(1));
        assert_ne!(quotes(1), quotes(2));
        assert!(quotes(1).is_sorted_by(|a, b| a.ts < b.ts));
        assert!(quotes(1).iter().all(|quote| quote.ts > 1_000
            && quote.bid_cents <= quote.last_cents
            && quote.last_cents <= quote.ask_cents
            && quote.bid_cents < quote.ask_cents
            && quote.volume > 0));
    }
}
