//! Shapes of transactions: which statements the application executes together, and how often.

use std::collections::HashMap;

use crate::analysis::Event;

/// The most statements of a shape; longer transactions are left out.
const LONGEST: usize = 40;

/// The forms of the statements of a transaction, in order.
pub type Shape = Vec<usize>;

/// Transactions and their statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Transactions.
    pub transactions: u64,
    /// Their statements.
    pub statements: u64,
}

impl Amount {
    fn add(&mut self, transactions: u64, statements: u64) {
        self.transactions += transactions;
        self.statements += transactions * statements;
    }
}

/// A transaction that has not ended: nothing of it counts if a script cannot have it.
#[derive(Debug, Default)]
struct Open {
    forms: Shape,
    statements: u64,
    is_left_out: bool,
}

/// Counts transactions by their shape.
#[derive(Debug, Default)]
pub struct Shapes {
    open: HashMap<i64, Open>,
    counts: HashMap<Shape, u64>,
    /// Transactions that are too long, or have a statement that failed or whose text is not known.
    left_out: Amount,
}

impl Shapes {
    /// Takes a statement by its form; `None` if its text is not known.
    pub fn take(&mut self, event: &Event, form: Option<usize>) {
        let open = self.open.entry(event.connection).or_default();
        open.statements += 1;
        let is_usable = event.result.unwrap_or(0) == 0 && event.duration_ns.is_some();
        match form {
            Some(form) if is_usable && open.forms.len() < LONGEST => open.forms.push(form),
            _ => open.is_left_out = true,
        }
        if event.autocommit || event.duration_ns.is_none() {
            let ended = self.open.remove(&event.connection);
            self.end(ended.unwrap_or_default());
        }
    }

    fn end(&mut self, ended: Open) {
        if ended.is_left_out {
            self.left_out.add(1, ended.statements)
        } else {
            *self.counts.entry(ended.forms).or_default() += 1
        }
    }

    /// The most frequent shapes of usable forms with their counts, most frequent first, and what is left out.
    pub fn most_frequent(
        mut self,
        most: usize,
        is_usable: impl Fn(usize) -> bool,
    ) -> (Vec<(Shape, u64)>, Amount) {
        for open in self.open.into_values() {
            self.left_out.add(1, open.statements);
        }
        let (mut all, others): (Vec<_>, Vec<_>) = self
            .counts
            .into_iter()
            .partition(|(shape, _)| shape.iter().all(|form| is_usable(*form)));
        for (shape, count) in others {
            self.left_out.add(count, shape.len() as u64);
        }
        all.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
        for (shape, count) in all.iter().skip(most) {
            self.left_out.add(*count, shape.len() as u64);
        }
        all.truncate(most);
        (all, self.left_out)
    }
}

/// Returns the amount of traffic that these shapes represent.
pub fn amount(shapes: &[(Shape, u64)]) -> Amount {
    let mut amount = Amount::default();
    for (shape, count) in shapes {
        amount.add(*count, shape.len() as u64);
    }
    amount
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_counted_by_what_they_execute() {
        let mut shapes = Shapes::default();
        let event = |autocommit, result| Event {
            connection: 1,
            duration_ns: Some(1),
            autocommit,
            result: Some(result),
            ..Event::default()
        };
        for _ in 0..3 {
            shapes.take(&event(false, 0), Some(1));
            shapes.take(&event(true, 0), Some(2));
        }
        shapes.take(&event(true, 0), Some(3));
        shapes.take(&event(true, 19), Some(3));
        shapes.take(&event(true, 0), None);
        shapes.take(&event(true, 0), Some(9));
        (0..50).for_each(|_| shapes.take(&event(false, 0), Some(1)));
        let (all, left_out) = shapes.most_frequent(1, |form| form != 9);
        assert_eq!(all, [(vec![1, 2], 3)]);
        // Another shape, a failure, a text that is not known, one that is too long, and a form that is not usable.
        let expected = Amount { transactions: 5, statements: 54 };
        assert_eq!(left_out, expected);
    }
}
