#![forbid(unsafe_code)]
//! The vocabulary of pragmark and everything that can be decided without touching the world.
//!
//! Here live experiment files, designs, the stopping rule, statistics, claims and the analysis of
//! a run. Nothing in this crate reads a file, a clock or a database, so all of it can be tested
//! with made-up outcomes.
//!
//! The flow: [`experiment`] → [`design`] → (a runner runs [`trial`]s) → [`record`] →
//! [`samples`] → [`stats`] → [`claims`] → [`analysis`].

pub mod analysis;
pub mod catalogue;
pub mod claims;
pub mod comparison;
pub mod design;
pub mod durability;
pub mod engine_name;
pub mod environment;
pub mod experiment;
pub mod fleet;
pub mod guard;
pub mod level;
pub mod measures;
pub mod metric;
pub mod needs;
pub mod pilot;
pub mod plan;
pub mod record;
pub mod samples;
pub mod seed;
pub mod stats;
pub mod target;
pub mod text;
pub mod tier;
pub mod trial;
pub mod tuning_plan;
