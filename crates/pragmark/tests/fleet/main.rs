//! Runs over a fleet, with a real NATS server and agents that are killed.

mod chaos;
mod refusals;
mod scaling;
mod sharing;
mod weather;
mod world;
