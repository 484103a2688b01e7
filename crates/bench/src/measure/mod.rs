//! Instruments: clocks, histograms, throughput windows and the process's own accounts.
//!
//! They are made before the clock starts and read after it has stopped; what runs in between is a
//! clock reading at most once an operation.

mod histogram;
mod resources;
mod windows;

pub(crate) use histogram::LatencyHistogram;
pub use resources::peak_memory_bytes;
pub(crate) use resources::{CpuTime, peak_memory_bytes_of};
pub(crate) use windows::Windows;
