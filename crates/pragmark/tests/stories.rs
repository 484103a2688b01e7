//! Whole-binary stories: what a user does, and what happens to files, processes and exit codes.

#[path = "stories/accidents.rs"]
mod accidents;
#[path = "stories/bindings.rs"]
mod bindings;
#[path = "stories/contention.rs"]
mod contention;
#[path = "stories/crashes.rs"]
mod crashes;
#[path = "stories/engines.rs"]
mod engines;
#[path = "stories/everyday.rs"]
mod everyday;
#[path = "stories/full_text.rs"]
mod full_text;
#[path = "stories/kills_and_schedules.rs"]
mod kills_and_schedules;
#[path = "stories/knobs.rs"]
mod knobs;
#[path = "stories/laboratory.rs"]
mod laboratory;
#[path = "stories/loading.rs"]
mod loading;
#[path = "stories/mistakes.rs"]
mod mistakes;
#[path = "stories/queue.rs"]
mod queue;
#[path = "stories/safety.rs"]
mod safety;
