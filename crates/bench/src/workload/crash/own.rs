//! The user's own workload, to be crashed: a script or a trace, on a copy of the user's own database.
//!
//! Commands that repeat a crash.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crash::{
    Action, CrashSettings, Execution, FEWEST, InitialDatabases, Performed, Plan, Script,
    ScriptSummary, SettingsInForce,
};
use engine::build::Provenance;
use engine::{Connection, Library, OpenFlags, Source};
use lab::tier::{CRASHED, ModelSafety};
use script::effect;

use super::settings::Parameters;
use super::traffic;
use crate::workload::prelude::*;
use crate::workload::sql::{snapshot, unroll};

/// A script or a trace.
pub(super) struct Own {
    /// The statements.
    pub(super) script: Script,
    /// The databases before it; none if it begins with an empty database.
    pub(super) initial: Option<InitialDatabases>,
    /// The names of the databases for the user, the main one first.
    names: Vec<String>,
    /// The transactions that write, where they are known beforehand.
    transactions: Option<usize>,
    /// Whether the script has all of them.
    is_whole: bool,
    /// How many images are sampled under each model, in words.
    images: String,
    /// The stand-ins, a line each.
    stand_ins: String,
    /// The options that name it.
    pub(super) options: String,
}

impl Own {
    /// Reads what the parameters name, and brings a copy of the database into the directory of the trial, with the
    /// settings of the variant, whose page size becomes that of the database.
    ///
    /// # Errors
    /// The script, the trace or the database cannot be used.
    pub(super) fn read(
        trial: &Trial<'_>,
        parameters: &Parameters,
        variant: &mut CrashSettings,
    ) -> Result<Option<Own>> {
        let path = |text: &str| (!text.is_empty()).then(|| PathBuf::from(text));
        let own = match (path(&parameters.script), path(&parameters.trace)) {
            (Some(_), Some(_)) => {
                return Err(TrialError::cannot_run("script and trace exclude one another"));
            }
            (Some(script), None) => of_script(trial, parameters, &script)?,
            (None, Some(trace)) => of_trace(trial, parameters, &trace)?,
            (None, None) if parameters.database.is_empty() => return Ok(None),
            (None, None) => {
                let why = "database requires a script or a trace to be crashed";
                return Err(TrialError::cannot_run(why));
            }
        };
        if let Some(page_size) = own.initial.as_ref().and_then(InitialDatabases::page_size) {
            variant.page_size = page_size;
        }
        Ok(Some(own))
    }

    /// Returns the crashed work, and its settings if they are not those of the variant; nothing for a script that was
    /// crashed as a whole under the settings of the variant.
    pub(super) fn about(
        &self,
        done: Option<&ScriptSummary>,
        variant: &CrashSettings,
    ) -> Option<DataTable> {
        let done = done?;
        let mut rows = match self.initial {
            Some(_) => self.extent(&done.performed),
            None => Vec::new(),
        };
        let named = done.in_force.iter().map(|settings| SettingsInForce {
            database: self.name_of(&settings.database),
            ..settings.clone()
        });
        let others = named.filter_map(|settings| settings.unlike(variant));
        rows.extend(others.map(|words| ("settings in force", words)));
        let open = done.left_open.as_ref();
        rows.extend(open.map(|place| ("never committed", format!("what begins at {place}"))));
        let rows = rows.into_iter();
        let rows: Vec<_> = rows.map(|(name, words)| vec![name.to_owned(), words]).collect();
        (!rows.is_empty()).then(|| DataTable::new(CRASHED, &["of", "extent"], rows))
    }

    /// Returns the name of a database of the harness for the user.
    fn name_of(&self, database: &str) -> String {
        let mut names = self.names.iter().enumerate();
        let known = names.find(|(number, _)| InitialDatabases::database(*number) == database);
        known.map_or_else(|| database.to_owned(), |(_, name)| name.clone())
    }

    fn extent(&self, performed: &Performed) -> Vec<(&'static str, String)> {
        let Performed { transactions, statements, of, differing } = *performed;
        let extent = match self.transactions {
            _ if statements == of && self.is_whole => format!("all {transactions}"),
            Some(all) => format!("the first {transactions} of {all}"),
            None => format!("the first {transactions}"),
        };
        let mut rows = vec![
            ("transactions", extent),
            match self.is_whole {
                true => ("statements", format!("{statements} of {of}")),
                false => ("statements", statements.to_string()),
            },
        ];
        rows.extend(self.names.first().map(|name| ("database", name.clone())));
        rows.extend(self.stand_ins.lines().map(|one| ("stand-in", one.to_owned())));
        if self.transactions.is_some() {
            rows.push(("statements unlike the recording", differing.to_string()));
        }
        rows.push(("images under each storage model", self.images.clone()));
        rows
    }
}

/// Reads a script. One in the language of `measure` and `run` is carried out on a copy of the database first, which
/// gives its statements their values: transactions until so many have changed something.
///
/// # Errors
/// A mistake in the script, with its line; the database cannot be used.
pub fn crash_script(
    library: &Arc<Library>,
    files: &str,
    database: Option<&Path>,
    directory: &Path,
    transactions: usize,
) -> Result<Script> {
    let path = Path::new(files);
    if !unroll::is_in_language(files)? {
        let sql = std::fs::read_to_string(path).map_err(|error| {
            TrialError::cannot_run(format!("cannot read {}: {error}", path.display()))
        })?;
        return Script::parse(library, path, &sql).map_err(TrialError::because);
    }
    let Some(database) = database else {
        return Err(TrialError::cannot_run(format!(
            "{files}: meta commands, parameters, named queries and several scripts require a database (--db)"
        )));
    };
    let folder = directory.join("unrolled");
    std::fs::create_dir(&folder).map_err(TrialError::io("make", &folder))?;
    let executed = unroll::unroll(library, files, database, &folder, transactions)?;
    std::fs::remove_dir_all(&folder).map_err(TrialError::io("remove", &folder))?;
    let only_reads = |sql: &str| {
        let first = effect::first_word(sql);
        ["select", "values", "explain"].contains(&first.as_str())
    };
    let actions = executed.into_iter().filter(|statement| !only_reads(&statement.sql)).map(|it| {
        Action::Execution(Execution {
            sql: it.sql,
            values: it.values,
            location: it.location,
            fails: false,
            changes: it.changes,
        })
    });
    Ok(Script { path: Some(path.to_owned()), actions: actions.collect() })
}

fn of_script(trial: &Trial<'_>, parameters: &Parameters, path: &Path) -> Result<Own> {
    let database = Path::new(&parameters.database);
    let given = Some(database).filter(|_| !parameters.database.is_empty());
    let (files, count) = (&parameters.script, parameters.transactions);
    let script = crash_script(&trial.library, files, given, trial.directory, count)?;
    let mut options = format!(" --script {}", quoted(path));
    let mut initial = None;
    if !parameters.database.is_empty() {
        let copy = trial.directory.join("own.db");
        snapshot::copy_database(&trial.library, database, &copy)?;
        prepare(trial, &copy).map_err(|error| {
            TrialError::cannot_run(format!("cannot use a copy of {}: {error}", database.display()))
        })?;
        initial = Some(begin(&[&copy], parameters)?);
        options.push_str(&format!(
            " --db {} --transactions {}",
            quoted(database),
            parameters.transactions
        ));
    }
    Ok(Own {
        script,
        names: initial.iter().map(|_| parameters.database.clone()).collect(),
        initial,
        transactions: None,
        is_whole: true,
        options,
        images: images(parameters),
        stand_ins: parameters.stand_in.clone(),
    })
}

/// How many images are sampled under each storage model, in words.
fn images(parameters: &Parameters) -> String {
    let most = format!("at most {}", parameters.images);
    match parameters.image_mb {
        0 => most,
        mb => format!(
            "{most}, fewer where they hold more than {mb} MB together, at least {FEWEST} if there are so many"
        ),
    }
}

fn of_trace(trial: &Trial<'_>, parameters: &Parameters, path: &Path) -> Result<Own> {
    let (database, most) = (&parameters.database, parameters.transactions);
    let traffic = traffic::read(path, trial.directory, database, most)?;
    for file in traffic.files.iter().filter(|file| file.exists()) {
        prepare(trial, file)?;
    }
    let files: Vec<&Path> = traffic.files.iter().map(PathBuf::as_path).collect();
    let named = match parameters.database.as_str() {
        "" => String::new(),
        name => format!(" --db {}", quoted(Path::new(name))),
    };
    let stand_ins = parameters.stand_in.lines();
    let stand_ins = stand_ins.map(|one| format!(" --stand-in '{}'", one.replace('\'', r"'\''")));
    let stand_ins: String = stand_ins.collect();
    Ok(Own {
        initial: Some(begin(&files, parameters)?),
        options: format!(
            " --trace {}{named}{stand_ins} --transactions {}",
            quoted(path),
            parameters.transactions
        ),
        script: traffic.script,
        names: traffic.names,
        transactions: Some(traffic.transactions),
        is_whole: traffic.is_whole,
        images: images(parameters),
        stand_ins: parameters.stand_in.clone(),
    })
}

fn begin(files: &[&Path], parameters: &Parameters) -> Result<InitialDatabases> {
    InitialDatabases::of(files, parameters.transactions).map_err(TrialError::because)
}

/// Gives a copy the journal mode of the variant, so that no crash meets the change of it; the last connection to close
/// writes the log back.
fn prepare(trial: &Trial<'_>, copy: &Path) -> Result<()> {
    let connection = Connection::open(&trial.library, copy, OpenFlags::default(), None)?;
    connection.query_i64("SELECT count(*) FROM sqlite_master")?;
    connection.close()?;
    let mut settings = trial.settings.clone();
    // A database that is there has its page size.
    settings.remove("page_size");
    let same =
        Trial { seed: trial.seed, ..Trial::detached(&settings, &trial.library, trial.directory) };
    let connection = sqlite::open(&same, copy)?;
    connection.query_i64("SELECT count(*) FROM sqlite_master")?;
    Ok(connection.close()?)
}

/// Returns the command that makes the same image again and writes it to disk. `options` name the user's own work.
pub(super) fn command(variant: &CrashSettings, model: &str, plan: &Plan, options: &str) -> String {
    format!(
        "pragmark crash --set journal_mode={} --set synchronous={} --set locking_mode={} --set page_size={}{} --model {model} --images {} --seed {} --engine {}{} --out witness",
        variant.journal_mode,
        variant.synchronous,
        variant.locking_mode,
        variant.page_size,
        if variant.powersafe_overwrite { "" } else { " --set psow=0" },
        plan.images,
        plan.seed.0,
        engine_name(&plan.engine),
        options
    )
}

/// Returns the witnesses of corruption, in ordinary commits and on rare occasions, if any.
pub(super) fn witnesses(found: &[ModelSafety]) -> Option<DataTable> {
    let rows: Vec<Vec<String>> = found.iter().flat_map(rows).collect();
    let columns = ["storage model", "found", "witness", "to write it to disk"];
    (!rows.is_empty())
        .then(|| DataTable::new("witnesses of what a crash can destroy", &columns, rows))
}

fn rows(found: &ModelSafety) -> Vec<Vec<String>> {
    let row = |shown: String, witness: &Option<String>, again: &Option<String>| {
        Some(vec![found.model.clone(), shown, witness.clone()?, again.clone()?])
    };
    let ordinary = row(found.ordinary.to_string(), &found.witness, &found.again);
    let rare = found.occasions.iter().filter_map(|on| {
        let shown = on.counts.words(|count| count.to_string());
        row(format!("on {}: {shown}", on.occasion), &on.witness, &on.again)
    });
    ordinary.into_iter().chain(rare).collect()
}

/// Returns a library as a command names it: an engine that pragmark keeps by its name, since other machines keep it
/// elsewhere.
pub(super) fn engine_name(source: &Source) -> String {
    match source {
        Source::Path(path) => kept(path).unwrap_or_else(|| quoted(path)),
        other => other.to_string(),
    }
}

/// Returns the name under which pragmark keeps a library, if it does and its provenance can be read; loading the library
/// has reported otherwise.
fn kept(library: &Path) -> Option<String> {
    let provenance = Provenance::read(library).ok()??;
    Some(quoted(Path::new(&provenance.name)))
}

/// Returns a path as a shell takes it.
pub(super) fn quoted(path: &Path) -> String {
    match path.to_str() {
        Some(plain) if !plain.contains(|c: char| c.is_whitespace() || "'\"\\$`".contains(c)) => {
            plain.to_owned()
        }
        _ => format!("'{}'", path.display().to_string().replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_is_kept_is_named_and_another_is_a_path() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libsqlite3.so.0");
        let name = || engine_name(&Source::Path(library.clone()));
        assert_eq!(name(), library.to_str().unwrap());
        let provenance = serde_json::json!({
            "format": 1, "name": "3.46.0+recommended", "version": "3.46.0", "source_id": "", "source": "",
            "sha256": "", "bytes": 0, "created": "2026-01-01T00:00:00Z",
        });
        let its = folder.path().join("libsqlite3.so.0.provenance.json");
        std::fs::write(its, provenance.to_string()).unwrap();
        assert_eq!(name(), "3.46.0+recommended");
        assert_eq!(engine_name(&Source::Embedded), "default");
    }
}
