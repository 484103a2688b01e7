//! Searches on made-up surfaces, and searches as records of runs make them go on.

extern crate pragmark_tuning as tuning;

mod course;
mod parts;
mod search;
// The benchmark `tuning` uses parts that no test needs.
#[allow(dead_code)]
mod simulation;
