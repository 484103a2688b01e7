//! `pragmark open`: the page of a run in the browser.

use std::path::{Path, PathBuf};

use app::files::write_in_run;
use app::library::RUNS;
use app::report::{PAGE, analyse, page};
use app::{Error, runs};

use crate::exit::Exit;
use crate::output;

/// Makes the page again from the record, since the one in the folder may be another's or an older version's, and opens it.
pub fn execute(run: Option<&Path>) -> Result<Exit, Error> {
    let folder = match run {
        Some(folder) => folder.to_owned(),
        None => runs::latest(Path::new(RUNS))?,
    };
    let page = page(&analyse(&folder)?)?;
    let path = folder.join(PAGE);
    write_in_run(&path, &page)?;
    show(&path)?;
    output::display(&format!("opened {}\n", path.display()))
}

fn show(path: &Path) -> Result<(), Error> {
    let whole: PathBuf = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    open::that(&whole).map_err(|error| {
        // A browser that ends with a code has no other words than that.
        let why = match error.kind() {
            std::io::ErrorKind::Other => "there is none, or it failed".to_owned(),
            _ => error.to_string(),
        };
        Error::unusable(format!("cannot start a browser: {why}"))
            .hint(format!("open this file yourself: {}", whole.display()))
    })
}
