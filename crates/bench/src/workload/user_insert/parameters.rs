//! The parameters of `user-insert`, and the rules between them.

use lab::level::Settings;
use lab::seed::Seed;

use crate::error::TrialError;
use crate::generate::Users;
use crate::parameters::{Percent, Rows};
use crate::target::sqlite;
use crate::workload::common::{MAX_HOST_PARAMETERS, check_host_parameters};

choice! {
    /// What is inserted and how it gets into the statement.
    enum Data {
        /// The same constants in every row, as literals in the SQL.
        Literals = "literals",
        /// The same constants in every row, bound for each statement.
        BoundConstants = "bound-constants",
        /// Random data, bound for each statement.
        BoundRandom = "bound-random",
    }
}

choice! {
    /// When random data is generated.
    enum Generate {
        /// Before the clock starts.
        Before = "before",
        /// While it runs, in parts.
        During = "during",
    }
}

choice! {
    /// Where the database is.
    enum Location {
        /// In a file.
        File = "file",
        /// In memory, as `:memory:` (<https://sqlite.org/inmemorydb.html>).
        Memory = "memory",
    }
}

/// Columns with a parameter: area, age and active.
const BOUND_COLUMNS: usize = 3;

/// Rows handed over at a time, rounded up to whole statements: enough that the handing over
/// between threads costs little for each row, few enough to stay in a processor's cache.
const ROWS_PER_PART: usize = 10_000;

parameters! {
    /// The parameters of one trial.
    #[derive(Clone, Copy, Debug)]
    struct Parameters {
        /// Rows to insert.
        rows: Rows = 100_000, 1..;
        /// What is inserted.
        data: Data = Data::BoundRandom;
        /// Rows in the VALUES list of one INSERT.
        rows_per_statement: Rows = 20, 1..=MAX_HOST_PARAMETERS as i64;
        /// Share of random areas that are NULL; the others are six digits.
        area_nulls: Percent = 50, 0..=100;
        /// When random data is generated.
        generate: Generate = Generate::Before;
        /// Threads that generate rows for the inserting one; 0: it generates them itself.
        generator_threads: usize = 0, 0..=256;
        /// Where the database is.
        location as "where": Location = Location::File;
    }
}

impl Parameters {
    /// The rules between parameters.
    pub(super) fn check(&self, settings: &Settings) -> Result<(), TrialError> {
        let generating = (self.data, self.generate) == (Data::BoundRandom, Generate::During);
        if self.generator_threads > 0 && !generating {
            let why = "generator threads require data = bound-random and generate = during";
            return Err(TrialError::cannot_run(why));
        }
        if self.data != Data::Literals {
            let rows = self.rows_per_statement;
            check_host_parameters(rows.saturating_mul(BOUND_COLUMNS), &format!("{rows} rows"))?;
        }
        let impossible = match self.location {
            Location::Memory => sqlite::why_impossible_in_memory(settings),
            Location::File => None,
        };
        impossible.map_or(Ok(()), |why| Err(TrialError::CannotRun(why)))
    }

    pub(super) fn rows_per_part(&self) -> usize {
        ROWS_PER_PART.next_multiple_of(self.rows_per_statement)
    }

    /// The random rows of the trial.
    pub(super) fn users(&self, seed: Seed) -> Users {
        Users::new(seed, self.rows, self.rows_per_part(), self.area_nulls as u64)
    }
}
