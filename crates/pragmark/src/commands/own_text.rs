//! `pragmark run --text`: documents of the user's own in the experiments on full-text search, and queries
//! drawn from them.

use std::path::{Path, PathBuf};

use bench::{DocumentQueries, ImportError, TextFile, TextOptions, TextSummary};
use lab::catalogue::Catalogue;
use lab::experiment::{Experiment, Scale};

use crate::cli::RunArgs;
use crate::failure::Failure;

/// A file of documents, read whole, so that a mistake in it is reported before anything is begun.
struct Text {
    path: PathBuf,
    options: TextOptions,
    file: TextFile,
    summary: TextSummary,
}

/// Has every experiment use the file named by `--text`, if one is, and those that name a file themselves
/// use that: with queries of the file instead of the published ones.
pub fn apply(
    args: &RunArgs,
    experiments: &mut [Experiment],
    scale: Scale,
    catalogue: &Catalogue,
) -> Result<(), Failure> {
    let Some(path) = &args.text else {
        return apply_own_files(experiments, scale, catalogue);
    };
    for experiment in experiments.iter() {
        check_takes_text(experiment, catalogue)?;
        check_takes_queries(args, experiment)?;
    }
    let columns = args.columns.iter().map(|name| name.trim().to_owned());
    let options = TextOptions {
        columns: columns.collect(),
        table: args.table.clone(),
        encoding: args.encoding,
    };
    let text = Text::read(path, options)?;
    for experiment in experiments {
        // The experiment's own note may speak of generated documents.
        experiment.note = None;
        text.serve(experiment, args.queries.as_deref(), scale, catalogue)?;
    }
    Ok(())
}

/// Has experiments that name a file of documents themselves use queries of that file.
fn apply_own_files(
    experiments: &mut [Experiment],
    scale: Scale,
    catalogue: &Catalogue,
) -> Result<(), Failure> {
    for experiment in experiments {
        let text = bench::text_of(experiment).map_err(Failure::usage)?;
        if let Some((path, options)) =
            text.filter(|_| bench::needs_queries(experiment, scale, catalogue))
        {
            Text::read(&path, options)?.serve(experiment, None, scale, catalogue)?;
        }
    }
    Ok(())
}

fn check_takes_text(experiment: &Experiment, catalogue: &Catalogue) -> Result<(), Failure> {
    bench::check_takes_text(experiment, catalogue).map_err(|error| {
        Failure::usage(format!("{error}, so --text does not apply to it"))
            .hint("`pragmark list` shows the experiments on full-text search; those with the workloads fts-insert, fts-query and fts-overlap take --text")
    })
}

fn check_takes_queries(args: &RunArgs, experiment: &Experiment) -> Result<(), Failure> {
    match args.queries.is_some() && bench::compares_classes(experiment) {
        true => Err(Failure::usage(format!(
            "the experiment `{}` compares classes of queries, so --queries does not apply to it",
            experiment.id
        ))
        .hint("without --queries, queries of each class are drawn from the documents")),
        false => Ok(()),
    }
}

fn unusable(error: ImportError) -> Failure {
    Failure::unusable(error).hint("--columns chooses columns, --table the table of a database, --encoding the encoding; see `pragmark load --help` for the formats")
}

impl Text {
    fn read(path: &Path, options: TextOptions) -> Result<Text, Failure> {
        let path = path.canonicalize().map_err(|error| {
            Failure::unusable(format!("cannot read {}: {error}", path.display()))
                .hint("--text, and `text_file` in an experiment file, name an existing file")
        })?;
        let file = TextFile::new(&path, options.clone()).map_err(unusable)?;
        let summary = file.check(u64::MAX).map_err(unusable)?;
        tell!(
            "{}: {} documents, {} bytes in {}",
            path.display(),
            summary.rows,
            summary.bytes,
            summary.columns.join(", ")
        );
        Ok(Text { path, options, file, summary })
    }

    /// Has an experiment use these documents, with queries and without the claims of its source.
    fn serve(
        &self,
        experiment: &mut Experiment,
        queries: Option<&Path>,
        scale: Scale,
        catalogue: &Catalogue,
    ) -> Result<(), Failure> {
        let (options, summary) = (&self.options, &self.summary);
        let used = bench::use_text(experiment, &self.path, options, summary, scale, catalogue);
        tell!("{} uses {used} at the scale {scale}", experiment.id);
        let mut said = Vec::new();
        if bench::needs_queries(experiment, scale, catalogue) {
            let columns = &summary.columns;
            let queries = match queries {
                Some(path) => bench::read_queries(path, &self.file, columns),
                None => bench::draw_queries(&self.file, columns, used.by_all),
            };
            let queries = queries.map_err(Failure::unusable)?;
            bench::use_queries(experiment, &queries);
            said.push(said_of(&queries));
        }
        said.extend(dropped_claims(experiment));
        said.iter().for_each(|sentence| tell!("{sentence}"));
        let documents = format!(
            "The documents are not generated: {used} in `{}`, columns {}.",
            self.path.display(),
            summary.columns.join(", ")
        );
        let note = experiment.note.take().into_iter();
        let note: Vec<String> = note.chain([documents]).chain(said).collect();
        experiment.note = Some(note.join(" "));
        Ok(())
    }
}

/// Where the queries are from, and which classes have none.
fn said_of(queries: &DocumentQueries) -> String {
    let count: usize = queries.classes.iter().map(|(_, count)| count).sum();
    if queries.classes.iter().all(|(class, _)| class == "own") {
        return format!("The queries are your own: {count}.");
    }
    let classes = queries.classes.len();
    let drawn = format!("The queries are drawn from the documents: {count} of {classes} classes.");
    let missing: Vec<String> =
        (queries.missing.iter()).map(|(class, why)| format!("{class} ({why})")).collect();
    match missing.is_empty() {
        true => drawn,
        false => format!("{drawn} Classes without queries: {}.", missing.join(", ")),
    }
}

/// Claims of a source are about its own documents and not judged on others.
fn dropped_claims(experiment: &mut Experiment) -> Option<String> {
    let count = experiment.claims.len();
    if experiment.source.is_none() || count == 0 {
        return None;
    }
    experiment.claims.clear();
    Some(format!("The published claims ({count}) are about other documents and are not judged."))
}
