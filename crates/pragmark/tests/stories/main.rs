//! Whole-binary stories: what a user does, and what happens to files, processes and exit codes.

mod accidents;
mod bindings;
mod contention;
mod crashes;
mod engines;
mod everyday;
mod full_text;
mod kills_and_schedules;
mod knobs;
mod laboratory;
mod loading;
mod mistakes;
mod queue;
mod safety;
