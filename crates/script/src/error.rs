//! Mistakes in a script: in its text, and in its computations.

pub use lab::experiment::Problem as ScriptError;

/// The result of evaluating an expression.
pub type Result<T, E = EvaluationError> = std::result::Result<T, E>;

/// A mistake without its file and line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) what: String,
    pub(crate) nearest: Option<String>,
}

impl Mistake {
    pub(crate) fn new(what: impl Into<String>) -> Mistake {
        Mistake { what: what.into(), nearest: None }
    }

    /// Returns an unknown name, with the candidate nearest to it.
    pub(crate) fn unknown<'a>(
        what: impl Into<String>,
        name: &str,
        candidates: impl IntoIterator<Item = &'a str>,
    ) -> Mistake {
        Mistake {
            what: what.into(),
            nearest: lab::experiment::nearest(name, candidates).map(str::to_owned),
        }
    }

    pub(crate) fn at(self, file: &str, line: usize) -> ScriptError {
        ScriptError { file: file.to_owned(), line, what: self.what, nearest: self.nearest }
    }
}

/// Why an expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum EvaluationError {
    /// A result is beyond 64 bits.
    #[error("bigint {0} out of range")]
    OutOfRange(&'static str),
    /// A number is too large for a whole number of 64 bits.
    #[error("the number {0} is out of range for a whole number")]
    NotWhole(f64),
    /// Divided by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A value has another type than the operation takes.
    #[error("cannot use a {0} as {1}")]
    Type(&'static str, &'static str),
    /// A range ends before it begins.
    #[error("the range from {min} to {max} is empty")]
    EmptyRange {
        /// Its first number.
        min: i64,
        /// Its last number.
        max: i64,
    },
    /// A range has more numbers than 63 bits can count.
    #[error("the range from {min} to {max} is too large")]
    LargeRange {
        /// Its first number.
        min: i64,
        /// Its last number.
        max: i64,
    },
    /// The parameter of a distribution is not in its range.
    #[error("the parameter of {function} must be {wanted}, not {found}")]
    Parameter {
        /// The function.
        function: &'static str,
        /// The allowed values.
        wanted: &'static str,
        /// The number found.
        found: f64,
    },
    /// A variable has no value yet.
    #[error("a variable is used before it has a value")]
    Undefined,
}
