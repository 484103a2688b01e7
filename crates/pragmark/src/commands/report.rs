//! `pragmark report` and `runs history`: the results of runs, for people and for other tools.

use std::path::{Path, PathBuf};

use app::export::{self, TablesForm, TextForm, Trials};
use app::files::write_in_run;
use app::history::{Sources, history};
use app::library::RUNS;
use app::report::{PAGE, analyse, page};
use app::{Error, Result, fleet, runs};
use report::export::Columns;

use crate::exit::Exit;
use crate::output::{self, Format, Output, terminal_style};

/// Writes the tables of runs to a file or folder.
pub fn tables(runs: &[PathBuf], form: TablesForm, out: Option<&Path>) -> Result<Exit> {
    let Some(out) = out else {
        return Err(
            Error::mistake("this format is not text").hint("name a new file or folder with --out")
        );
    };
    export::tables(runs, form, out)?;
    Ok(Exit::Success)
}

/// Writes a text with the data of a run.
pub fn text(run: &Path, form: TextForm, out: Option<&Path>) -> Result<Exit> {
    output::write_text(out, &export::text(run, form)?)
}

/// Writes a row for each trial of a run.
pub fn trials(run: &Path, columns: Columns, out: Option<&Path>) -> Result<Exit> {
    let trials = Trials::open(run, columns)?;
    let mut read = Ok(());
    let exit = output::write(out, |writer| {
        read = trials.write(writer)?;
        Ok(())
    })?;
    read.map(|()| exit)
}

/// Returns the folder of a run, by default of the latest one.
pub fn run_or_latest(run: Option<PathBuf>) -> Result<PathBuf> {
    run.map_or_else(|| runs::latest(Path::new(RUNS)), Ok)
}

/// Writes the report of a run.
pub fn document(run: &Path, format: Format, out: Option<&Path>) -> Result<Exit> {
    if fleet::is_fleet(run) {
        let output = Output { format: Some(format), out: out.map(Path::to_owned) };
        return output::write_answer(&output, &fleet::analyse(run)?.document);
    }
    let analysis = analyse(run)?;
    let text = match format {
        Format::Terminal | Format::Json => report::terminal(&analysis, terminal_style()),
        Format::Html => page(&analysis)?,
        Format::Markdown => report::markdown(&analysis),
    };
    output::write_text(out, &text)
}

/// Reads all runs and writes their history.
pub fn write_history(sources: &Sources, output: &Output) -> Result<Exit> {
    let (history, unreadable) = history(sources)?;
    output::write_document(output, &report::history(&history, &unreadable), &history)
}

/// Makes the page again from the record, since the one in the folder may be another's or an older version's, and opens it.
pub fn open(run: &Path) -> Result<Exit> {
    let page = page(&analyse(run)?)?;
    let path = run.join(PAGE);
    write_in_run(&path, &page)?;
    let whole: PathBuf = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    ::open::that(&whole).map_err(|error| {
        // A browser that ends with a code has no other words than that.
        let why = match error.kind() {
            std::io::ErrorKind::Other => "there is none, or it failed".to_owned(),
            _ => error.to_string(),
        };
        Error::unusable(format!("cannot start a browser: {why}"))
            .hint(format!("open this file yourself: {}", whole.display()))
    })?;
    output::display(&format!("opened {}\n", path.display()))
}
