//! `pragmark run --text`: documents of the user's own in the experiments on full-text search.

use bench::{TextFile, TextOptions};
use lab::catalogue::Catalogue;
use lab::experiment::{Experiment, Scale};

use crate::cli::RunArgs;
use crate::failure::Failure;

/// Has every experiment use the file named by `--text`, if one is: the whole file is read first, so
/// that a mistake in it is reported before anything is begun.
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
        bench::check_takes_text(experiment, catalogue).map_err(|error| {
            Failure::usage(format!("{error}, so --text does not apply to it"))
                .hint("`pragmark list` shows the experiments on full-text search; those with the workloads fts-insert, fts-query and fts-overlap take --text")
        })?;
    }
    let path = path.canonicalize().map_err(|error| {
        Failure::unusable(format!("cannot read {}: {error}", path.display()))
            .hint("--text names an existing file")
    })?;
    let columns = args.columns.iter().map(|name| name.trim().to_owned());
    let options = TextOptions {
        columns: columns.collect(),
        table: args.table.clone(),
        encoding: args.encoding,
    };
    let summary = TextFile::new(&path, options.clone())
        .and_then(|file| file.check(u64::MAX))
        .map_err(|error| {
            Failure::unusable(error).hint("--columns chooses columns, --table the table of a database, --encoding the encoding; see `pragmark load --help` for the formats")
        })?;
    let (file, columns) = (path.display(), summary.columns.join(", "));
    tell!(
        "{file}: {} documents, {} bytes in {columns}",
        summary.rows,
        summary.bytes
    );
    for experiment in experiments {
        let used = bench::use_text(experiment, &path, &options, &summary, scale, catalogue);
        tell!("{} uses {used} at the scale {scale}", experiment.id);
        // The experiment's own note may speak of generated documents.
        experiment.note = Some(format!(
            "The documents are not generated: {used} in `{file}`, columns {columns}."
        ));
    }
    Ok(())
}
