//! Targets: what the work of a trial is done to.
//!
//! Most workloads drive SQLite and say nothing of it. One that can drive something else has a
//! parameter [`SETTING`]. The word stands here because it decides what a trial is given (a server),
//! and what can be said of a variant (the safety tiers of SQLite's settings apply to SQLite only).

use crate::level::{Level, Settings};

/// The parameter that names the target.
pub const SETTING: &str = "target";

/// SQLite: the target where a workload names none.
pub const SQLITE: &str = "sqlite";

/// A PostgreSQL server: a trial with this target finds its address in
/// [`TrialSpec::postgres`](crate::trial::TrialSpec::postgres).
pub const POSTGRES: &str = "postgres";

/// Returns the target of these settings.
pub fn of(settings: &Settings) -> &str {
    settings.get(SETTING).and_then(Level::as_text).unwrap_or(SQLITE)
}

/// Returns whether these settings drive SQLite.
pub fn is_sqlite(settings: &Settings) -> bool {
    of(settings) == SQLITE
}

/// Returns whether these settings drive a PostgreSQL server.
pub fn is_postgres(settings: &Settings) -> bool {
    of(settings) == POSTGRES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlite_is_the_target_unless_another_is_named() {
        let named = |name: &str| Settings::from([(SETTING.to_owned(), name.into())]);
        assert!(is_sqlite(&Settings::new()) && is_sqlite(&named("sqlite")));
        assert!(is_postgres(&named("postgres")) && !is_sqlite(&named("postgres")));
        assert_eq!(of(&named("files")), "files");
    }
}
