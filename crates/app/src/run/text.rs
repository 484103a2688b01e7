//! Documents of the user's own in the experiments on full-text search, and queries
//! drawn from them.

use std::path::{Path, PathBuf};

use bench::{DocumentQueries, ImportError, TextFile, TextOptions, TextSummary};
use lab::catalogue::Catalogue;
use lab::experiment::{Experiment, Scale};

use crate::error::{Error, Result};
use crate::interface::Interface;

/// The user's own documents, and queries on them.
#[derive(Clone, Debug)]
pub struct TextRequest {
    /// The file of documents.
    pub path: PathBuf,
    /// How it is read.
    pub options: TextOptions,
    /// A file of queries.
    pub queries: Option<PathBuf>,
}

/// A file of documents, read whole, so that a mistake in it is reported before anything is begun.
struct Text {
    path: PathBuf,
    options: TextOptions,
    file: TextFile,
    summary: TextSummary,
}

/// Has every experiment use the user's documents, with queries on them instead of the published ones. Without a request,
/// experiments that name a file themselves use queries of that file.
pub(crate) fn apply(
    request: Option<&TextRequest>,
    experiments: &mut [Experiment],
    scale: Scale,
    catalogue: &Catalogue,
    ui: &dyn Interface,
) -> Result<()> {
    let Some(request) = request else { return apply_own_files(experiments, scale, catalogue, ui) };
    for experiment in experiments.iter() {
        check_takes_text(experiment, catalogue)?;
        if request.queries.is_some() && bench::compares_classes(experiment) {
            return Err(Error::mistake(format!(
                "the experiment `{}` compares classes of queries, so --queries does not apply to it",
                experiment.id
            ))
            .hint("without --queries, queries of each class are drawn from the documents"));
        }
    }
    let text = Text::read(&request.path, request.options.clone(), ui)?;
    for experiment in experiments {
        // The experiment's own note may speak of generated documents.
        experiment.note = None;
        let notes = text.serve(experiment, request.queries.as_deref(), scale, catalogue)?;
        notes.iter().for_each(|note| ui.say(note));
    }
    Ok(())
}

/// Has experiments that name a file of documents themselves use queries of that file.
fn apply_own_files(
    experiments: &mut [Experiment],
    scale: Scale,
    catalogue: &Catalogue,
    ui: &dyn Interface,
) -> Result<()> {
    for experiment in experiments {
        let text = bench::text_of(experiment).map_err(Error::mistake)?;
        if let Some((path, options)) =
            text.filter(|_| bench::needs_queries(experiment, scale, catalogue))
        {
            let text = Text::read(&path, options, ui)?;
            let notes = text.serve(experiment, None, scale, catalogue)?;
            notes.iter().for_each(|note| ui.say(note));
        }
    }
    Ok(())
}

fn check_takes_text(experiment: &Experiment, catalogue: &Catalogue) -> Result<()> {
    bench::check_takes_text(experiment, catalogue).map_err(|error| {
        Error::mistake(format!("{error}, so --text does not apply to it"))
            .hint("`pragmark list` shows the experiments on full-text search; those with the workloads fts-insert, fts-query and fts-overlap take --text")
    })
}

fn unusable(error: ImportError) -> Error {
    Error::unusable(error).hint("--columns chooses columns, --table the table of a database; `pragmark load --encoding` makes a database of a file in another encoding")
}

impl Text {
    fn read(path: &Path, options: TextOptions, ui: &dyn Interface) -> Result<Text> {
        let path = path.canonicalize().map_err(|error| {
            Error::reading(path, error)
                .hint("--text, and `text_file` in an experiment file, name an existing file")
        })?;
        let file = TextFile::new(&path, options.clone()).map_err(unusable)?;
        let summary = file.check(u64::MAX).map_err(unusable)?;
        tell!(
            ui,
            "{}: {} documents, {} bytes in {}",
            path.display(),
            summary.rows,
            summary.bytes,
            summary.columns.join(", ")
        );
        Ok(Text { path, options, file, summary })
    }

    /// Has an experiment use these documents, with queries and without the claims of its source. Returns what there is to
    /// say about it.
    fn serve(
        &self,
        experiment: &mut Experiment,
        queries: Option<&Path>,
        scale: Scale,
        catalogue: &Catalogue,
    ) -> Result<Vec<String>> {
        let (options, summary) = (&self.options, &self.summary);
        let used = bench::use_text(experiment, &self.path, options, summary, scale, catalogue);
        let mut notes = vec![format!("{} uses {used} at the scale {scale}", experiment.id)];
        if bench::needs_queries(experiment, scale, catalogue) {
            let columns = &summary.columns;
            let queries = match queries {
                Some(path) => bench::read_queries(path, &self.file, columns),
                None => bench::draw_queries(&self.file, columns, used.by_all),
            };
            let queries = queries.map_err(Error::unusable)?;
            bench::use_queries(experiment, &queries);
            notes.push(describe(&queries));
        }
        notes.extend(drop_claims(experiment));
        let documents = format!(
            "The documents are not generated: {used} in `{}`, columns {}.",
            self.path.display(),
            summary.columns.join(", ")
        );
        let note = experiment.note.take().into_iter().chain([documents]);
        let note: Vec<String> = note.chain(notes[1..].iter().cloned()).collect();
        experiment.note = Some(note.join(" "));
        Ok(notes)
    }
}

/// Says where the queries are from, and which classes have none.
fn describe(queries: &DocumentQueries) -> String {
    let count: usize = queries.classes.iter().map(|(_, count)| count).sum();
    if queries.classes.iter().all(|(class, _)| class == "own") {
        return format!("The queries are your own: {count}.");
    }
    let classes = queries.classes.len();
    let drawn = format!("The queries are drawn from the documents: {count} of {classes} classes.");
    let missing: Vec<String> =
        (queries.missing.iter()).map(|(class, why)| format!("{class} ({why})")).collect();
    if missing.is_empty() {
        return drawn;
    }
    format!("{drawn} Classes without queries: {}.", missing.join(", "))
}

/// Drops the claims of a source, which are about its own documents, and says so.
fn drop_claims(experiment: &mut Experiment) -> Option<String> {
    let count = experiment.claims.len();
    if experiment.source.is_none() || count == 0 {
        return None;
    }
    experiment.claims.clear();
    Some(format!("The published claims ({count}) are about other documents and are not judged."))
}
