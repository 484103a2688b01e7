//! `pragmark trace to-script`: a script that does the work of a recorded application.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::Library;
use trace::{Amount, Fitted, Trace, to_script};

use super::failed;
use super::words::plural;
use crate::cli::ToScriptArgs;
use crate::commands::output;
use crate::failure::{Exit, Failure};

/// Writes the script and the database for it.
pub fn execute(library: &Arc<Library>, args: &ToScriptArgs) -> Result<Exit, Failure> {
    if args.out.exists() {
        return Err(Failure::unusable(format!("{} exists", args.out.display()))
            .hint("choose another file with --out"));
    }
    let snapshot = snapshot(args);
    if snapshot.exists() {
        let message =
            format!("the snapshot would be written as {}, which exists", snapshot.display());
        return Err(Failure::unusable(message).hint("name another file with --snapshot"));
    }
    let fitted = Trace::open(library, &args.trace)
        .and_then(|trace| to_script(&trace, args.database.as_deref(), &snapshot));
    let fitted = fitted.map_err(failed)?;
    let exit = output::write_text(Some(&args.out), &fitted.text)?;
    say(&args.out, &snapshot, &fitted);
    Ok(exit)
}

fn snapshot(args: &ToScriptArgs) -> PathBuf {
    let given = args.snapshot.clone();
    given.unwrap_or_else(|| args.out.with_extension("db"))
}

fn say(script: &Path, snapshot: &Path, fitted: &Fitted) {
    tell!("{}: {} on {}", script.display(), words(&fitted.fitted), fitted.database);
    if fitted.left_out.transactions > 0 {
        tell!("left out: {}", words(&fitted.left_out));
    }
    for (database, statements) in &fitted.others {
        tell!(
            "not in the script: {} on {database}",
            plural(*statements, "statement", "statements")
        );
    }
    tell!("measure it: pragmark measure --db {} {}", snapshot.display(), script.display());
}

fn words(amount: &Amount) -> String {
    format!(
        "{} of {}",
        plural(amount.transactions, "transaction", "transactions"),
        plural(amount.statements, "statement", "statements")
    )
}
