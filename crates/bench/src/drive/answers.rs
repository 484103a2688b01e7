//! Digests of the answers of statements: the number of rows, and a checksum that does not depend on their order.

use engine::{EngineError, Statement};
use lab::trial::Answer;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

/// The digest of all answers of a statement so far.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct AnswerDigest {
    pub(crate) executions: u64,
    rows: u64,
    sum: u64,
    /// Whether the answer may differ each time.
    volatile: bool,
}

impl AnswerDigest {
    /// Digests no answers yet. The answer of a volatile statement may differ each time.
    pub(crate) fn new(volatile: bool) -> AnswerDigest {
        AnswerDigest { executions: 0, rows: 0, sum: 0, volatile }
    }

    /// Adds the answers of the same statement elsewhere.
    pub(crate) fn add(&mut self, other: AnswerDigest) {
        self.executions += other.executions;
        self.rows += other.rows;
        self.sum = self.sum.wrapping_add(other.sum);
    }

    /// Adds the current row of a statement.
    pub(crate) fn add_row(&mut self, statement: &Statement<'_, '_>) -> Result<(), EngineError> {
        let mut hashed = Vec::new();
        statement.write_row(&mut hashed)?;
        self.rows += 1;
        self.sum = self.sum.wrapping_add(XxHash3_64::oneshot(&hashed));
        Ok(())
    }

    /// Returns the digest as it is recorded: a volatile statement has no checksum.
    pub(crate) fn answer(self) -> Answer {
        Answer {
            executions: self.executions,
            rows: self.rows,
            checksum: (!self.volatile).then(|| format!("{:016x}", self.sum)),
            ..Answer::default()
        }
    }
}
