//! `pragmark run`, `measure`, `tune` and `crash`: their runs carried out and summarised.

use std::path::{Path, PathBuf};

use app::Error;
use app::crash::{Played, crash, play, write_known};
use app::files::write_text;
use app::fleet::{self, FleetConcluded, Whole};
use app::measure::{MeasureRequest, experiment_file, measure};
use app::report::PAGE;
use app::run::{self, Concluded, Conclusion, Ended, recommends_settings, resume_hint};
use app::tune::{TuneRequest, tune};
use app::words::shell_path;
use report::render;
use runner::End;
use tuning::Analysis;

use crate::action::{CrashAction, Format, RunAction};
use crate::exit::Exit;
use crate::output::{self, terminal_style};
use crate::terminal::Terminal;

/// Carries out a run and reports it.
pub fn execute(action: &RunAction) -> Result<Exit, Error> {
    let ui = Terminal::new();
    match action {
        RunAction::Start(request) => show(run::start(request, &ui)?),
        RunAction::Repeat(request) => show(run::repeat(request, &ui)?),
        RunAction::Resume { request, server } => {
            let folder = &request.folder;
            if server.address.is_some() || fleet::is_fleet(folder) {
                show_fleet(&fleet::resume(folder, server, &ui)?)
            } else {
                show(run::resume(request, &ui)?)
            }
        }
        RunAction::Fleet(request) => show_fleet(&fleet::start(request, &ui)?),
        RunAction::Adopt { run, server, out } => {
            show_fleet(&fleet::adopt(run, server, out.as_deref(), &ui)?)
        }
    }
}

/// Measures, and reports.
pub fn execute_measure(request: &MeasureRequest) -> Result<Exit, Error> {
    show(measure(request, &Terminal::new())?)
}

/// Searches, and reports.
pub fn execute_tune(request: &TuneRequest) -> Result<Exit, Error> {
    show(tune(request, &Terminal::new())?)
}

/// Writes the experiment to standard output, or to a file that does not exist yet: it is there to be edited.
pub fn write_experiment(request: &MeasureRequest, out: &Path) -> Result<Exit, Error> {
    let text = experiment_file(request, &Terminal::lines())?;
    if out == Path::new("-") {
        return output::write_text(None, &text);
    }
    let name = out.display();
    if out.exists() {
        return Err(Error::unusable(format!("{name} exists"))
            .hint("name another file with --write, or remove this one"));
    }
    write_text(out, &text)?;
    tell!("{name}: an experiment; `pragmark run {}` measures it", shell_path(out));
    Ok(Exit::Success)
}

/// Carries out a crash test and reports it, or plays a schedule again.
pub fn execute_crash(action: &CrashAction) -> Result<Exit, Error> {
    let ui = Terminal::new();
    match action {
        CrashAction::Test { request, format } => {
            let concluded = crash(request, &ui)?;
            let text = match format {
                Format::Markdown => report::markdown(&concluded.analysis),
                Format::Json => {
                    report::export::json(&concluded.analysis).map_err(Error::unusable)?
                }
                Format::Terminal | Format::Html => summary(&concluded.analysis, &concluded.folder),
            };
            output::write_text(None, &text)?;
            Ok(exit(&concluded))
        }
        CrashAction::Play { schedule, engines, directory } => {
            let Played { calls, wrong } = play(schedule, engines, directory.as_deref(), &ui)?;
            let outcome = match wrong {
                0 => "nothing went wrong".to_owned(),
                wrong => format!("{wrong} things went wrong"),
            };
            output::write_text(
                None,
                &format!(
                    "{schedule}: calls of the first connection by number, acts of both indented\n\n{}\n\n{outcome}\n",
                    calls.join("\n")
                ),
            )
        }
        CrashAction::WriteKnown { file, quick, directory } => {
            Ok(match write_known(file, *quick, directory.as_deref(), &ui)? {
                End::Finished => Exit::Success,
                End::Cancelled => Exit::Interrupted,
            })
        }
    }
}

/// Prints the summary of a run and says how it ended.
fn show(ended: Ended) -> Result<Exit, Error> {
    match ended {
        Ended::Interrupted => Ok(Exit::Interrupted),
        Ended::Declined => Ok(Exit::Success),
        Ended::Concluded(concluded) => {
            output::write_text(None, &summary(&concluded.analysis, &concluded.folder))?;
            Ok(exit(&concluded))
        }
    }
}

/// Says how a run ended, and returns the exit code.
fn exit(concluded: &Concluded) -> Exit {
    match concluded.conclusion() {
        Conclusion::Stopped => {
            let analysis = &concluded.analysis;
            let kept = match analysis.measured() {
                0 => "stopped before anything was measured",
                _ => "stopped; what was measured is kept",
            };
            let hint = resume_hint(&concluded.folder, analysis.plan.postgres_given);
            tell!("{kept}\nhint: {hint}");
            Exit::Interrupted
        }
        Conclusion::Mistake => Exit::Mistake,
        Conclusion::TrialsFailed => Exit::TrialsFailed,
        Conclusion::NothingMeasured(why) => {
            tell!("nothing was measured: every trial was {why}");
            Exit::Unusable
        }
        Conclusion::Complete => Exit::Success,
    }
}

/// Returns what the terminal shows of a run.
fn summary(analysis: &Analysis, folder: &Path) -> String {
    let summary = report::terminal(analysis, terminal_style());
    let settings = if recommends_settings(analysis) {
        format!(
            "settings for another binding, such as python: pragmark settings {} --for python\n",
            shell_path(folder)
        )
    } else {
        String::new()
    };
    format!("{summary}\n{settings}report: {}\n", folder.join(PAGE).display())
}

/// Prints the summary of a run over a fleet and says how it ended.
fn show_fleet(concluded: &FleetConcluded) -> Result<Exit, Error> {
    let FleetConcluded { folder, whole: Whole { document, trials, is_incomplete }, end } =
        concluded;
    let summary = render::terminal(document, terminal_style());
    let page: PathBuf = folder.join(PAGE);
    output::write_text(None, &format!("{summary}\nreport: {}\n", page.display()))?;
    let folder = shell_path(folder);
    if *end == End::Cancelled {
        tell!(
            "stopped; what was measured is kept\nhint: go on with `pragmark run --resume {folder}`"
        );
        return Ok(Exit::Interrupted);
    }
    if *is_incomplete {
        tell!(
            "not every group has an answer\nhint: go on with `pragmark run --resume {folder}`, or remove the run from the server with `pragmark fleet purge`"
        );
        return Ok(Exit::Unusable);
    }
    Ok(match (trials.failed + trials.timed_out, trials.measured) {
        (0, 0) => Exit::Unusable,
        (0, _) => Exit::Success,
        _ => Exit::TrialsFailed,
    })
}
