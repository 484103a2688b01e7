//! Shapes of transactions: which statements the application executes together, and how often.

use std::collections::HashMap;

use crate::analysis::Event;

/// The most statements of a shape; longer transactions are left out.
const LONGEST: usize = 40;

/// The forms of the statements of a transaction, in order.
pub type Shape = Vec<usize>;

/// Counts transactions by their shape.
#[derive(Debug, Default)]
pub struct Shapes {
    open: HashMap<i64, Option<Shape>>,
    counts: HashMap<Shape, u64>,
    /// Transactions that are too long, or have a statement that failed or that scripts cannot have.
    left_out: u64,
}

impl Shapes {
    /// Takes a statement: its form, or nothing where a script cannot have it.
    pub fn take(&mut self, event: &Event, form: Option<usize>) {
        let shape = self
            .open
            .entry(event.connection)
            .or_insert_with(|| Some(Shape::new()));
        let is_usable = event.result.unwrap_or(0) == 0 && event.duration_ns.is_some();
        match (shape.as_mut(), form) {
            (Some(forms), Some(form)) if is_usable && forms.len() < LONGEST => forms.push(form),
            _ => *shape = None,
        }
        if event.autocommit || event.duration_ns.is_none() {
            match self.open.remove(&event.connection).flatten() {
                Some(shape) => *self.counts.entry(shape).or_default() += 1,
                None => self.left_out += 1,
            }
        }
    }

    /// The most frequent shapes with their counts, most frequent first, and how many transactions have others.
    pub fn most_frequent(self, most: usize) -> (Vec<(Shape, u64)>, u64) {
        let mut all: Vec<(Shape, u64)> = self.counts.into_iter().collect();
        all.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
        let others = all.iter().skip(most).map(|(_, count)| count).sum::<u64>();
        all.truncate(most);
        (all, self.left_out + others)
    }
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
        let (all, left_out) = shapes.most_frequent(1);
        assert_eq!(all, [(vec![1, 2], 3)]);
        assert_eq!(left_out, 3, "another shape, a failure, and no form");
    }
}
