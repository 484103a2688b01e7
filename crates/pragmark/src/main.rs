//! The pragmark command.
fn main() {}
