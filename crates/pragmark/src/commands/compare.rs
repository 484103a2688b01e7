//! `pragmark compare`: what differs between two sides, without a verdict on time.

use std::path::PathBuf;

use app::Result;
use app::compare::{Compared, ExactRequest, compare_exactly, compare_runs};
use app::measure::{Replay, Work};

use crate::cli::stand_in::{StandInArgs, of_traces};
use crate::exit::Exit;
use crate::output::{self, Output};
use crate::terminal::Terminal;

/// Compares what the paths name.
pub fn execute(
    paths: &[PathBuf],
    stand_ins: &StandInArgs,
    mut request: ExactRequest,
    output: &Output,
) -> Result<Exit> {
    match Compared::of(paths)? {
        Compared::Trace(trace) => {
            let stand_ins = stand_ins.lines();
            request.subject.work = Work::Replay(Replay { trace, mode: None, stand_ins });
        }
        _ if stand_ins.are_given() => return Err(of_traces()),
        Compared::Runs(folders) => return runs(&folders, output),
        Compared::Scripts(files) => {
            if let Work::Sql(sql) = &mut request.subject.work {
                sql.files = files;
            }
        }
    }
    let Some(compared) = compare_exactly(&request, &Terminal::lines())? else {
        return Ok(Exit::Interrupted);
    };
    output::write_document(output, &report::exact(&compared.comparisons), &compared.comparisons)?;
    Ok(exit(compared.is_whole))
}

/// Compares runs with the first one.
fn runs(paths: &[PathBuf], output: &Output) -> Result<Exit> {
    let compared = compare_runs(paths)?;
    let document = report::runs(&compared.comparisons, &compared.settle, &compared.unreadable);
    output::write_document(output, &document, &compared.comparisons)?;
    Ok(exit(compared.unreadable.is_empty()))
}

fn exit(is_whole: bool) -> Exit {
    if is_whole { Exit::Success } else { Exit::TrialsFailed }
}
