//! The parameters of `replay`.

use std::path::Path;

use lab::level::{Level, Settings};

use crate::drive::parameters::Workers;
use crate::error::{Result, TrialError};
use crate::parameters::{FilePath, Percent, SqlText};
use crate::workload::preparation::Preparation;

choice! {
    /// In which order statements are replayed.
    enum Mode {
        /// Transactions that write one after the other in the recorded order, everything else as soon as what had
        /// ended before it in the recording has ended; the database ends as in the recording.
        Ordered = "ordered",
        /// As ordered, with the recorded pauses between statements.
        Paced = "paced",
        /// In the order of each connection alone: connections meet as chance has it.
        Free = "free",
    }
}

/// Busy timeout of a replay in milliseconds, unless a variant sets another.
const BUSY_TIMEOUT_MS: i64 = 60_000;

parameters! {
    /// The parameters of one trial.
    #[derive(Clone, Debug)]
    struct Parameters {
        /// Trace of an application, as `pragmark record` writes it.
        trace: Option<FilePath> = None;
        /// Whether VACUUM rewrites the file before the work, which removes free pages and sorts the others.
        vacuum: bool = false;
        /// Whether statistics for the planner are collected before the work (ANALYZE).
        analyze: bool = false;
        /// SQL that is executed once before the work and changes the schema, such as CREATE INDEX.
        schema_change: Option<SqlText> = None;
        /// In which order statements are replayed.
        mode: Mode = Mode::Ordered;
        /// Whether connections are threads of one process, or belong to as many processes as in the recording.
        workers: Workers = Workers::Threads;
        /// Speed of the pauses of mode = paced, in percent of the recording's.
        speed as "speed_percent": Percent = 100, 1..=1_000;
        /// Statements that must be replayable for a measurement, in percent of their number and of their time; when
        /// they are replayed in order, as many must do the same as in the recording.
        coverage as "min_coverage": Percent = 95, 0..=100;
        /// Whether to measure a replay in order even if it diverges from the recording. The report marks its figures.
        accept_divergence: bool = false;
        /// Statements whose figures are reported apart: those that took the most time in the recording.
        statements: usize = 20, 0..=100_000;
    }
}

impl Parameters {
    /// Returns the changes that are made once to the databases.
    pub(super) fn preparation(&self) -> Preparation<'_> {
        Preparation {
            vacuum: self.vacuum,
            analyze: self.analyze,
            schema_change: self.schema_change.as_deref(),
        }
    }

    /// Returns the path of the trace.
    ///
    /// # Errors
    /// No trace is named.
    pub(super) fn trace(&self) -> Result<&Path> {
        let trace = self.trace.as_deref().map(Path::new);
        trace.ok_or_else(|| TrialError::cannot_run("trace names no trace of an application"))
    }

    /// Checks the rules between parameters.
    pub(super) fn check(&self, settings: &Settings) -> Result<()> {
        if settings.get("locking_mode").and_then(Level::as_text) == Some("exclusive") {
            return Err(TrialError::cannot_run(
                "locking_mode = exclusive keeps other recorded connections out",
            ));
        }
        Ok(())
    }
}

/// Returns the settings of a trial with the busy timeout of a replay, because the application's belongs to its own waits.
pub(super) fn with_busy_timeout(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    settings.entry("busy_timeout".to_owned()).or_insert(BUSY_TIMEOUT_MS.into());
    settings
}
