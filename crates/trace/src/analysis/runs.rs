//! The same statements again and again on a connection: reads that could be one query, and inserts of single
//! rows that could be one statement.

use super::{Event, Kind, PAUSE_US, READS, RUN};

/// The most statements that a cycle has.
pub const CYCLE: usize = 4;

/// Statements that were repeated in the same order, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// The numbers of their texts, from the least on; 0 where the cycle has fewer.
    pub texts: [i64; CYCLE],
    /// How many texts the cycle has.
    pub period: usize,
    /// Executions of the whole cycle.
    pub times: u64,
    /// Whether its values were the same each time.
    pub is_polling: bool,
    /// Whether the read before it returned a row for each time.
    pub is_of_rows: bool,
}

/// The latest reads of a connection.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    /// The texts of the latest reads, latest first.
    latest: [i64; CYCLE],
    /// Reads since the last interruption.
    length: u64,
    /// The values of the latest reads.
    values: [(i64, u64); CYCLE],
    /// For each period, how many reads in a row had the text of the read that many before.
    matched: [u64; CYCLE],
    /// How many of these had its values, too.
    same: [u64; CYCLE],
    /// The rows of the latest reads, latest first.
    rows: [u64; CYCLE],
    /// For each period, the rows of the read before what is repeated.
    rows_before: [u64; CYCLE],
    end_us: i64,
}

impl Reads {
    /// Takes a statement; returns the repetition that it ends. `BEGIN` and `COMMIT` around reads end none.
    pub fn take(&mut self, event: &Event, text: i64, kind: Kind) -> Option<Repeated> {
        if kind == Kind::Transaction {
            return None;
        }
        let is_read = kind == Kind::Read;
        let goes_on = is_read && event.start_us - self.end_us < PAUSE_US;
        let ended = if goes_on { self.ended_by(text) } else { std::mem::take(self).ended() };
        if is_read {
            self.add(text, (event.statement, event.values));
            self.rows.rotate_right(1);
            self.rows[0] = event.rows.unsigned_abs();
            self.end_us = event.end_us();
        }
        ended
    }

    /// Returns the repetition at the end of the statements.
    pub fn ended(&self) -> Option<Repeated> {
        (1..=CYCLE).find_map(|period| self.repeated(period))
    }

    /// Returns the repetition that this text ends.
    fn ended_by(&self, text: i64) -> Option<Repeated> {
        let ends = |period: &usize| self.latest[period - 1] != text;
        let repeated = (1..=CYCLE).filter(ends).find_map(|period| self.repeated(period))?;
        Some(repeated)
    }

    fn add(&mut self, text: i64, values: (i64, u64)) {
        for before in 0..CYCLE {
            let is_same = self.length > before as u64 && self.latest[before] == text;
            let (matched, same) = (&mut self.matched[before], &mut self.same[before]);
            let had = *same + u64::from(self.values[before] == values);
            (*matched, *same) = if is_same { (*matched + 1, had) } else { (0, 0) };
            if !is_same {
                self.rows_before[before] = self.rows[before];
            }
        }
        self.latest.rotate_right(1);
        self.values.rotate_right(1);
        (self.latest[0], self.values[0]) = (text, values);
        self.length += 1;
    }

    fn repeated(&self, period: usize) -> Option<Repeated> {
        let times = self.matched[period - 1] / period as u64 + 1;
        let cycle = &self.latest[..period];
        let has_shorter = (1..period).any(|length| {
            period.is_multiple_of(length) && cycle[length..] == cycle[..period - length]
        });
        if times < READS || has_shorter {
            return None;
        }
        let mut texts = [0; CYCLE];
        // In the order of execution, beginning with the least number, so that equal cycles are equal.
        texts[..period].copy_from_slice(cycle);
        texts[..period].reverse();
        let least = (0..period).min_by_key(|at| texts[*at]).unwrap_or(0);
        texts[..period].rotate_left(least);
        let is_polling = self.same[period - 1] == self.matched[period - 1];
        let is_of_rows = self.rows_before[period - 1] >= times;
        Some(Repeated { texts, period, times, is_polling, is_of_rows })
    }
}

/// The latest inserts of single rows within a transaction of a connection.
#[derive(Clone, Debug, Default)]
pub struct Inserts {
    text: i64,
    length: u64,
    end_us: i64,
}

impl Inserts {
    /// Takes a statement; returns the text and the length of the run that it ends.
    pub fn take(&mut self, event: &Event, text: i64, is_insert: bool) -> Option<(i64, u64)> {
        let is_single = is_insert && !event.autocommit && event.changes <= 1;
        let goes_on = is_single && self.text == text && event.start_us - self.end_us < PAUSE_US;
        let ended = if goes_on { None } else { std::mem::take(self).ended() };
        if is_single {
            self.text = text;
            self.length += 1;
            self.end_us = event.end_us();
        }
        ended
    }

    /// Returns the run at the end of the statements.
    pub fn ended(&self) -> Option<(i64, u64)> {
        (self.length >= RUN).then_some((self.text, self.length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the repetitions in reads of these texts, a millisecond each, with different values.
    fn repeated(texts: &[i64]) -> Vec<Repeated> {
        repeated_with(texts, |at| at)
    }

    fn repeated_with(texts: &[i64], values: fn(u64) -> u64) -> Vec<Repeated> {
        let mut reads = Reads::default();
        let mut all = Vec::new();
        for (at, text) in (0..).zip(texts) {
            let event = Event {
                start_us: at * 1000,
                duration_ns: Some(0),
                values: values(at as u64),
                ..Event::default()
            };
            let kind = if *text > 0 { Kind::Read } else { Kind::Insert };
            all.extend(reads.take(&event, *text, kind));
        }
        all.extend(reads.ended());
        all
    }

    fn cycle(texts: &[i64], times: usize) -> Vec<i64> {
        texts.repeat(times)
    }

    #[test]
    fn a_cycle_of_up_to_four_statements_is_one_repetition() {
        for texts in [&[7][..], &[7, 5], &[1, 1, 2], &[4, 3, 2, 1]] {
            let all = repeated(&cycle(texts, 12));
            assert_eq!(all.len(), 1, "{texts:?}: {all:?}");
            assert_eq!((all[0].period, all[0].times), (texts.len(), 12), "{texts:?}");
        }
        assert_eq!(repeated(&cycle(&[7, 5], 12))[0].texts, [5, 7, 0, 0]);
        assert!(repeated(&cycle(&[1, 2, 3, 4, 5], 20)).is_empty());
        assert!(repeated(&cycle(&[1, 2], 4)).is_empty());
    }

    #[test]
    fn reads_of_the_same_values_again_and_again_are_polling() {
        let polls = |texts: &[i64], values: fn(u64) -> u64| {
            repeated_with(&cycle(texts, 12), values)[0].is_polling
        };
        assert!(polls(&[7], |_| 1) && polls(&[7, 5], |_| 1) && polls(&[7, 5], |at| at % 2));
        assert!(
            !polls(&[7], |at| at % 2) && !polls(&[7], |at| at / 11) && !polls(&[7, 5], |at| at / 2)
        );
    }

    #[test]
    fn a_repetition_is_of_rows_where_the_read_before_it_returned_as_many() {
        let is_of_rows = |rows: i64, texts: &[i64]| {
            let mut reads = Reads::default();
            let first = Event { rows, ..Event::default() };
            assert_eq!(reads.take(&first, 9, Kind::Read), None);
            for (values, text) in (1..).zip(cycle(texts, 6)) {
                assert_eq!(reads.take(&Event::default(), 1, Kind::Transaction), None);
                assert_eq!(reads.take(&Event { values, rows: 1, ..first }, text, Kind::Read), None);
            }
            reads.ended().unwrap().is_of_rows
        };
        for texts in [&[1][..], &[1, 2], &[1, 2, 3]] {
            assert!(is_of_rows(6, texts) && !is_of_rows(5, texts), "{texts:?}");
        }
    }

    #[test]
    fn what_interrupts_ends_a_repetition() {
        let two = [cycle(&[1, 2], 10), vec![0], cycle(&[1, 2], 15)].concat();
        let times: Vec<u64> = repeated(&two).iter().map(|it| it.times).collect();
        assert_eq!(times, [10, 15]);
        let other = [cycle(&[1], 40), cycle(&[2, 3], 30)].concat();
        let found: Vec<_> = repeated(&other).iter().map(|it| (it.period, it.times)).collect();
        assert_eq!(found, [(1, 40), (2, 30)]);
    }
}
