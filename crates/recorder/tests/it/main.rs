//! Recordings of real programs, read again.

mod hostile;
mod locks;
mod many;
mod programs;
mod recorded;
mod secrets;
mod workspace;
