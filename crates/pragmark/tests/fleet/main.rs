//! Runs over a fleet, with a real NATS server and agents that are killed.

mod chaos;
mod refusals;
mod sharing;
mod world;
