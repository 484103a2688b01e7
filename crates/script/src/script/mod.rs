//! Scripts: what one transaction does, as statements and operations over numbered variables.

mod meta;
mod parse;

use crate::expression::Expression;
use crate::random::Prng;
use crate::sql::Hint;
use crate::variables::Slot;

pub use parse::{Form, parse};

/// One transaction.
#[derive(Clone, Debug)]
pub struct Script {
    /// The name of the query, or of the file.
    pub name: String,
    /// The file that it was read from, as the user named it.
    pub file: String,
    /// How often it is executed against the others: a line `-- weight: 20` below its name, or 1.
    pub weight: u32,
    /// Its statements, in the order of the text.
    pub statements: Vec<Statement>,
    /// Its operations, in this order except for jumps.
    pub operations: Vec<Op>,
    /// The line of each operation.
    pub lines: Vec<usize>,
    /// The variables that get a new value from the database ahead of each execution.
    pub draws: Vec<Draw>,
    /// The variables that are used without an earlier `\set` or `\draw`.
    pub needs: Vec<Need>,
}

/// One SQL statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The name of the query, or its script and line.
    pub name: String,
    /// The line at which it begins.
    pub line: usize,
    /// The text, without its semicolon.
    pub sql: String,
    /// The variable of each parameter, by the parameter as the text writes it (`:id`, `?1`).
    pub parameters: Vec<(String, Slot)>,
    /// Whether the columns of its one row become variables, and what stands ahead of their names.
    pub gset: Option<String>,
    /// Whether its answer depends on chance or on the present time, so that no two need be equal.
    pub volatile: bool,
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Executes the statement of this number.
    Run(usize),
    /// Gives a variable a value.
    Set(Slot, Expression),
    /// Goes to the operation of this number unless the condition is true.
    Unless(Expression, usize),
    /// Goes to the operation of this number.
    Go(usize),
    /// Waits; the number is the unit of the expression in microseconds.
    Sleep(Expression, u64),
}

/// A variable that takes its values from a column of the database.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    /// The variable.
    pub slot: Slot,
    /// The table.
    pub table: String,
    /// The column.
    pub column: String,
    /// How often each value comes.
    pub popularity: Option<Popularity>,
    /// The line that says so.
    pub line: usize,
}

/// How often each of the existing values is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Popularity {
    /// All equally often.
    Uniform,
    /// By Zipf's law with this parameter, from 1.001 to 1000.
    Zipfian(f64),
}

/// A variable that must get its value from elsewhere: from a `\gset`, or from the database.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// The variable.
    pub slot: Slot,
    /// The parameter as the text writes it.
    pub name: String,
    /// The line that uses it.
    pub line: usize,
    /// The column to which the text compares or writes it.
    pub hint: Option<Hint>,
}

/// Divides `file@weight` into both; without a weight it is 1.
///
/// # Errors
/// The weight is not a whole number.
pub fn weighted(text: &str) -> Result<(&str, u32), String> {
    let Some((name, weight)) = text.rsplit_once('@') else { return Ok((text, 1)) };
    let wrong = |_| format!("the weight in `{text}` must be a whole number from 0");
    Ok((name, weight.parse().map_err(wrong)?))
}

/// Deals scripts in random order, each exactly as often as its weight says in every round. Drawn by chance alone, as pgbench does,
/// a rare and slow script would decide by its number how fast a short trial is.
#[derive(Clone, Debug)]
pub struct Deck {
    round: Vec<usize>,
    left: usize,
}

/// The most executions in a round.
const LONGEST_ROUND: u64 = 10_000;

impl Deck {
    /// Makes the deck of scripts with these weights, some of them above zero.
    pub fn of(weights: &[u32]) -> Deck {
        let common = weights.iter().fold(0, |a, b| divisor(a, u64::from(*b))).max(1);
        let sum: u64 = weights.iter().map(|weight| u64::from(*weight) / common).sum();
        let times = |weight: u32| match u64::from(weight) / common {
            0 => 0,
            share if sum > LONGEST_ROUND => (share * LONGEST_ROUND / sum).max(1),
            share => share,
        };
        let scripts = weights.iter().enumerate();
        let round = scripts.flat_map(|(script, weight)| (0..times(*weight)).map(move |_| script));
        Deck { round: round.collect(), left: 0 }
    }

    /// Returns the number of the next script.
    #[inline]
    pub fn deal(&mut self, prng: &mut Prng) -> usize {
        let [first] = self.round[..] else { return self.deal_one(prng) };
        first
    }

    fn deal_one(&mut self, prng: &mut Prng) -> usize {
        let Some(last) = self.round.len().checked_sub(1) else { return 0 };
        if self.left == 0 {
            self.left = self.round.len();
        }
        self.left -= 1;
        // One step of a shuffle for each that is dealt.
        let place = self.left.min(last);
        let chosen = prng.up_to(place as u64) as usize;
        self.round.swap(chosen, place);
        self.round[place]
    }
}

fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
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
    fn scripts_come_as_often_as_their_weights_say_in_every_round() {
        let mut prng = Prng::new(1);
        let mut deck = Deck::of(&[20, 0, 10, 30]);
        let mut orders = Vec::new();
        for _ in 0..50 {
            let mut round: Vec<usize> = (0..6).map(|_| deck.deal(&mut prng)).collect();
            orders.push(round.clone());
            round.sort_unstable();
            assert_eq!(round, [0, 0, 2, 3, 3, 3]);
        }
        orders.dedup();
        assert!(orders.len() > 40, "the order is another one each time");
        assert_eq!(Deck::of(&[5]).deal(&mut prng), 0);
        assert_eq!(
            Deck::of(&[1, 1_000_000]).round.iter().filter(|script| **script == 0).count(),
            1
        );
    }
}
