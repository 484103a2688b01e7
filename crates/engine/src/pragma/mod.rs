//! The PRAGMA catalogue.
/// x
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct PragmaError;
impl PragmaError {
    /// x
    pub fn as_sqlite(&self) -> Option<&crate::SqliteError> { None }
}
