//! Scripts of SQL.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pragmark_fuzz::script(bytes));
