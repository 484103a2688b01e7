//! The commands: each carries out a use case and shows its result.

pub mod anonymize;
pub mod compare;
pub mod crash;
pub mod doctor;
pub mod driver;
pub mod engine;
pub mod fleet;
pub mod generate;
pub mod guard;
pub mod inspect;
pub mod list;
pub mod load;
pub mod new;
pub mod outline;
pub mod record;
pub mod report;
pub mod run;
pub mod runs;
pub mod settings;
pub mod show;
pub mod trace;
pub mod unload;
pub mod watch;
pub mod worker;
