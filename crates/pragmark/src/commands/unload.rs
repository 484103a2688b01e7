//! `pragmark unload`: rows of a database into files.

use app::Result;
use app::words::{grouped, plural};
use indicatif::HumanBytes;
use load::{Unload, Unloaded};

use crate::exit::Exit;
use crate::output;
use crate::progress::{Task, is_bar_wanted};
use crate::terminal::Terminal;

/// Writes the rows and reports the result, on standard error if the rows are on standard output.
pub fn execute(request: &Unload) -> Result<Exit> {
    let task = Task::new(is_bar_wanted());
    let unloaded = app::unload::unload(request, &Terminal::new(), &mut |rows| {
        task.update(plural(rows, "row", "rows"), None);
    });
    drop(task);
    let Some(unloaded) = unloaded? else {
        tell!("stopped; nothing was written");
        return Ok(Exit::Interrupted);
    };
    let mut text = outcome(&unloaded);
    if let Some(path) = &request.schema {
        text += &format!("; CREATE statements in {}", path.display());
        if !unloaded.mixed.is_empty() {
            let columns = unloaded.mixed.join(", ");
            text += &format!("\nwarning: {columns}: values of several types load as one type");
        }
    }
    if request.output.is_none() {
        tell!("{text}");
        return Ok(Exit::Success);
    }
    output::display(&format!("{text}\n"))
}

fn outcome(unloaded: &Unloaded) -> String {
    let into = match &unloaded.files[..] {
        [] => String::new(),
        [file] => format!(" into {}", file.display()),
        [first, .., last] => {
            let (count, first) = (unloaded.files.len(), first.display());
            format!(" into {count} files, {first} to {}", last.display())
        }
    };
    let seconds = unloaded.time.as_secs_f64();
    format!(
        "{}{into} in {seconds:.2} s: {} rows/s, {}",
        plural(unloaded.rows, "row", "rows"),
        grouped((unloaded.rows as f64 / seconds) as u64),
        HumanBytes(unloaded.bytes)
    )
}
