//! `pragmark run --text`: documents of the user's own in the experiments on full-text search.

use std::path::Path;

use bench::TextFile;
use lab::catalogue::Catalogue;
use lab::design::variants;
use lab::experiment::{Experiment, Scale};
use lab::level::Level;

use crate::cli::RunArgs;
use crate::failure::Failure;

/// The parameter that says how many documents are used.
const ROWS: &str = "rows";

/// Has every experiment use the file named by `--text`, if one is: the whole file is read first, so
/// that a mistake in it is told before anything is begun.
pub fn apply(
    args: &RunArgs,
    experiments: &mut [Experiment],
    scale: Scale,
    catalogue: &Catalogue,
) -> Result<(), Failure> {
    let Some(path) = &args.text else {
        return Ok(());
    };
    for experiment in experiments.iter() {
        check_takes_text(experiment, catalogue)?;
    }
    let path = path.canonicalize().map_err(|error| {
        Failure::unusable(format!("cannot read {}: {error}", path.display()))
            .hint("--text names an existing file")
    })?;
    let columns = args.columns.iter().map(|name| name.trim().to_owned());
    let summary = TextFile::new(&path, columns.collect(), args.table.clone())
        .and_then(|file| file.check(u64::MAX))
        .map_err(|error| {
            Failure::unusable(error)
                .hint("--columns names the columns that are used, --table the table of a database")
        })?;
    tell!(
        "{}: {} documents, {} bytes in {}",
        path.display(),
        summary.rows,
        summary.bytes,
        summary.columns.join(", ")
    );
    let documents = summary.rows as i64;
    for experiment in experiments {
        read_from(experiment, &path, &summary.columns, args.table.as_deref());
        cap_rows(experiment, documents, catalogue);
        let used = used(experiment, scale, documents, catalogue);
        tell!("{} uses {used} at the scale {scale}", experiment.id);
        // The experiment's own note may speak of generated documents.
        experiment.note = Some(format!(
            "The documents are not generated ones but {used} in `{}`, of the columns {}.",
            path.display(),
            summary.columns.join(", ")
        ));
    }
    Ok(())
}

/// Has an experiment read its documents from this file.
fn read_from(experiment: &mut Experiment, path: &Path, columns: &[String], table: Option<&str>) {
    let mut set = |name: &str, value: &str| {
        experiment.base.insert(name.to_owned(), value.into());
    };
    set("text_file", &path.to_string_lossy());
    set("text_columns", &columns.join(","));
    if let Some(table) = table {
        set("text_table", table);
    }
}

/// Has an experiment ask for no more documents than there are, at any scale: what a run will take
/// is forecast from the documents asked for.
fn cap_rows(experiment: &mut Experiment, documents: i64, catalogue: &Catalogue) {
    let workload = catalogue.workload(&experiment.workload);
    let unstated = workload.and_then(|workload| catalogue.defaults(workload).remove(ROWS));
    if let Some(rows) = unstated {
        experiment.base.entry(ROWS.to_owned()).or_insert(rows);
    }
    let scales = experiment.scale.values_mut();
    for settings in scales.chain([&mut experiment.base]) {
        if let Some(Level::Int(rows)) = settings.get_mut(ROWS) {
            *rows = documents.min(*rows);
        }
    }
}

/// How many of the documents an experiment uses, in words; those of the largest variant where variants
/// differ in it.
fn used(experiment: &Experiment, scale: Scale, documents: i64, catalogue: &Catalogue) -> String {
    let variants = variants(experiment, scale, catalogue);
    let rows = variants
        .iter()
        .filter_map(|variant| variant.settings.get(ROWS)?.as_int());
    match rows.max() {
        Some(rows) if rows < documents => format!("the first {rows} of {documents} documents"),
        _ => format!("all {documents} documents"),
    }
}

fn check_takes_text(experiment: &Experiment, catalogue: &Catalogue) -> Result<(), Failure> {
    let workload = catalogue.workload(&experiment.workload);
    let knows = |setting: &str| {
        workload.is_some_and(|workload| catalogue.setting(workload, setting).is_some())
    };
    if knows("text_file") {
        return Ok(());
    }
    // Generated documents are those of an era.
    let why = match knows("era") {
        true => "takes generated documents only",
        false => "uses no documents",
    };
    Err(Failure::usage(format!(
        "the experiment `{}` {why}, so --text means nothing to it",
        experiment.id
    ))
    .hint("`pragmark list` shows the experiments on full-text search; those with the workloads fts-insert, fts-query and fts-overlap take --text"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library;

    fn experiment(name: &str, catalogue: &Catalogue) -> Experiment {
        let mut named = library::named(&[name.to_owned()], catalogue).unwrap();
        named.remove(0)
    }

    #[test]
    fn no_scale_asks_for_more_documents_than_there_are() {
        let catalogue = bench::catalogue();
        let mut experiment = experiment("fts-queries", &catalogue);
        cap_rows(&mut experiment, 50_000, &catalogue);
        let of_scale = |scale| used(&experiment, scale, 50_000, &catalogue);
        let quick = of_scale(Scale::Quick);
        assert_eq!(quick, "the first 10000 of 50000 documents");
        assert_eq!(of_scale(Scale::Default), "all 50000 documents");
        assert_eq!(of_scale(Scale::Paper), "all 50000 documents");
        let paper = &experiment.scale[&Scale::Paper];
        assert_eq!(paper[ROWS], Level::Int(50_000));
    }

    #[test]
    fn rows_that_an_experiment_does_not_state_are_capped_too() {
        let catalogue = bench::catalogue();
        for (documents, rows) in [(7, 7), (500_000, 100_000)] {
            let mut experiment = experiment("fts-queries", &catalogue);
            experiment.scale.clear();
            cap_rows(&mut experiment, documents, &catalogue);
            assert_eq!(experiment.base[ROWS], Level::Int(rows));
        }
    }

    #[test]
    fn an_experiment_without_documents_of_ones_own_says_which_it_has() {
        let catalogue = bench::catalogue();
        let refused = |name: &str| {
            let checked = check_takes_text(&experiment(name, &catalogue), &catalogue);
            checked.unwrap_err().words()
        };
        let why = refused("fts-updates");
        assert!(why.contains("`fts-updates` takes generated"), "{why}");
        let why = refused("insert-unroll");
        assert!(why.contains("`insert-unroll` uses no documents"), "{why}");
    }
}
