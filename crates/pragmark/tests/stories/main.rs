//! Tests of the whole program: user actions and their effects on files, processes and exit codes.

mod accidents;
mod bad_builds;
mod bindings;
mod comparing;
mod contention;
mod crashes;
mod crossed;
mod engines;
mod everyday;
mod examination;
mod full_text;
mod hostile;
mod kills_and_schedules;
mod known_tiers;
mod laboratory;
mod loading;
mod mistakes;
mod own_driver;
mod own_sql;
mod parameters;
mod queue;
mod recording;
mod replay;
mod safety;
mod terminal;
mod traffic;
