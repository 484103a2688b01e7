//! Files of JSON Lines and arrays of objects.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pragmark_fuzz::rows(bytes, load::Format::JsonLines));
