//! Names, levels and defaults that experiment files rely on stay as they are.

use std::collections::BTreeSet;

use lab::catalogue::{Accepts, Contents, Parameter};
use lab::fleet::{extensions, files, has_sql, has_sql_for_another_driver, with_paths};
use lab::level::{Level, Settings};
use lab::measures::Measures;
use lab::trial::DRIVER;

/// Every parameter as `workload name | accepted levels | default`, in the order of the catalogue.
const PUBLISHED: &str = include_str!("catalogue.txt");

fn line(workload: &str, parameter: &Parameter) -> String {
    let default = parameter.default.as_ref();
    let default = default.map_or_else(|| "none".to_owned(), |level| format!("{level:?}"));
    format!("{workload} {} | {} | {default}", parameter.name, parameter.accepts)
}

/// What the catalogue says of every workload, with its phases.
fn lines() -> Vec<String> {
    let mut lines = Vec::new();
    for workload in &pragmark_bench::catalogue().workloads {
        let (phases, counts) = (workload.phases.join(" "), workload.counts);
        lines.push(format!("{} phases: {phases} | counts: {counts}", workload.name));
        let parameters = workload.parameters.iter();
        lines.extend(parameters.map(|parameter| line(&workload.name, parameter)));
    }
    lines
}

#[test]
fn published_parameters_keep_their_names_levels_and_defaults() {
    let lines = lines();
    if std::env::var_os("PRAGMARK_WRITE_DOCS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/catalogue.txt");
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
        return;
    }
    let missing: Vec<&str> =
        PUBLISHED.lines().filter(|published| !lines.iter().any(|line| line == published)).collect();
    assert!(missing.is_empty(), "changed or gone: {missing:#?}");
}

#[test]
fn a_record_tells_from_its_name_what_a_workload_measures() {
    for workload in &pragmark_bench::catalogue().workloads {
        assert_eq!(Measures::of(&workload.name), workload.measures, "{}", workload.name);
    }
}

/// Every text as `name contents`, once. A new text that is executed or names a file must not be declared as a plain
/// `String`: agents of a fleet would accept it from everybody.
const TEXTS: &[&str] = &[
    "database Database", "engine Engine", "engine_options Plain", "extension Extension",
    "models Plain", "prefix Plain", "query Sql", "schema_change Sql", "script File",
    "scripts WeightedFiles", "setup File", "sql Sql", "stand_in Sql", "text_columns Plain",
    "text_encoding Plain", "text_file File", "text_queries Sql", "text_table Plain",
    "tokenizer Plain", "trace File",
];

#[test]
fn every_text_declares_what_it_holds() {
    let catalogue = pragmark_bench::catalogue();
    let settings = catalogue.workloads.iter().flat_map(|workload| catalogue.settings_of(workload));
    let texts: BTreeSet<String> = settings
        .filter_map(|parameter| match parameter.accepts {
            Accepts::Text(contents) => Some(format!("{} {contents:?}", parameter.name)),
            _ => None,
        })
        .collect();
    assert_eq!(texts.into_iter().collect::<Vec<_>>(), TEXTS);
}

#[test]
fn agents_confine_and_fetch_what_a_text_holds() {
    let catalogue = pragmark_bench::catalogue();
    for workload in &catalogue.workloads {
        for parameter in catalogue.settings_of(workload) {
            let Accepts::Text(contents) = parameter.accepts else { continue };
            let (workload, name) = (workload.name.as_str(), parameter.name.as_str());
            let settings = Settings::from([(name.to_owned(), Level::from("/x"))]);
            let is_file =
                matches!(contents, Contents::File | Contents::WeightedFiles | Contents::Database);
            let is_confined = is_file || contents == Contents::Sql;
            assert_eq!(has_sql(&catalogue, workload, &settings), is_confined, "{workload} {name}");
            let named = files(&catalogue, workload, &settings);
            assert_eq!(named.len(), usize::from(is_file), "{workload} {name}");
            let loaded = extensions(&catalogue, workload, &settings).count();
            assert_eq!(loaded > 0, contents == Contents::Extension, "{workload} {name}");
            let is_path = is_file || contents == Contents::Extension;
            let not_sent = with_paths(&catalogue, workload, &settings, |_| None);
            assert_eq!(not_sent.is_err(), is_path, "{workload} {name}");
            let mut by_driver = settings;
            by_driver.insert(DRIVER.to_owned(), "python".into());
            let is_refused = has_sql_for_another_driver(&catalogue, workload, &by_driver);
            assert_eq!(is_refused, is_confined, "{workload} {name}");
        }
    }
}
