//! `pragmark trace`: what a recorded application does, and other traces and files.

use std::path::Path;

use app::Result;
use app::trace::{Edit, ScriptRequest, describe, make, to_script};
use app::words::{plural, shell_path};
use trace::{Amount, Fitted};

use crate::exit::Exit;
use crate::output::{self, Output};

/// Summarises a trace.
pub fn show(trace: &Path, output: &Output) -> Result<Exit> {
    output::write_answer(output, &describe(trace)?)
}

/// Makes another trace or a file of traces.
pub fn edit(edit: &Edit, out: &Path) -> Result<Exit> {
    let statements = plural(make(edit, out)?, "statement", "statements");
    tell!("{}: {statements}", out.display());
    Ok(Exit::Success)
}

/// Fits a script to a trace.
pub fn fit_script(request: &ScriptRequest) -> Result<Exit> {
    say(request, &to_script(request)?);
    Ok(Exit::Success)
}

fn say(request: &ScriptRequest, fitted: &Fitted) {
    let (script, snapshot) = (request.out.display(), request.snapshot.display());
    tell!("{script}: {} on {}", words(&fitted.fitted), trace::named(&fitted.database));
    if fitted.left_out.transactions > 0 {
        tell!(
            "left out: {} (long, rare or failed, or in need of more than this database)",
            words(&fitted.left_out)
        );
    }
    for (database, statements) in &fitted.others {
        let statements = plural(*statements, "statement", "statements");
        tell!("not in the script: {statements} on {}", trace::named(database));
    }
    if let Some(grown) = fitted.grown {
        let lacking = match (grown.is_partial, grown.left_out) {
            (false, 0) => String::new(),
            (true, _) => "; time ran out before all recorded writes were repeated".to_owned(),
            (false, left_out) => {
                format!("; {} could not be repeated", plural(left_out, "write", "writes"))
            }
        };
        tell!("{snapshot}: empty when recording began, so it is as at the end{lacking}");
    }
    let (script, snapshot) = (shell_path(&request.out), shell_path(&request.snapshot));
    tell!("measure it: pragmark measure --db {snapshot} {script}");
}

fn words(amount: &Amount) -> String {
    format!(
        "{} of {}",
        plural(amount.transactions, "transaction", "transactions"),
        plural(amount.statements, "statement", "statements")
    )
}
