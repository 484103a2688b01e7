//! Scripts: what one transaction does, as statements and operations over numbered variables.

mod meta;
mod named;
mod parse;
mod weights;

use crate::expression::Expression;
use crate::sql::Hint;
use crate::variables::Slot;

pub use parse::{Form, parse};
pub use weights::{choose, weighted};

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
