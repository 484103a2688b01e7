#![forbid(unsafe_code)]
//! The worker side: workloads, data generators, targets, and the trial itself.
//!
//! This code runs in a process of its own for each trial. It measures and verifies; it knows
//! neither statistics nor printing, and what it has to say goes to the parent as messages.

#[macro_use]
mod parameters;

mod advice;
pub mod anonymize;
mod bindings;
mod catalogue;
mod drive;
mod driver;
mod error;
pub mod examination;
mod generate;
mod import;
mod levers;
mod measure;
mod platform;
mod target;
mod text_experiments;
mod trial;
mod workload;

pub use advice::{advice, idle_settings, idle_settings_of_pgbench, schema_advice};
pub use bindings::{binding_spec, judge_binding, normalise_pragmas};
pub use catalogue::{catalogue, training};
pub use driver::{describe_engine, drive};
pub use error::TrialError;
pub use import::{ImportError, TextFile, TextOptions, TextSummary};
pub use levers::{
    Ground, good_settings, level_of_setting, levers, may_be_written_anew, on_request,
};
pub use measure::peak_memory_bytes;
pub use platform::die_with_the_parent;
pub use target::postgres::{SCHEMA as TRIAL_SCHEMA, remove_trial_schema};
pub use text_experiments::{
    TakesNoText, TextUse, check_takes_text, compares_classes, needs_queries, text_of, use_queries,
    use_text,
};
pub use workload::contention_worker;
pub use workload::crash::crash_script;
pub use workload::fts::draw::{DocumentQueries, draw_queries, read_queries};
pub use workload::replay::{
    causes_first, check_trace, missing_in_trace, missing_object, options_for, work as replay_worker,
};
pub use workload::sql::facets::answer_of;
pub use workload::sql::snapshot::{
    State as DatabaseState, copy_database, copy_or_cover, is_in_wal_mode,
};
pub use workload::sql::{has_several_scripts, statements};

use lab::level::Settings;
use lab::needs::Needs;

/// The library that a trial with these settings loads into the engine, if any.
pub fn extension(settings: &Settings) -> Option<String> {
    settings.get("extension")?.as_text().map(str::to_owned)
}

/// Returns the needs of a trial of this workload with these settings from the operating system; the default for an
/// unknown workload.
pub fn needs(workload: &str, settings: &Settings) -> Needs {
    workload::find(workload).map_or_else(Needs::default, |workload| workload.needs(settings))
}
