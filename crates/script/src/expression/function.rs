//! The functions and operators of expressions.

use super::{Node, double, truth, whole, wrong_type};
use crate::error::{EvaluationError, Result};
use crate::random::{self, Prng};
use crate::variables::{Value, Variables};

/// A function or an operator that takes values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Not,
    Is,
    Abs,
    Debug,
    Double,
    Exp,
    Greatest,
    HashFnv1a,
    HashMurmur2,
    Int,
    Least,
    Ln,
    Permute,
    Pi,
    Power,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
}

/// The most arguments of a function that does not take any number of them.
const MOST: usize = 4;

/// The named functions with the fewest and the most arguments they take. A seed that is left out is the variable
/// `default_seed`.
pub(super) const NAMED: [(&str, Function, usize, usize); 21] = [
    ("abs", Function::Abs, 1, 1),
    ("debug", Function::Debug, 1, 1),
    ("double", Function::Double, 1, 1),
    ("exp", Function::Exp, 1, 1),
    ("greatest", Function::Greatest, 1, usize::MAX),
    ("hash", Function::HashMurmur2, 1, 2),
    ("hash_fnv1a", Function::HashFnv1a, 1, 2),
    ("hash_murmur2", Function::HashMurmur2, 1, 2),
    ("int", Function::Int, 1, 1),
    ("least", Function::Least, 1, usize::MAX),
    ("ln", Function::Ln, 1, 1),
    ("mod", Function::Modulo, 2, 2),
    ("permute", Function::Permute, 2, 3),
    ("pi", Function::Pi, 0, 0),
    ("pow", Function::Power, 2, 2),
    ("power", Function::Power, 2, 2),
    ("random", Function::Random, 2, 2),
    ("random_exponential", Function::RandomExponential, 3, 3),
    ("random_gaussian", Function::RandomGaussian, 3, 3),
    ("random_zipfian", Function::RandomZipfian, 3, 3),
    ("sqrt", Function::Sqrt, 1, 1),
];

impl Function {
    /// Returns whether a seed that is left out is a variable.
    pub(super) fn takes_seed(self) -> bool {
        matches!(self, Function::HashFnv1a | Function::HashMurmur2 | Function::Permute)
    }

    /// Returns whether it makes a whole number of two whole numbers, and is so common that this has a way of its own.
    pub(super) fn is_integral(self) -> bool {
        matches!(
            self,
            Function::Add
                | Function::Subtract
                | Function::Multiply
                | Function::Divide
                | Function::Random
        )
    }
}

/// Returns the result of an integral function of two whole numbers, if it has one.
#[inline]
pub(super) fn of_integers(
    function: Function,
    left: i64,
    right: i64,
    prng: &mut Prng,
) -> Option<i64> {
    match function {
        Function::Add => left.checked_add(right),
        Function::Subtract => left.checked_sub(right),
        Function::Multiply => left.checked_mul(right),
        Function::Divide => left.checked_div(right),
        Function::Random => prng.between(left, right),
        _ => None,
    }
}

/// Returns the value of a function of these arguments.
pub(super) fn call(
    function: Function,
    arguments: &[Node],
    variables: &Variables,
    prng: &mut Prng,
) -> Result<Value> {
    if matches!(function, Function::Least | Function::Greatest) {
        return extreme(function == Function::Greatest, arguments, variables, prng);
    }
    let mut values = [Value::Null; MOST];
    let mut any_null = false;
    for (value, argument) in values.iter_mut().zip(arguments) {
        *value = argument.value(variables, prng)?;
        any_null |= *value == Value::Null;
    }
    if any_null && !matches!(function, Function::Is | Function::Debug) {
        return Ok(Value::Null);
    }
    let [first, second, third, _] = values;
    match function {
        Function::Not => Ok(Value::Bool(!truth(first)?)),
        Function::Is => Ok(Value::Bool(first == second)),
        Function::Debug => Ok(first),
        Function::Random => prng.uniform(whole(first)?, whole(second)?).map(Value::Int),
        Function::RandomExponential => {
            prng.exponential(whole(first)?, whole(second)?, double(third)?).map(Value::Int)
        }
        Function::RandomGaussian => {
            prng.gaussian(whole(first)?, whole(second)?, double(third)?).map(Value::Int)
        }
        Function::RandomZipfian => {
            prng.zipfian(whole(first)?, whole(second)?, double(third)?).map(Value::Int)
        }
        Function::HashFnv1a => Ok(Value::Int(random::hash_fnv1a(whole(first)?, whole(second)?))),
        Function::HashMurmur2 => {
            Ok(Value::Int(random::hash_murmur2(whole(first)?, whole(second)?)))
        }
        Function::Permute => {
            random::permute(whole(first)?, whole(second)?, whole(third)?).map(Value::Int)
        }
        Function::Abs => match first {
            Value::Int(value) => in_range("abs", value.checked_abs()).map(Value::Int),
            value => Ok(Value::Double(double(value)?.abs())),
        },
        Function::Int => whole(first).map(Value::Int),
        Function::Double => double(first).map(Value::Double),
        Function::Exp => Ok(Value::Double(double(first)?.exp())),
        Function::Ln => Ok(Value::Double(double(first)?.ln())),
        Function::Pi => Ok(Value::Double(std::f64::consts::PI)),
        Function::Sqrt => Ok(Value::Double(double(first)?.sqrt())),
        Function::Power => Ok(Value::Double(double(first)?.powf(double(second)?))),
        _ => of_two(function, first, second),
    }
}

/// Returns the least or the greatest; NULL where any is.
fn extreme(
    greatest: bool,
    arguments: &[Node],
    variables: &Variables,
    prng: &mut Prng,
) -> Result<Value> {
    let mut best: Option<Value> = None;
    let mut any_null = false;
    for argument in arguments {
        let value = argument.value(variables, prng)?;
        any_null |= value == Value::Null;
        if !any_null {
            best = Some(match best {
                None => numeric(value)?,
                Some(best) => better(greatest, best, numeric(value)?)?,
            });
        }
    }
    Ok(best.filter(|_| !any_null).unwrap_or(Value::Null))
}

/// Returns the better of two numbers, as a number with a fraction where one of them is.
fn better(greatest: bool, left: Value, right: Value) -> Result<Value> {
    Ok(match (left, right) {
        (Value::Int(left), Value::Int(right)) => {
            Value::Int(if greatest { left.max(right) } else { left.min(right) })
        }
        _ => {
            let (left, right) = (double(left)?, double(right)?);
            Value::Double(if greatest { left.max(right) } else { left.min(right) })
        }
    })
}

fn numeric(value: Value) -> Result<Value> {
    match value {
        Value::Int(_) | Value::Double(_) => Ok(value),
        other => Err(wrong_type(other, "a number")),
    }
}

fn of_two(function: Function, left: Value, right: Value) -> Result<Value> {
    let of_bits = matches!(
        function,
        Function::Modulo
            | Function::BitAnd
            | Function::BitOr
            | Function::BitXor
            | Function::ShiftLeft
            | Function::ShiftRight
    );
    match (left, right) {
        (Value::Double(_), _) | (_, Value::Double(_)) if !of_bits => {
            of_doubles(function, double(left)?, double(right)?)
        }
        _ => of_whole(function, whole(left)?, whole(right)?),
    }
}

fn of_doubles(function: Function, left: f64, right: f64) -> Result<Value> {
    Ok(match function {
        Function::Equal => Value::Bool(left == right),
        Function::NotEqual => Value::Bool(left != right),
        Function::Less => Value::Bool(left < right),
        Function::LessOrEqual => Value::Bool(left <= right),
        Function::Add => Value::Double(left + right),
        Function::Subtract => Value::Double(left - right),
        Function::Multiply => Value::Double(left * right),
        _ => Value::Double(left / right),
    })
}

fn of_whole(function: Function, left: i64, right: i64) -> Result<Value> {
    if right == 0 && matches!(function, Function::Divide | Function::Modulo) {
        return Err(EvaluationError::DivisionByZero);
    }
    let number = match function {
        Function::Equal => return Ok(Value::Bool(left == right)),
        Function::NotEqual => return Ok(Value::Bool(left != right)),
        Function::Less => return Ok(Value::Bool(left < right)),
        Function::LessOrEqual => return Ok(Value::Bool(left <= right)),
        Function::Add => in_range("add", left.checked_add(right))?,
        Function::Subtract => in_range("sub", left.checked_sub(right))?,
        Function::Multiply => in_range("mul", left.checked_mul(right))?,
        Function::Divide => in_range("div", left.checked_div(right))?,
        Function::Modulo => left.wrapping_rem(right),
        Function::BitAnd => left & right,
        Function::BitOr => left | right,
        Function::ShiftLeft => left.wrapping_shl(right as u32),
        Function::ShiftRight => left.wrapping_shr(right as u32),
        _ => left ^ right,
    };
    Ok(Value::Int(number))
}

fn in_range(operation: &'static str, result: Option<i64>) -> Result<i64> {
    result.ok_or(EvaluationError::OutOfRange(operation))
}
