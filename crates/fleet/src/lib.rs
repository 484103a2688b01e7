#![forbid(unsafe_code)]
//! Runs over a fleet: blocks of trials on other machines, by way of NATS JetStream.
//!
//! JetStream holds everything that must outlive a process: the work that waits, the outcomes, the plans of runs, the
//! agents that are present, and files that travel. [`Remote`] is an executor like any other: a run hands it block after
//! block and gets outcomes, in the order of the design, wherever they were measured. [`serve`] is the other end: it
//! takes one block at a time and has it carried out by the executor of its own machine.
//!
//! This crate knows neither statistics nor printing.

mod address;
mod agent;
mod error;
mod members;
mod objects;
mod presence;
mod remote;
mod results;
mod runs;
mod server;
mod signature;
mod subjects;
mod wire;
mod work;

pub use address::{Access, Address};
pub use agent::{AgentEvent, Machine, StopSignals, serve};
pub use error::FleetError;
pub use members::{Members, Roster};
pub use objects::{Content, Object, ObjectCache};
pub use presence::{Activity, Card, PresentAgent, check_name, present};
pub use remote::Remote;
pub use results::{machine_reports, part_of_run, publish_part, rerun_of};
pub use runs::{
    RunCard, SAY, Unreadable, find, finish, has_coordinator, list, progress_of, publish,
    publish_progress, purge, withdraw_progress,
};
pub use server::{ConnectionEvent, ConnectionObserver, Server};
pub use signature::{Signature, Signer, Trusted};
pub use wire::{MachineReport, RunPart};
pub use work::{Queue, queue, register_group};
