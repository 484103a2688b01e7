//! Integration tests of the crash laboratory, in one program so that its dependencies are linked once.

mod apart;
mod boundaries;
mod models;
mod own;
mod schedules;
mod verdicts;
