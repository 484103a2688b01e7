//! `pragmark run`, `measure` and `tune`: their runs carried out and summarised.

use std::path::{Path, PathBuf};

use app::files::write_text;
use app::fleet::server::ServerRequest;
use app::fleet::{self, FleetConcluded, FleetRequest, Whole};
use app::measure::{MeasureRequest, experiment_file};
use app::report::PAGE;
use app::run::{
    self, Concluded, Conclusion, Ended, RepeatRequest, ResumeRequest, RunRequest,
    recommends_settings, resume_hint,
};
use app::tune::TuneRequest;
use app::words::shell_path;
use app::{Error, Result};
use report::render;
use runner::End;
use tuning::Analysis;

use crate::exit::Exit;
use crate::output::{self, terminal_style};
use crate::terminal::Terminal;

/// Carries out a new run.
pub fn start(request: &RunRequest) -> Result<Exit> {
    show(run::start(request, &Terminal::new())?)
}

/// Carries out a new run over a fleet.
pub fn start_fleet(request: &FleetRequest) -> Result<Exit> {
    show_fleet(&fleet::start(request, &Terminal::new())?)
}

/// Goes on with an interrupted run. The server is used if it is a run over a fleet.
pub fn resume(request: &ResumeRequest, server: &ServerRequest) -> Result<Exit> {
    let (folder, ui) = (&request.folder, Terminal::new());
    if server.address.is_some() || fleet::is_fleet(folder) {
        show_fleet(&fleet::resume(folder, server, &ui)?)
    } else {
        show(run::resume(request, &ui)?)
    }
}

/// Carries out the plan of an earlier run.
pub fn repeat(request: &RepeatRequest) -> Result<Exit> {
    show(run::repeat(request, &Terminal::new())?)
}

/// Goes on with a run that only the server of a fleet knows.
pub fn adopt(run: &str, server: &ServerRequest, out: Option<&Path>) -> Result<Exit> {
    show_fleet(&fleet::adopt(run, server, out, &Terminal::new())?)
}

/// Measures, and reports.
pub fn measure(request: &MeasureRequest) -> Result<Exit> {
    show(app::measure::measure(request, &Terminal::new())?)
}

/// Searches, and reports.
pub fn tune(request: &TuneRequest) -> Result<Exit> {
    show(app::tune::tune(request, &Terminal::new())?)
}

/// Writes the experiment to standard output, or to a file that does not exist yet: it is there to be edited.
pub fn write_experiment(request: &MeasureRequest, out: &Path) -> Result<Exit> {
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

/// Prints the summary of a run and says how it ended.
fn show(ended: Ended) -> Result<Exit> {
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
pub fn exit(concluded: &Concluded) -> Exit {
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
pub fn summary(analysis: &Analysis, folder: &Path) -> String {
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
fn show_fleet(concluded: &FleetConcluded) -> Result<Exit> {
    let FleetConcluded { folder, whole: Whole { document, trials, is_incomplete }, end } =
        concluded;
    let summary = render::terminal(document, terminal_style());
    let page: PathBuf = folder.join(PAGE);
    output::write_text(None, &format!("{summary}\nreport: {}\n", page.display()))?;
    let folder = shell_path(folder);
    if *end == End::Cancelled {
        tell!(
            "stopped; what was measured is kept\nhint: continue with `pragmark run --resume {folder}`"
        );
        return Ok(Exit::Interrupted);
    }
    if *is_incomplete {
        tell!(
            "not every group has an answer\nhint: continue with `pragmark run --resume {folder}`, or remove the run from the server with `pragmark fleet purge`"
        );
        return Ok(Exit::Unusable);
    }
    Ok(match (trials.failed + trials.timed_out, trials.measured) {
        (0, 0) => Exit::Unusable,
        (0, _) => Exit::Success,
        _ => Exit::TrialsFailed,
    })
}
