#![forbid(unsafe_code)]
//! Room to be furnished.
