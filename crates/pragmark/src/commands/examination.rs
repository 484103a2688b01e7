//! `pragmark doctor --db`: what can be seen of the user's own database without a workload.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use ::engine::{EngineError, Source};
use bench::TrialError;
use bench::examination::{
    Examination, Finding, Integrity, LibraryReport, Space, WalReset, examine, of_connection,
    or_why, with_library,
};
use drivers::{Description, Library, Manifest, State};
use lab::metric::Unit;
use lab::text::one_line;
use report::figures::with_unit;
use serde::Serialize;
use serde_json::json;

use super::work_folder::work_folder;
use super::{driver, engine, output};
use crate::cli::DoctorArgs;
use crate::failure::{Exit, Failure};

/// Copies of databases from this size on are announced, in bytes.
const LARGE: u64 = 100 << 20;

/// Tables and indexes that are listed.
const LISTED: usize = 10;

/// The SQLite of the application, with the user's database.
#[derive(Debug, Serialize)]
struct Application {
    /// What it is, in words.
    name: String,
    /// The engine, as options name it; none where the library is inside a binding.
    engine: Option<String>,
    version: String,
    /// PRAGMAs of a connection that sets nothing, as far as they are known; why none is known otherwise.
    #[serde(serialize_with = "or_why")]
    settings: Result<BTreeMap<String, String>, String>,
    wal_reset: WalReset,
}

/// Examines the database and prints the result.
pub fn execute(database: &Path, args: &DoctorArgs) -> Result<Exit, Failure> {
    let parent = args.dirs.first().map_or(Path::new("."), PathBuf::as_path);
    announce(database, parent);
    let folder = work_folder(parent)?;
    let mut examination = examine(database, folder.path(), args.quick_check).map_err(unusable)?;
    drop(folder);
    let application = application(database, parent, &examination, args)?;
    if let Ok(settings) = &application.settings {
        let of_connection = of_connection(&examination, settings);
        examination.findings.extend(of_connection);
    }
    let text = match args.json {
        true => {
            let all = json!({ "database": examination, "application": application });
            format!("{all:#}\n")
        }
        false => as_text(&examination, &application),
    };
    output::display(&text)?;
    let sound = |integrity: &Integrity| integrity.problems.is_empty();
    Ok(match examination.integrity.as_ref().is_none_or(sound) {
        true => Exit::Success,
        false => Exit::Unusable,
    })
}

fn unusable(error: TrialError) -> Failure {
    Failure::unusable(error)
}

/// Says what the copy of a large database costs.
fn announce(database: &Path, parent: &Path) {
    let bytes = database.metadata().map_or(0, |metadata| metadata.len());
    if bytes >= LARGE {
        tell!(
            "copying {} to {}: no time and no space if the file system can share blocks, otherwise as much space again; then reading all of it",
            with_unit(bytes as f64, Unit::Bytes),
            parent.display()
        );
    }
}

/// The SQLite that the options name; without one, the system's, or the built-in one where the system has none.
fn application(
    database: &Path,
    parent: &Path,
    examination: &Examination,
    args: &DoctorArgs,
) -> Result<Application, Failure> {
    let folder = work_folder(parent)?;
    let with = |source: &Source| with_library(source, database, folder.path());
    if let Some(name) = &args.engine {
        let report = with(&engine::source(name)?).map_err(unusable)?;
        return Ok(loaded(format!("the engine {name}"), name, report));
    }
    if let Some(name) = &args.through {
        return through(name, examination, || with(&Source::System).map_err(unusable));
    }
    match with(&Source::System) {
        Ok(report) => Ok(loaded("this system's library".to_owned(), "system", report)),
        Err(TrialError::Engine(EngineError::NoSystemLibrary { .. })) => {
            let report = with(&Source::Embedded).map_err(unusable)?;
            Ok(loaded("pragmark's own library".to_owned(), "default", report))
        }
        Err(error) => Err(unusable(error)),
    }
}

fn loaded(name: String, engine: &str, report: LibraryReport) -> Application {
    Application {
        name,
        engine: Some(engine.to_owned()),
        version: report.version,
        settings: report.settings,
        wal_reset: report.wal_reset,
    }
}

/// The SQLite of a driver. One that loads the system's library has the bugs of that; one that includes its own cannot
/// be played with.
fn through(
    name: &str,
    examination: &Examination,
    system: impl FnOnce() -> Result<LibraryReport, Failure>,
) -> Result<Application, Failure> {
    let registry = driver::registry(None)?;
    let manifest = registry.find(name)?;
    let description = match registry.state(manifest) {
        State::Ready(description) => description,
        State::Missing(error) => return Err(error.into()),
    };
    let system = match manifest.library {
        Library::Loaded => Some(system()?),
        Library::Carried => None,
    };
    let is_loaded = |report: &LibraryReport| report.source_id == description.source_id;
    let (engine, wal_reset) = match system.filter(is_loaded) {
        Some(report) => (Some("system".to_owned()), report.wal_reset),
        None => (None, not_played(manifest)),
    };
    Ok(Application {
        name: format!("{}, through the driver {name}", description.name),
        engine,
        settings: Ok(settings_of(&description, examination)),
        version: description.version,
        wal_reset,
    })
}

fn not_played(manifest: &Manifest) -> WalReset {
    WalReset::NotPlayed { why: format!("the library is inside the binding of {}", manifest.name) }
}

/// What a fresh connection of a binding says, with the journal mode of the file and what follows from it.
fn settings_of(description: &Description, examination: &Examination) -> BTreeMap<String, String> {
    let mut settings = description.defaults.clone();
    settings.remove("journal_mode");
    bench::normalise_pragmas(&mut settings);
    let mut options = description.compile_options.iter();
    let in_wal = options.find_map(|option| option.strip_prefix("DEFAULT_WAL_SYNCHRONOUS="));
    if examination.journal_mode == "wal"
        && let Some(level) = in_wal
    {
        settings.insert("synchronous".to_owned(), level.to_owned());
        bench::normalise_pragmas(&mut settings);
    }
    settings
}

fn as_text(examination: &Examination, application: &Application) -> String {
    let mut text = database_lines(examination);
    text += &space_lines(&examination.space);
    text += &application_lines(examination, application);
    if let Some(integrity) = &examination.integrity {
        text += &integrity_lines(integrity);
    }
    text + &finding_lines(&examination.findings)
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
            _ => "a rollback mode",
        },
        plural(examination.tables, "table", "tables"),
        plural(examination.indexes, "index", "indexes")
    )
}

fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn space_lines(space: &Result<Vec<Space>, String>) -> String {
    let mut text = "\nLargest tables and indexes\n".to_owned();
    let space = match space {
        Ok(space) => space,
        Err(why) => return format!("{text}  not measured: {why}\n"),
    };
    for one in space.iter().take(LISTED) {
        let _ = writeln!(
            text,
            "  {}: {}, {:.0} % unused, {:.0} % of pages out of order",
            one_line(&one.name),
            bytes(one.bytes),
            one.unused() * 100.0,
            one.disorder() * 100.0
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

/// Whether two connections can lose commits by the bug that SQLite 3.51.3 fixed.
fn wal_reset_words(examination: &Examination, application: &Application) -> String {
    let words = match (&application.wal_reset, &application.engine) {
        (WalReset::Shown { schedule, what }, Some(engine)) => format!(
            "present: a schedule of two connections damages a database ({what}); use SQLite 3.51.3 or newer; play it again with `pragmark crash --schedule {schedule} --engine {engine}`"
        ),
        (WalReset::Shown { what, .. }, None) => format!("present: {what}"),
        (WalReset::NotShown { schedules }, _) => {
            format!(
                "not present: {schedules} schedules, which are all of its scenario, do no damage"
            )
        }
        (WalReset::NotPlayed { why }, _) => format!(
            "not tried, because {why}; versions before 3.51.3 have it unless they got the correction later (https://sqlite.org/wal.html#walresetbug)"
        ),
    };
    match examination.journal_mode.as_str() {
        "wal" => words,
        _ => format!("not in reach, because the database is not in WAL mode ({words})"),
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

fn finding_lines(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return "\nNo findings.\n".to_owned();
    }
    let mut text = "\nFindings\n".to_owned();
    for finding in findings {
        let _ = writeln!(text, "  {}: {}", one_line(&finding.subject), one_line(&finding.what));
        let _ = writeln!(text, "      {}", one_line(&finding.remedy));
        if let Some(experiment) = finding.experiment {
            let _ = writeln!(text, "      what it costs here: pragmark run {experiment}");
        }
    }
    text
}
