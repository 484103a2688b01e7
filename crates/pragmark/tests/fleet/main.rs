//! Runs over a fleet, with a real NATS server and agents that are killed.

mod access;
mod chaos;
mod members;
mod objects;
mod raw;
mod refusals;
mod scaling;
mod sharing;
mod travel;
mod trouble;
mod weather;
mod world;
