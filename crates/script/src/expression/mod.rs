//! Expressions of meta commands: arithmetic, comparison, logic and functions over variables.

mod function;
mod parse;

use self::function::Function;
use crate::error::{EvaluationError, Result};
use crate::random::Prng;
use crate::variables::{Slot, Value, Variables};

pub(crate) use parse::parse;

/// An expression, ready to be evaluated without allocation.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    node: Node,
    /// Whether whole numbers are all it needs, if its variables hold such.
    integral: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Constant(Value),
    Variable(Slot),
    Call(Function, Box<[Node]>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    /// Conditions with their results, and the result where none is true.
    Case(Box<[(Node, Node)]>, Box<Node>),
}

impl Expression {
    /// Returns an expression that always has this value.
    pub fn constant(value: Value) -> Expression {
        Expression::of(Node::Constant(value))
    }

    fn of(node: Node) -> Expression {
        Expression { integral: node.is_integral(), node }
    }

    /// Returns whether evaluating it takes less time than reading a clock: sums, products and uniform draws of whole
    /// numbers.
    pub fn is_quick(&self) -> bool {
        self.integral
    }

    /// Returns the value now. Random functions draw from `prng`.
    ///
    /// # Errors
    /// An operation has no result, such as a division by zero.
    #[inline]
    pub fn evaluate(&self, variables: &Variables, prng: &mut Prng) -> Result<Value> {
        if self.integral {
            let before = prng.clone();
            if let Some(value) = self.node.integer(variables, prng) {
                return Ok(Value::Int(value));
            }
            *prng = before;
        }
        self.node.value(variables, prng)
    }

    /// Returns whether the value counts as true: NULL and zero do not.
    ///
    /// # Errors
    /// As [`Expression::evaluate`].
    pub fn is_true(&self, variables: &Variables, prng: &mut Prng) -> Result<bool> {
        self.evaluate(variables, prng).map(is_true)
    }

    /// Returns the value as a whole number; a number with a fraction is rounded.
    ///
    /// # Errors
    /// As [`Expression::evaluate`], or it is not a number.
    pub fn whole(&self, variables: &Variables, prng: &mut Prng) -> Result<i64> {
        whole(self.evaluate(variables, prng)?)
    }
}

impl Node {
    /// Returns whether it consists of what [`Node::integer`] can compute.
    fn is_integral(&self) -> bool {
        match self {
            Node::Constant(value) => matches!(value, Value::Int(_)),
            Node::Variable(_) => true,
            Node::Call(function, arguments) => {
                function.is_integral() && arguments.iter().all(Node::is_integral)
            }
            _ => false,
        }
    }

    /// Returns the value, where it is made of whole numbers alone: most expressions of scripts are, and the result fits
    /// into registers, which a [`Value`] with its possible error does not. None leaves everything to [`Node::value`],
    /// which knows what is wrong.
    fn integer(&self, variables: &Variables, prng: &mut Prng) -> Option<i64> {
        match self {
            Node::Constant(Value::Int(value)) => Some(*value),
            Node::Variable(slot) => match variables.get(*slot) {
                Value::Int(value) => Some(value),
                _ => None,
            },
            Node::Call(function, arguments) => {
                let [left, right] = &**arguments else { return None };
                let left = left.integer(variables, prng)?;
                let right = right.integer(variables, prng)?;
                function::of_integers(*function, left, right, prng)
            }
            _ => None,
        }
    }

    fn value(&self, variables: &Variables, prng: &mut Prng) -> Result<Value> {
        match self {
            Node::Constant(value) => Ok(*value),
            Node::Variable(slot) => variables.scalar(*slot),
            Node::Call(function, arguments) => {
                function::call(*function, arguments, variables, prng)
            }
            Node::And(both) => logic(both, false, variables, prng),
            Node::Or(both) => logic(both, true, variables, prng),
            Node::Case(cases, otherwise) => {
                for (condition, result) in cases {
                    if is_true(condition.value(variables, prng)?) {
                        return result.value(variables, prng);
                    }
                }
                otherwise.value(variables, prng)
            }
        }
    }
}

/// AND and OR: the right side is left out where the left one decides, or is NULL.
fn logic(
    [left, right]: &[Node; 2],
    decides: bool,
    variables: &Variables,
    prng: &mut Prng,
) -> Result<Value> {
    let left = left.value(variables, prng)?;
    if left == Value::Null || truth(left)? == decides {
        return Ok(left);
    }
    match right.value(variables, prng)? {
        Value::Null => Ok(Value::Null),
        right => truth(right).map(Value::Bool),
    }
}

fn is_true(value: Value) -> bool {
    match value {
        Value::Bool(value) => value,
        Value::Int(value) => value != 0,
        Value::Double(value) => value != 0.0,
        _ => false,
    }
}

fn truth(value: Value) -> Result<bool> {
    match value {
        Value::Bool(value) => Ok(value),
        other => Err(wrong_type(other, "a boolean")),
    }
}

fn whole(value: Value) -> Result<i64> {
    // The limits of 64 bits as numbers that have no fraction.
    const END: f64 = 9_223_372_036_854_775_808.0;
    match value {
        Value::Int(value) => Ok(value),
        Value::Double(value) => match value.round_ties_even() {
            rounded if (-END..END).contains(&rounded) => Ok(rounded as i64),
            _ => Err(EvaluationError::NotWhole(value)),
        },
        other => Err(wrong_type(other, "a whole number")),
    }
}

fn double(value: Value) -> Result<f64> {
    match value {
        Value::Int(value) => Ok(value as f64),
        Value::Double(value) => Ok(value),
        other => Err(wrong_type(other, "a number")),
    }
}

fn wrong_type(found: Value, wanted: &'static str) -> EvaluationError {
    EvaluationError::Type(found.type_name(), wanted)
}

#[cfg(test)]
mod tests;
