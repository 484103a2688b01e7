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

/// Returns the number of a script, chosen by its weight; the first where all weights are zero.
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
