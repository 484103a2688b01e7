//! Arrow IPC and Parquet files.
#![no_main]

libfuzzer_sys::fuzz_target!(
    init: pragmark_fuzz::let_panics_be_caught(),
    |bytes: &[u8]| pragmark_fuzz::rows(bytes, load::Format::Columnar)
);
