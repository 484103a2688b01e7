//! Arrow IPC and Parquet files.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pragmark_fuzz::rows(bytes, load::Format::Columnar));
