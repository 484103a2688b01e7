//! `pragmark inspect`: what can be seen of the user's own database without a workload.

use std::fmt::Write;

use app::Result;
use app::explain::{ExplainRequest, Explanation, explain};
use app::inspect::{Application, InspectRequest, Inspection, inspect};
use app::words::plural;
use bench::examination::{ANALYZE, Examination, Finding, Integrity, Space, WalReset};
use lab::metric::Unit;
use lab::text::one_line;
use report::figures::with_unit;
use report::render;
use serde_json::json;

use crate::exit::Exit;
use crate::output::{self, Format, Output};
use crate::terminal::Terminal;

/// Copies of databases from this size on are announced, in bytes.
const LARGE: u64 = 100 << 20;

/// Tables and indexes that are listed.
const LISTED: usize = 10;

/// The title of findings for which statements count: keys without an index, and statistics.
const LATE: &str = "More findings";

/// Examines the database and prints the result.
pub fn execute(
    request: &InspectRequest,
    explained: Option<&ExplainRequest>,
    is_json: bool,
) -> Result<Exit> {
    // Says what the copy of a large database costs.
    let bytes = request.database.metadata().map_or(0, |metadata| metadata.len());
    if bytes >= LARGE {
        tell!(
            "copying {} to {}: no time and no space if the file system can share blocks, otherwise as much space again; then reading all of it",
            with_unit(bytes as f64, Unit::Bytes),
            request.directory.display()
        );
    }
    let Inspection { mut examination, application } = inspect(request, &Terminal::lines())?;
    // An index for statements may be the one that is missing here, and statistics may spoil their plans, so those wait for them.
    let (mut late, others) =
        std::mem::take(&mut examination.findings).into_iter().partition(|finding| {
            explained.is_some() && (finding.missing.is_some() || is_analyze(finding))
        });
    examination.findings = others;
    if !is_json {
        let mut text = as_text(&examination, &application);
        text += &finding_lines("Findings", &examination.findings);
        if examination.findings.is_empty() && late.is_empty() {
            text += "\nNo findings.\n";
        }
        output::display(&text)?;
    }
    let explained = explained.map(|request| explain(request, &Terminal::new()));
    if matches!(explained, Some(Err(_))) && !is_json {
        output::display(&finding_lines(LATE, &late))?;
    }
    let explained = explained.transpose()?;
    if let Some(explained) = &explained {
        settle(&mut late, explained);
    }
    if is_json {
        examination.findings.extend(late);
        let statements = explained.as_ref().map(|explained| render::data(&explained.document));
        output::display_json(&json!({
            "database": examination, "application": application, "statements": statements
        }))?;
    } else if let Some(explained) = &explained {
        output::display("\n")?;
        let output = Output { format: Some(Format::Terminal), out: None };
        output::write_answer(&output, &explained.document)?;
        output::display(&finding_lines(LATE, &late))?;
    }
    if let Some(error) = explained.and_then(|explained| explained.failed) {
        return Err(error);
    }
    let is_sound = |integrity: &Integrity| integrity.problems.is_empty();
    let is_sound = examination.integrity.as_ref().is_none_or(is_sound);
    Ok(if is_sound { Exit::Success } else { Exit::Unusable })
}

/// Leaves out the keys that indexes for statements serve, and says what ANALYZE does to these statements.
fn settle(late: &mut Vec<Finding>, explained: &Explanation) {
    let is_met = |finding: &Finding| {
        explained.indexes.iter().any(|(table, columns)| finding.is_met_by(table, columns))
    };
    late.retain(|finding| !is_met(finding));
    for finding in late.iter_mut().filter(|finding| is_analyze(finding)) {
        finding.remedy = match explained.spoiled {
            Some(0) => {
                format!(
                    "{ANALYZE} (with pragmark's own SQLite it makes none of these statements slower)"
                )
            }
            Some(spoiled) => {
                let statements = plural(spoiled as u64, "statement", "statements");
                format!("not {ANALYZE} alone, which makes {statements} slower: see above")
            }
            None => continue,
        };
    }
}

fn is_analyze(finding: &Finding) -> bool {
    finding.remedy.starts_with(ANALYZE)
}

fn as_text(examination: &Examination, application: &Application) -> String {
    let mut text = database_lines(examination);
    text += &space_lines(&examination.space);
    text += &application_lines(examination, application);
    if let Some(integrity) = &examination.integrity {
        text += &integrity_lines(integrity);
    }
    text
}

fn bytes(count: i64) -> String {
    with_unit(count as f64, Unit::Bytes)
}

fn database_lines(examination: &Examination) -> String {
    format!(
        "{}: {}, {} pages of {} bytes ({} free), {}, {}, {}\n",
        one_line(&examination.database.to_string_lossy()),
        bytes(examination.bytes),
        examination.pages,
        examination.page_bytes,
        examination.free_pages,
        match examination.journal_mode.as_str() {
            "wal" => "WAL mode",
            _ => "rollback journal",
        },
        plural(examination.tables as u64, "table", "tables"),
        plural(examination.indexes as u64, "index", "indexes")
    )
}

fn space_lines(space: &Result<Vec<Space>, String>) -> String {
    let mut text = "\nLargest tables and indexes\n".to_owned();
    let space = match space {
        Ok(space) => space,
        Err(why) => return format!("{text}  not measured: {why}\n"),
    };
    for object in space.iter().take(LISTED) {
        let _ = writeln!(
            text,
            "  {}: {}, {:.0} % unused, {:.0} % of pages out of order",
            one_line(&object.name),
            bytes(object.bytes),
            object.unused() * 100.0,
            object.disorder() * 100.0
        );
    }
    text
}

fn application_lines(examination: &Examination, application: &Application) -> String {
    let settings = match &application.settings {
        Ok(settings) => {
            let settings = settings.iter().map(|(name, value)| format!("{name} {value}"));
            settings.collect::<Vec<_>>().join(", ")
        }
        Err(why) => format!("not known, because this library cannot read the database: {why}"),
    };
    format!(
        "\nSQLite {}: {}\n  a connection that sets nothing gets: {}\n  WAL-reset bug: {}\n",
        one_line(&application.version),
        one_line(&application.name),
        one_line(&settings),
        one_line(&wal_reset_words(examination, application))
    )
}

/// Says whether two connections can lose commits by the bug that SQLite 3.51.3 fixed.
fn wal_reset_words(examination: &Examination, application: &Application) -> String {
    let words = match (&application.wal_reset, &application.engine) {
        (WalReset::Shown { schedule, .. }, Some(engine)) => format!(
            "present: two connections can lose commits or damage the database; use SQLite 3.51.3 or newer; see it with `pragmark crash --schedule {schedule} --engine {engine}`"
        ),
        (WalReset::Shown { what, .. }, None) => format!("present: {what}"),
        (WalReset::NotShown { schedules }, _) => {
            format!("not present: none of the {schedules} schedules of its scenario does damage")
        }
        (WalReset::NotPlayed { why }, _) => format!(
            "not tried, because {why}; versions before 3.51.3 have it unless they got the correction later (https://sqlite.org/wal.html#walresetbug)"
        ),
    };
    match examination.journal_mode.as_str() {
        "wal" => words,
        _ => format!("no danger as long as the database does not use WAL ({words})"),
    }
}

fn integrity_lines(integrity: &Integrity) -> String {
    let mut text = "\nIntegrity\n".to_owned();
    match integrity.problems.as_slice() {
        [] => text += "  quick_check: no problems\n",
        problems => {
            for problem in problems {
                let _ = writeln!(text, "  quick_check: {}", one_line(problem));
            }
        }
    }
    let _ = match &integrity.foreign_key_violations {
        Ok(0) => writeln!(text, "  foreign_key_check: no violations"),
        Ok(rows) => writeln!(
            text,
            "  foreign_key_check: {rows} rows without a parent (1,000 are counted at most)"
        ),
        Err(why) => writeln!(text, "  foreign_key_check: not possible: {}", one_line(why)),
    };
    text
}

fn finding_lines(title: &str, findings: &[Finding]) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{title}\n");
    for finding in findings {
        let _ = writeln!(text, "  {}: {}", one_line(&finding.subject), one_line(&finding.what));
        let _ = writeln!(text, "      {}", one_line(&finding.remedy));
        if let Some(experiment) = finding.experiment {
            let _ = writeln!(text, "      what it costs here: pragmark run {experiment}");
        }
    }
    text
}
