//! Effects of the user's statements on the damage of a crash: they may change settings that affect it, or attach databases with
//! settings of their own.

use lab::level::distinct;
use script::effect;

use crate::target::sqlite::decides_what_a_crash_takes;

/// Describes the effect of each named statement that has one.
pub(super) fn set_by<'s>(statements: impl IntoIterator<Item = (&'s str, &'s str)>) -> Vec<String> {
    let words = statements.into_iter().filter_map(|(name, sql)| {
        let pragma = effect::pragma(sql).filter(|pragma| pragma.has_value);
        match pragma.filter(|pragma| decides_what_a_crash_takes(&pragma.name)) {
            Some(pragma) => Some(format!("{name} sets {}", pragma.name)),
            None => effect::attached(sql).map(|_| format!("{name} attaches a database")),
        }
    });
    distinct(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_decide_and_attached_databases_are_named_with_their_statements() {
        let statements = [
            ("s:1", "PRAGMA synchronous = OFF"),
            ("s:2", "PRAGMA synchronous"),
            ("s:3", "PRAGMA cache_size = 5"),
            ("s:4", "ATTACH 'x.db' AS x"),
            ("s:5", "PRAGMA x.journal_mode(wal)"),
            ("s:6", "UPDATE t SET synchronous = 1"),
        ];
        assert_eq!(
            set_by(statements),
            ["s:1 sets synchronous", "s:4 attaches a database", "s:5 sets journal_mode"]
        );
    }
}
