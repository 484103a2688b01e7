//! What of a run is code or a file of somebody else, which a machine must not use unasked.

use crate::level::{Level, Settings};

/// Settings that are SQL, or name files: libraries, databases, documents, traces.
const FOREIGN: [&str; 10] = [
    "database",
    "extension",
    "query",
    "script",
    "scripts",
    "setup",
    "sql",
    "text_file",
    "text_queries",
    "trace",
];

/// The first setting whose value is SQL or a file of the user's; none where all are numbers and known words.
pub fn foreign(settings: &Settings) -> Option<&'static str> {
    let is_used = |name: &&str| match settings.get(*name) {
        None => false,
        Some(Level::Text(text)) => !text.is_empty(),
        Some(_) => true,
    };
    FOREIGN.into_iter().find(|name| is_used(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_and_files_are_noticed_and_empty_ones_are_not() {
        let settings = |name: &str, value: Level| Settings::from([(name.to_owned(), value)]);
        let text = |text: &str| Level::Text(text.to_owned());
        assert_eq!(
            foreign(&settings("sql", text("ATTACH '/etc/x' AS x"))),
            Some("sql")
        );
        assert_eq!(
            foreign(&settings("extension", text("/tmp/x.so"))),
            Some("extension")
        );
        assert_eq!(foreign(&settings("script", text(""))), None);
        assert_eq!(foreign(&settings("journal_mode", text("wal"))), None);
        assert_eq!(foreign(&settings("rows", Level::Int(5))), None);
    }
}
