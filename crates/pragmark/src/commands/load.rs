//! `pragmark load`: data into a table.

use std::time::Instant;

use app::Result;
use app::load::LoadRequest;
use app::words::{grouped, plural};
use indicatif::HumanBytes;
use load::{Decimals, Duplicates, Phase, Progress, Request, Summary};

use crate::exit::Exit;
use crate::output;
use crate::progress::{Task, is_bar_wanted};
use crate::terminal::Terminal;

/// Loads and reports the result.
pub fn execute(request: &LoadRequest) -> Result<Exit> {
    let opened = request.open()?;
    let (task, begin) = (Task::new(is_bar_wanted()), Instant::now());
    let loaded = opened.load(&Terminal::new(), &mut |progress| {
        display(&task, begin, progress);
    });
    drop(task);
    let database = &request.request.database;
    let Some(summary) = loaded? else {
        tell!("stopped; {} is unchanged", database.display());
        return Ok(Exit::Interrupted);
    };
    output::write_text(None, &outcome(&summary, &request.request, request.opening.decimals))
}

/// Returns what was done, in words.
fn outcome(summary: &Summary, request: &Request, stored: Decimals) -> String {
    let added = match request.duplicates {
        Duplicates::Update(_) => " inserted or updated",
        Duplicates::Refuse | Duplicates::Ignore => "",
    };
    let mut text = format!(
        "{}{added} into {} of {} in {:.2} s: {} rows/s, {} read, database {}\n",
        rows(summary.rows),
        request.table.name,
        request.database.display(),
        summary.time.as_secs_f64(),
        grouped(summary.rows_per_second() as u64),
        HumanBytes(summary.bytes_read),
        HumanBytes(summary.database_bytes)
    );
    if let Some(full_text) = &request.table.full_text {
        text += &format!(
            "full-text index: {}; after changing rows, update it with {}\n",
            full_text.name(&request.table.name),
            full_text.rebuild(&request.table.name)
        );
    }
    text += &indexes(summary);
    text += &match &summary.why_arrays {
        None if summary.new_database => "strategy: pages\n".to_owned(),
        None => "strategy: pages, appended to the database\n".to_owned(),
        Some(why) if summary.rows_by_pages == 0 => format!("strategy: arrays ({why})\n"),
        Some(why) => format!(
            "strategy: pages for the first {}, then arrays ({why})\n",
            rows(summary.rows_by_pages)
        ),
    };
    for notice in summary.notices(stored) {
        text += &format!("{notice}\n");
    }
    if summary.ignored > 0 {
        let why = match request.duplicates {
            Duplicates::Refuse => "the definition of the table or a trigger ignores them",
            _ => "their keys exist",
        };
        text += &format!("{} ignored: {why}\n", rows(summary.ignored));
    }
    if summary.rejected > 0 {
        text += &format!("{} skipped", rows(summary.rejected));
        if let Some(path) = &request.rejects {
            text += &format!("; see {}", path.display());
        }
        text.push('\n');
    }
    if summary.mended > 0 {
        let file = request.rejects.iter().map(|path| format!("; see {}", path.display()));
        text += &format!("{} mended{}\n", rows(summary.mended), file.collect::<String>());
    }
    text
}

/// Returns what became of the existing full-text indexes.
fn indexes(summary: &Summary) -> String {
    let rebuilt = summary.rebuilt.iter();
    let rebuilt = rebuilt.map(|name| format!("full-text index {name}: filled again\n"));
    let stale = summary.stale.iter().map(|name| {
        let rebuild = load::rebuild_full_text(name);
        format!(
            "warning: the full-text index {name} lacks the new rows; update it with {rebuild}\n"
        )
    });
    rebuilt.chain(stale).collect()
}

fn rows(count: u64) -> String {
    plural(count, "row", "rows")
}

/// Displays rate and share, and the time to go where the size of the input is known.
fn display(task: &Task, begin: Instant, progress: &Progress) {
    let read = HumanBytes(progress.bytes_read);
    let doing = match progress.phase {
        Phase::Types => "choosing types from all rows".to_owned(),
        Phase::Rows => {
            let rate = progress.rows as f64 / begin.elapsed().as_secs_f64();
            let rate = grouped(rate as u64);
            format!("{}, {rate} rows/s", rows(progress.rows))
        }
        Phase::Indexes => "building indexes".to_owned(),
        Phase::FullText => "building the full-text index".to_owned(),
        Phase::Analyze => "running ANALYZE".to_owned(),
        Phase::Check => "checking".to_owned(),
        Phase::Sync => "syncing".to_owned(),
    };
    match progress.total_bytes {
        Some(total) => {
            let message = format!("{read} of {}, {doing}", HumanBytes(total));
            task.step(progress.bytes_read, total, message);
        }
        None => task.update(format!("{read}, {doing}"), None),
    }
}
