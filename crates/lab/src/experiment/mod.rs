//! Experiments: questions as data, written as TOML files.
//!
//! The form of a file is in `form.rs`. [`parse`] reads one and points out its problems, the checks
//! against the catalogue are in `validate.rs`, the published JSON schema is [`experiment_schema`]. All of it works on text; the caller reads the file.

mod form;
mod parse;
mod problems;
mod scale;
mod validate;
mod validate_claims;

pub use form::{
    Adjustment, Check, Design, DesignKind, Exclusion, Experiment, Labels, UpperBoundFile,
    VariantName, experiment_schema,
};
pub use parse::parse;
pub use problems::{Problem, Problems, Step, line_of, nearest, offset_of};
pub use scale::Scale;
pub use validate::{MOST_BYTES, MOST_ROUNDS, MOST_VARIANTS};
