//! SQL, files and code of other people that a run names, which a machine must not use unasked.
//!
//! The catalogue declares which settings hold them ([`Contents`]).

use crate::catalogue::{Catalogue, Contents};
use crate::level::{Level, Settings};
use crate::trial::{DRIVER, NATIVE};

/// Returns whether settings of a workload execute SQL that is not pragmark's own, given as a text or in a file.
pub fn has_sql(catalogue: &Catalogue, workload: &str, settings: &Settings) -> bool {
    use Contents::{Database, File, Sql, WeightedFiles};
    texts(catalogue, workload, settings)
        .any(|(_, contents, _)| matches!(contents, Sql | File | WeightedFiles | Database))
}

/// Returns whether a driver that cannot confine SQL would execute some.
pub fn has_sql_for_another_driver(
    catalogue: &Catalogue,
    workload: &str,
    settings: &Settings,
) -> bool {
    let driver = settings.get(DRIVER).and_then(Level::as_text);
    driver.is_some_and(|driver| driver != NATIVE) && has_sql(catalogue, workload, settings)
}

/// Returns the files that settings of a workload name, without extensions.
pub fn files(catalogue: &Catalogue, workload: &str, settings: &Settings) -> Vec<String> {
    let texts = texts(catalogue, workload, settings);
    let files = texts.filter(|(_, contents, _)| *contents != Contents::Extension);
    let is_replay = replays(catalogue, workload, settings);
    files.flat_map(|(_, contents, text)| paths(contents, text, is_replay)).collect()
}

/// Returns the extensions that settings of a workload load into SQLite.
pub fn extensions<'s>(
    catalogue: &'s Catalogue,
    workload: &'s str,
    settings: &'s Settings,
) -> impl Iterator<Item = &'s str> {
    let texts = texts(catalogue, workload, settings);
    texts.filter_map(|(_, contents, text)| (contents == Contents::Extension).then_some(text))
}

/// Returns the settings of a workload with other paths for files and extensions.
///
/// # Errors
/// The first path that has no other path, or one that cannot be part of a list.
pub fn with_paths(
    catalogue: &Catalogue,
    workload: &str,
    settings: &Settings,
    other: impl Fn(&str) -> Option<String>,
) -> Result<Settings, String> {
    let mut changed = settings.clone();
    let is_replay = replays(catalogue, workload, settings);
    for (name, contents, text) in texts(catalogue, workload, settings) {
        let is_list = contents == Contents::WeightedFiles;
        let mut new = Vec::new();
        for path in paths(contents, text, is_replay) {
            let fits = |new: &String| !is_list || !new.contains(',');
            new.push(other(&path).filter(fits).ok_or(path)?);
        }
        if new.is_empty() {
            continue;
        }
        let text = if is_list { with_weights_of(text, &new) } else { new.concat() };
        changed.insert(name.to_owned(), Level::Text(text));
    }
    Ok(changed)
}

/// Returns the name, contents and value of every text that is not empty.
fn texts<'s>(
    catalogue: &'s Catalogue,
    workload: &'s str,
    settings: &'s Settings,
) -> impl Iterator<Item = (&'s str, Contents, &'s str)> {
    settings.iter().filter_map(move |(name, level)| {
        let text = level.as_text().filter(|text| !text.is_empty())?;
        Some((name.as_str(), catalogue.contents(workload, name)?, text))
    })
}

/// Returns whether a workload replays a trace, whose databases are inside it: a workload that declares no trace opens the
/// files that its settings name, whatever a `trace` among them says.
fn replays(catalogue: &Catalogue, workload: &str, settings: &Settings) -> bool {
    let workload = catalogue.workload(workload);
    let declares =
        workload.is_some_and(|workload| workload.parameters.iter().any(|one| one.name == "trace"));
    let trace = settings.get("trace").and_then(Level::as_text);
    declares && trace.is_some_and(|trace| !trace.is_empty())
}

/// Returns the paths in a text.
fn paths(contents: Contents, text: &str, is_replay: bool) -> Vec<String> {
    match contents {
        Contents::Plain | Contents::Sql | Contents::Engine => Vec::new(),
        Contents::Database if is_replay => Vec::new(),
        Contents::File | Contents::Database | Contents::Extension => vec![text.to_owned()],
        Contents::WeightedFiles => entries(text).map(|(path, _)| path.to_owned()).collect(),
    }
}

/// Returns the paths of a list, each with the weight that follows it.
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

fn with_weights_of(list: &str, paths: &[String]) -> String {
    let entries = entries(list).zip(paths);
    let entries: Vec<String> =
        entries.map(|((_, weight), path)| format!("{path}{weight}")).collect();
    entries.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Accepts, Parameter, Scope, WorkloadInfo};

    /// A workload `w` with one text of each kind.
    fn catalogue() -> Catalogue {
        let text = |(name, contents): (&str, Contents)| Parameter {
            name: name.to_owned(),
            accepts: Accepts::Text(contents),
            default: None,
            unit: None,
            about: String::new(),
            scope: Scope::Workload,
            crash_relevant: false,
        };
        let parameters = [
            ("database", Contents::Database),
            ("engine", Contents::Engine),
            ("extension", Contents::Extension),
            ("note", Contents::Plain),
            ("scripts", Contents::WeightedFiles),
            ("sql", Contents::Sql),
            ("trace", Contents::File),
        ];
        let workload = WorkloadInfo {
            name: "w".to_owned(),
            parameters: parameters.map(text).into(),
            ..WorkloadInfo::default()
        };
        Catalogue { workloads: vec![workload], ..Catalogue::default() }
    }

    fn settings(all: &[(&str, &str)]) -> Settings {
        let all = all.iter();
        all.map(|(name, value)| ((*name).to_owned(), Level::Text((*value).to_owned()))).collect()
    }

    #[test]
    fn sql_and_files_are_noticed_and_empty_ones_are_not() {
        let has_sql = |all: &[(&str, &str)]| has_sql(&catalogue(), "w", &settings(all));
        assert!(has_sql(&[("sql", "ATTACH '/etc/x' AS x")]));
        assert!(has_sql(&[("trace", "/a.trace")]));
        assert!(has_sql(&[("scripts", "/a.sql@2")]));
        assert!(has_sql(&[("database", "/a.db")]));
        assert!(!has_sql(&[
            ("trace", ""),
            ("journal_mode", "wal"),
            ("note", "x"),
            ("engine", "/e.so")
        ]));
        assert!(!has_sql(&[("extension", "/x.so")]));
        let for_another =
            |all: &[(&str, &str)]| has_sql_for_another_driver(&catalogue(), "w", &settings(all));
        assert!(for_another(&[("sql", "SELECT 1"), (DRIVER, "python")]));
        assert!(!for_another(&[("sql", "SELECT 1"), (DRIVER, NATIVE)]));
        assert!(!for_another(&[("sql", "SELECT 1")]));
    }

    #[test]
    fn extensions_are_no_files() {
        let (catalogue, own) = (catalogue(), settings(&[("extension", "/x.so"), ("trace", "/t")]));
        assert_eq!(extensions(&catalogue, "w", &own).collect::<Vec<_>>(), ["/x.so"]);
        assert_eq!(files(&catalogue, "w", &own), ["/t"]);
    }

    #[test]
    fn every_file_gets_its_other_path_and_keeps_its_weight() {
        let catalogue = catalogue();
        let own = settings(&[
            ("scripts", "/a/read.sql@9, /a/write.sql"),
            ("database", "/a/x@y.db"),
            ("extension", "/a/words.so"),
        ]);
        assert_eq!(files(&catalogue, "w", &own), ["/a/x@y.db", "/a/read.sql", "/a/write.sql"]);
        let in_cache = |path: &str| Some(path.replace("/a/", "/cache/"));
        let other = with_paths(&catalogue, "w", &own, in_cache).unwrap();
        let expected = settings(&[
            ("scripts", "/cache/read.sql@9,/cache/write.sql@1"),
            ("database", "/cache/x@y.db"),
            ("extension", "/cache/words.so"),
        ]);
        assert_eq!(other, expected);
        let is_database = |path: &str| path.ends_with(['b', 'o']).then(String::new);
        let missing = with_paths(&catalogue, "w", &own, is_database);
        assert_eq!(missing, Err("/a/read.sql".to_owned()));
        let two = |path: &str| Some(format!("{path},/etc/passwd"));
        assert_eq!(with_paths(&catalogue, "w", &own, two), Err("/a/read.sql".to_owned()));
    }

    #[test]
    fn the_database_of_a_trace_is_no_file() {
        let own = settings(&[("trace", "/a.trace"), ("database", "main.db")]);
        assert_eq!(files(&catalogue(), "w", &own), ["/a.trace"]);
        let own = settings(&[("trace", ""), ("database", "main.db")]);
        assert_eq!(files(&catalogue(), "w", &own), ["main.db"]);
    }
}
