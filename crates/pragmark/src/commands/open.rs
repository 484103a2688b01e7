//! `pragmark open`: the page of a run in the browser.

use std::path::{Path, PathBuf};

use super::runs::latest;
use super::{output, report};
use crate::cli::OpenArgs;
use crate::failure::{Exit, Failure};
use crate::library::RUNS;

/// Makes the page again from the record, since the one in the folder may be another's or an older version's, and
/// opens it.
pub fn execute(args: &OpenArgs) -> Result<Exit, Failure> {
    let folder = match &args.run {
        Some(folder) => folder.clone(),
        None => latest(Path::new(RUNS))?,
    };
    let page = report::page(&report::analyse(&folder)?)?;
    let path = folder.join(report::PAGE);
    output::write_in_run(&path, &page)?;
    show(&path)?;
    output::display(&format!("opened {}\n", path.display()))
}

fn show(path: &Path) -> Result<(), Failure> {
    let whole: PathBuf = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    open::that(&whole).map_err(|error| {
        // A browser that ends with a code has no other words than that.
        let why = match error.kind() {
            std::io::ErrorKind::Other => "there is none, or it failed".to_owned(),
            _ => error.to_string(),
        };
        Failure::unusable(format!("cannot start a browser: {why}"))
            .hint(format!("open this file yourself: {}", whole.display()))
    })
}
