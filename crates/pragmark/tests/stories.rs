//! Whole-binary stories: what a user does, and what happens to files, processes and exit codes.

#[path = "stories/accidents.rs"]
mod accidents;
#[path = "stories/everyday.rs"]
mod everyday;
#[path = "stories/laboratory.rs"]
mod laboratory;
#[path = "stories/loading.rs"]
mod loading;
#[path = "stories/mistakes.rs"]
mod mistakes;
