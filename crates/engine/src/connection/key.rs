//! The key of databases that an engine encrypts.
//!
//! It comes from the environment, so that it stands in no command line, record or message.

use std::env;

/// The variable that holds the key: a passphrase, or a key in SQLCipher's form `x'…'`, from which none is derived.
pub(super) const KEY: &str = "PRAGMARK_KEY";

/// The statement that sets the key of a connection. Without the variable it is a fixed key with a fixed salt, for the
/// made-up data of measurements.
pub(super) fn pragma() -> String {
    statement(env::var(KEY).ok())
}

fn statement(given: Option<String>) -> String {
    let key = given.unwrap_or_else(|| format!("x'{}'", "5a".repeat(48)));
    format!("PRAGMA key = '{}'", key.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_text_whatever_it_contains() {
        assert_eq!(statement(Some("it's".to_owned())), "PRAGMA key = 'it''s'");
        assert!(statement(None).starts_with("PRAGMA key = 'x''5a5a"));
    }
}
