//! Tests of the extension as a shared library.

mod examples;
mod extension;
