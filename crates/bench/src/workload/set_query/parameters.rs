//! The parameters of `set-query`.

use engine::Library;

use crate::error::TrialError;
use crate::parameters::{Limit, Rows};
use crate::workload::common::MAX_HOST_PARAMETERS;

choice! {
    /// How the set gets into the query.
    enum Method {
        /// A bound array (<https://sqlite.org/carray.html>).
        Carray = "carray",
        /// A temporary table filled for each query.
        TempTable = "temp-table",
        /// A parameter for each value of IN (?, ?, …).
        InList = "in-list",
        /// A bound JSON text (<https://sqlite.org/json1.html#jeach>).
        JsonEach = "json-each",
    }
}

choice! {
    /// Type of the keys.
    enum Type {
        /// Integers.
        Integer = "integer",
        /// Texts of 16 characters.
        Text = "text",
        /// Blobs of 16 bytes.
        Blob = "blob",
    }
}

choice! {
    /// How rows are found by their key.
    enum Lookup {
        /// The key is the INTEGER PRIMARY KEY.
        PrimaryKey = "primary-key",
        /// The key is a column with an index.
        Index = "index",
    }
}

parameters! {
    /// The parameters of one trial.
    #[derive(Clone, Copy, Debug)]
    struct Parameters {
        /// Rows in the table.
        rows: Rows = 100_000, 1..;
        /// Type of the keys.
        kind as "type": Type = Type::Integer;
        /// How rows are found by their key.
        lookup: Lookup = Lookup::Index;
        /// How the set gets into the query.
        method: Method = Method::Carray;
        /// Values in a set, all different.
        set_size: usize = 1_000, 1..;
        /// Queries, which take turns with a few sets.
        queries: usize = 1_000, 1..;
        /// Time after which no further query begins; 0: no limit.
        stop_after as "stop_after_ms": Limit = 0;
    }
}

impl Parameters {
    /// The rules between parameters.
    pub(super) fn check(&self) -> Result<(), TrialError> {
        let (size, rows) = (self.set_size, self.rows);
        let why = if self.method == Method::InList && size > MAX_HOST_PARAMETERS {
            format!(
                "a list of {size} values exceeds the {MAX_HOST_PARAMETERS} parameters of a statement"
            )
        } else if (self.method, self.kind) == (Method::JsonEach, Type::Blob) {
            "JSON has no blobs".to_owned()
        } else if self.lookup == Lookup::PrimaryKey && self.kind != Type::Integer {
            "an INTEGER PRIMARY KEY holds integers only".to_owned()
        } else if size > rows.saturating_mul(2) {
            format!(
                "sets of {size} values, half of them in the table, require at least {} rows",
                size.div_ceil(2)
            )
        } else {
            return Ok(());
        };
        Err(TrialError::CannotRun(why))
    }

    pub(super) fn check_engine(&self, library: &Library) -> Result<(), TrialError> {
        if self.method == Method::Carray && !library.has_carray() {
            Err(TrialError::cannot_run("this engine lacks carray"))
        } else {
            Ok(())
        }
    }
}
