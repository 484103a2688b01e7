//! `pragmark report`, `history` and `export`: what runs found, for people and for other tools.

use std::path::{Path, PathBuf};

use app::export::{self, Trials};
use app::history::{Sources, history};
use app::report::{analyse, page};
use app::{Error, fleet};

use crate::action::{ExportForm, Format, Output};
use crate::exit::Exit;
use crate::output::{self, terminal_style};

/// Writes the report of a run.
pub fn execute(run: &Path, output: &Output) -> Result<Exit, Error> {
    if fleet::is_fleet(run) {
        let whole = fleet::analyse(run)?;
        return output::write_document(output, &whole.document, &());
    }
    let analysis = analyse(run)?;
    let text = match output.format {
        Format::Terminal | Format::Json => report::terminal(&analysis, terminal_style()),
        Format::Html => page(&analysis)?,
        Format::Markdown => report::markdown(&analysis),
    };
    output::write_text(output.out.as_deref(), &text)
}

/// Reads all runs and writes their history.
pub fn execute_history(sources: &Sources, output: &Output) -> Result<Exit, Error> {
    let (history, unreadable) = history(sources)?;
    output::write_document(output, &report::history(&history, &unreadable), &history)
}

/// Writes the data of runs.
pub fn execute_export(
    runs: &[PathBuf],
    form: &ExportForm,
    out: Option<&Path>,
) -> Result<Exit, Error> {
    if let ExportForm::Tables(form) = form {
        let Some(out) = out else {
            return Err(Error::mistake("this format is no text")
                .hint("name a new file or folder with --out"));
        };
        export::tables(runs, *form, out)?;
        return Ok(Exit::Success);
    }
    let [run] = runs else {
        return Err(Error::mistake("this format has one run")
            .hint("--format sqlite and --format parquet put several runs together"));
    };
    match form {
        ExportForm::Text(form) => output::write_text(out, &export::text(run, *form)?),
        ExportForm::Trials(columns) => {
            let trials = Trials::open(run, *columns)?;
            let mut read = Ok(());
            let exit = output::write(out, |writer| {
                read = trials.write(writer)?;
                Ok(())
            })?;
            read.map(|()| exit)
        }
        ExportForm::Tables(_) => Ok(Exit::Success),
    }
}
