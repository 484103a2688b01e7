//! Recordings of real programs, read again.

mod growing;
mod hostile;
mod locks;
mod many;
mod programs;
mod recorded;
mod secrets;
mod workspace;
