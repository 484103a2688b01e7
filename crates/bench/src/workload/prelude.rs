//! The names that the modules of workloads share: the engine, the trial, its error, its result and their common steps.

pub(super) use engine::{
    Connection, EngineError, Library, OpenFlags, Statement, Step, Value, locked, unlocked,
};
pub(super) use lab::level::{Level, Settings, overlaid};
pub(super) use lab::measures::Measures;
pub(super) use lab::needs::Needs;
pub(super) use lab::seed::{Seed, SplitMix64};
pub(super) use lab::trial::{DataTable, Measured};

pub(super) use super::common::{
    Elapsed, Stopwatch, Sum, add, check_sums, close, expect, refuse_single_threaded, set,
    set_bytes_per_row, set_counts, set_cpu, set_latency, set_peak_memory, sums,
};
pub(super) use super::declared::Declared;
pub(super) use crate::drive::gate::{Gate, run_threads};
pub(super) use crate::drive::worker::Client;
pub(super) use crate::error::{Result, TrialError};
pub(super) use crate::measure::{LatencyHistogram, Windows};
pub(super) use crate::parameters::{Choice, Rows};
pub(super) use crate::target::sqlite;
pub(super) use crate::trial::Trial;
