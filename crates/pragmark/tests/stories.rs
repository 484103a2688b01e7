//! Whole-binary stories: what a user does, and what happens to files, processes and exit codes.

#[path = "stories/accidents.rs"]
mod accidents;
#[path = "stories/crashes.rs"]
mod crashes;
#[path = "stories/everyday.rs"]
mod everyday;
#[path = "stories/knobs.rs"]
mod knobs;
#[path = "stories/laboratory.rs"]
mod laboratory;
#[path = "stories/mistakes.rs"]
mod mistakes;
#[path = "stories/safety.rs"]
mod safety;
