//! `pragmark report` and `runs history`: the results of runs, for people and for other tools.

use std::path::{Path, PathBuf};

use app::export::{self, Trials};
use app::files::write_in_run;
use app::history::{Sources, history};
use app::library::RUNS;
use app::report::{PAGE, analyse, page};
use app::{Error, fleet, runs};

use crate::action::{Format, Output, ReportForm};
use crate::exit::Exit;
use crate::output::{self, terminal_style};

/// Writes the report of a run, by default of the latest one, or the data of runs.
pub fn execute(
    mut runs: Vec<PathBuf>,
    form: &ReportForm,
    out: Option<&Path>,
) -> Result<Exit, Error> {
    if runs.is_empty() {
        runs.push(run_or_latest(None)?);
    }
    if let ReportForm::Tables(form) = form {
        let Some(out) = out else {
            return Err(Error::mistake("this format is no text")
                .hint("name a new file or folder with --out"));
        };
        export::tables(&runs, *form, out)?;
        return Ok(Exit::Success);
    }
    let [run] = &runs[..] else {
        return Err(Error::mistake("this format has one run")
            .hint("--format sqlite and --format parquet put several runs together"));
    };
    match form {
        ReportForm::Document(format) => document(run, *format, out),
        ReportForm::Text(form) => output::write_text(out, &export::text(run, *form)?),
        ReportForm::Trials(columns) => {
            let trials = Trials::open(run, *columns)?;
            let mut read = Ok(());
            let exit = output::write(out, |writer| {
                read = trials.write(writer)?;
                Ok(())
            })?;
            read.map(|()| exit)
        }
        ReportForm::Tables(_) => Ok(Exit::Success),
    }
}

/// Returns the folder of a run, by default of the latest one.
pub fn run_or_latest(run: Option<PathBuf>) -> Result<PathBuf, Error> {
    run.map_or_else(|| runs::latest(Path::new(RUNS)), Ok)
}

fn document(run: &Path, format: Format, out: Option<&Path>) -> Result<Exit, Error> {
    if fleet::is_fleet(run) {
        let output = Output { format, out: out.map(Path::to_owned) };
        return output::write_document(&output, &fleet::analyse(run)?.document, &());
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
pub fn execute_history(sources: &Sources, output: &Output) -> Result<Exit, Error> {
    let (history, unreadable) = history(sources)?;
    output::write_document(output, &report::history(&history, &unreadable), &history)
}

/// Makes the page again from the record, since the one in the folder may be another's or an older version's, and opens it.
pub fn open(run: Option<PathBuf>) -> Result<Exit, Error> {
    let folder = run_or_latest(run)?;
    let page = page(&analyse(&folder)?)?;
    let path = folder.join(PAGE);
    write_in_run(&path, &page)?;
    show(&path)?;
    output::display(&format!("opened {}\n", path.display()))
}

fn show(path: &Path) -> Result<(), Error> {
    let whole: PathBuf = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    ::open::that(&whole).map_err(|error| {
        // A browser that ends with a code has no other words than that.
        let why = match error.kind() {
            std::io::ErrorKind::Other => "there is none, or it failed".to_owned(),
            _ => error.to_string(),
        };
        Error::unusable(format!("cannot start a browser: {why}"))
            .hint(format!("open this file yourself: {}", whole.display()))
    })
}
