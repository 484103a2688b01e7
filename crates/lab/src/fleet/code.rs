//! What of a run is SQL, a file or code of somebody else, which a machine must not use unasked.

use crate::level::{Level, Settings};
use crate::tier;
use crate::trial::{DRIVER, NATIVE};

/// Settings that are SQL.
const SQL: [&str; 4] = ["query", "schema_change", "sql", "text_queries"];

/// Settings that name a file of data or SQL.
const FILES: [&str; 6] = ["database", "script", "scripts", "setup", "text_file", "trace"];

/// The setting that names a library.
const LIBRARY: &str = "extension";

/// The setting that names several files, each with its weight.
const SEVERAL: &str = "scripts";

/// Whether settings have SQL executed that is not the experiment laboratory's own: as a text, or out of a file.
pub fn has_sql(settings: &Settings) -> bool {
    let is_named = |names: &[&str]| names.iter().any(|name| text(settings, name).is_some());
    is_named(&SQL) || is_named(&FILES)
}

/// Whether a driver that confines no SQL would execute some.
pub fn has_sql_for_another_driver(settings: &Settings) -> bool {
    let driver = settings.get(DRIVER).and_then(Level::as_text);
    driver.is_some_and(|driver| driver != NATIVE) && has_sql(settings)
}

/// The files that the settings of a workload name, without libraries.
pub fn files(workload: &str, settings: &Settings) -> Vec<String> {
    let named = FILES.iter().filter(|name| is_path(workload, settings, name));
    let texts = named.filter_map(|name| Some((*name, text(settings, name)?)));
    texts.flat_map(|(name, text)| paths(name, text)).collect()
}

/// The library that settings have loaded into SQLite.
pub fn library(settings: &Settings) -> Option<&str> {
    text(settings, LIBRARY)
}

/// The settings of a workload with other paths for files and libraries.
///
/// # Errors
/// The first path that has no other, or none that can be part of a list.
pub fn with_paths(
    workload: &str,
    settings: &Settings,
    other: impl Fn(&str) -> Option<String>,
) -> Result<Settings, String> {
    let mut changed = settings.clone();
    for name in FILES.iter().chain([&LIBRARY]) {
        let Some(own) = text(settings, name).filter(|_| is_path(workload, settings, name)) else {
            continue;
        };
        let mut whole = Vec::new();
        for path in paths(name, own) {
            let is_one = |new: &String| *name != SEVERAL || !new.contains(',');
            let new = other(&path).filter(is_one).ok_or(path)?;
            whole.push(new);
        }
        let text = if *name == SEVERAL { weighted_again(own, &whole) } else { whole.concat() };
        changed.insert((*name).to_owned(), Level::Text(text));
    }
    Ok(changed)
}

fn text<'s>(settings: &'s Settings, name: &str) -> Option<&'s str> {
    let text = settings.get(name)?.as_text()?;
    (!text.is_empty()).then_some(text)
}

/// Where the transactions of a trace are crashed, `database` is a name in it.
fn is_path(workload: &str, settings: &Settings, name: &str) -> bool {
    name != "database" || workload != tier::WORKLOAD || text(settings, "trace").is_none()
}

fn paths(name: &str, text: &str) -> Vec<String> {
    if name == SEVERAL {
        entries(text).map(|(path, _)| path.to_owned()).collect()
    } else {
        vec![text.to_owned()]
    }
}

/// The files of a list with what follows each, which is its weight.
fn entries(list: &str) -> impl Iterator<Item = (&str, &str)> {
    list.split(',').map(|entry| {
        let entry = entry.trim();
        let is_weight = |at: &usize| entry[at + 1..].chars().all(|c| c.is_ascii_digit());
        match entry.rfind('@').filter(is_weight) {
            Some(at) => entry.split_at(at),
            None => (entry, "@1"),
        }
    })
}

fn weighted_again(list: &str, paths: &[String]) -> String {
    let entries = entries(list).zip(paths);
    let entries: Vec<String> =
        entries.map(|((_, weight), path)| format!("{path}{weight}")).collect();
    entries.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(all: &[(&str, &str)]) -> Settings {
        let all = all.iter();
        all.map(|(name, value)| ((*name).to_owned(), Level::Text((*value).to_owned()))).collect()
    }

    #[test]
    fn sql_and_files_are_noticed_and_empty_ones_are_not() {
        assert!(has_sql(&settings(&[("sql", "ATTACH '/etc/x' AS x")])));
        assert!(has_sql(&settings(&[("trace", "/a.trace")])));
        assert!(!has_sql(&settings(&[("script", ""), ("journal_mode", "wal")])));
        assert_eq!(library(&settings(&[("extension", "/x.so")])), Some("/x.so"));
        let python = settings(&[("sql", "SELECT 1"), (DRIVER, "python")]);
        assert!(has_sql_for_another_driver(&python));
        assert!(!has_sql_for_another_driver(&settings(&[("sql", "SELECT 1")])));
    }

    #[test]
    fn every_file_gets_its_other_path_and_keeps_its_weight() {
        let own = settings(&[
            ("scripts", "/a/read.sql@9, /a/write.sql"),
            ("database", "/a/x@y.db"),
            ("extension", "/a/words.so"),
        ]);
        assert_eq!(files("sql", &own), ["/a/x@y.db", "/a/read.sql", "/a/write.sql"]);
        let other = with_paths("sql", &own, |path| Some(path.replace("/a/", "/cache/"))).unwrap();
        let expected = settings(&[
            ("scripts", "/cache/read.sql@9,/cache/write.sql@1"),
            ("database", "/cache/x@y.db"),
            ("extension", "/cache/words.so"),
        ]);
        assert_eq!(other, expected);
        let missing = with_paths("sql", &own, |path| path.ends_with("db").then(String::new));
        assert_eq!(missing, Err("/a/read.sql".to_owned()));
        let two = with_paths("sql", &own, |path| Some(format!("{path},/etc/passwd")));
        assert_eq!(two, Err("/a/read.sql".to_owned()));
    }

    #[test]
    fn the_database_of_a_crashed_trace_is_no_file_and_any_other_is() {
        let own = settings(&[("trace", "/a.trace"), ("database", "main.db")]);
        assert_eq!(files(tier::WORKLOAD, &own), ["/a.trace"]);
        for workload in ["sql", "fts-query", ""] {
            assert_eq!(files(workload, &own), ["main.db", "/a.trace"]);
        }
    }
}
