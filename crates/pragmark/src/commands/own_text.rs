//! `pragmark run --text`: documents of the user's own in the experiments on full-text search.

use bench::TextFile;
use lab::catalogue::Catalogue;
use lab::experiment::Experiment;

use crate::cli::RunArgs;
use crate::failure::Failure;

/// Has every experiment use the file named by `--text`, if one is: the whole file is read first, so
/// that a mistake in it is told before anything is begun.
pub fn apply(
    args: &RunArgs,
    experiments: &mut [Experiment],
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
    for experiment in experiments {
        let mut set = |name: &str, value: &str| {
            experiment.base.insert(name.to_owned(), value.into());
        };
        set("text_file", &path.to_string_lossy());
        set("text_columns", &summary.columns.join(","));
        if let Some(table) = &args.table {
            set("text_table", table);
        }
    }
    Ok(())
}

fn check_takes_text(experiment: &Experiment, catalogue: &Catalogue) -> Result<(), Failure> {
    let takes = catalogue
        .workload(&experiment.workload)
        .is_some_and(|workload| catalogue.setting(workload, "text_file").is_some());
    if takes {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "the experiment `{}` uses no documents, so --text means nothing to it",
        experiment.id
    ))
    .hint("`pragmark list` shows the experiments on full-text search; those with the workloads fts-insert, fts-query and fts-overlap take --text"))
}
