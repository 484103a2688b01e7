//! Experiment files.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pragmark_fuzz::experiment(bytes));
