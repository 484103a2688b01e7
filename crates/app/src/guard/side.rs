//! One side of a guarded comparison: a directory with its work, built and ready to be measured.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::{Connection, EngineError, Library, OpenFlags, Source};
use lab::catalogue::Catalogue;
use lab::experiment::{DesignKind, Experiment, VariantName};
use lab::guard::Work;
use lab::level::{Level, Settings, level_of};
use lab::plan::ad_hoc;
use process::{End, Group, Limits};
use runner::Driver;
use script::effect::names;
use trace::content::tables;

use crate::driver;
use crate::error::{Error, Result};
use crate::files::level_of_path;
use crate::library;
use crate::measure::{checked, convert_values};

/// A side.
pub(super) struct Side {
    /// `base` or `new`.
    pub(super) role: &'static str,
    /// A description, such as a revision.
    pub(super) name: String,
    /// Its directory.
    pub(super) directory: PathBuf,
    /// The work by its own file.
    pub(super) work: Work,
    /// Its library, where that differs.
    pub(super) engine: Option<String>,
    /// Its database, where one is named on the command line.
    pub(super) database: Option<PathBuf>,
}

/// The work of a side, ready to be planned.
#[derive(Clone)]
pub(super) struct Planned {
    /// The work, of which the first variant counts.
    pub(super) experiment: Experiment,
    /// Whether it is that of a file.
    pub(super) is_experiment: bool,
    /// The workloads, its own drivers' among them.
    pub(super) catalogue: Catalogue,
    /// The executor.
    pub(super) driver: Driver,
}

/// The variable that tells a build where to make the database.
const DATABASE: &str = "PRAGMARK_DATABASE";

impl Side {
    /// Builds it, and describes its work as an experiment with what carries it out.
    pub(super) fn planned(&self, workspace: &Path, interrupted: &AtomicBool) -> Result<Planned> {
        let made = self.made(workspace);
        if let Some(build) = &self.work.build {
            self.build(build, &made, interrupted)?;
        }
        let work = &self.work;
        let drivers = work.drivers.as_ref().map(|drivers| self.directory.join(drivers));
        let catalogue = drivers::catalogue(drivers.as_deref())?;
        let experiment = match &work.experiment {
            Some(file) => self.of_file(file, &catalogue)?,
            None => self.own(&made, &catalogue)?,
        };
        Ok(Planned {
            is_experiment: work.experiment.is_some(),
            driver: driver::with_bindings(drivers.as_deref())?,
            experiment,
            catalogue,
        })
    }

    /// Returns the experiment of a file, with further settings in its baseline.
    fn of_file(&self, file: &str, catalogue: &Catalogue) -> Result<Experiment> {
        let path = self.path(file)?.to_string();
        let mut experiment = library::named(&[path], catalogue)?.remove(0);
        let mut set = |name: &str, level: Level| {
            let baseline = &mut experiment.design.baseline;
            let settings =
                if baseline.contains_key(name) { baseline } else { &mut experiment.base };
            settings.insert(name.to_owned(), level)
        };
        for (name, level) in self.settings_of_user()? {
            set(&name, level);
        }
        if let Some(engine) = &self.engine {
            set("engine", Level::Text(engine.clone()));
        }
        Ok(experiment)
    }

    /// Returns scripts or a trace as an experiment.
    fn own(&self, made: &Path, catalogue: &Catalogue) -> Result<Experiment> {
        let work = &self.work;
        let workload = match work.trace {
            Some(_) => "replay",
            None => "sql",
        };
        let mut experiment = ad_hoc(self.role, "Is it slower?", workload, "txns_per_s");
        experiment.design.kind = DesignKind::OneAtATime;
        experiment.design.stopping.rounds = 2;
        experiment.design.stopping.max_rounds = 2;
        experiment.base = self.settings(work, made)?;
        experiment.variants.push(VariantName {
            levels: Settings::new(),
            label: Some(self.role.to_owned()),
            answer: None,
        });
        convert_values(&mut experiment, catalogue);
        let text = experiment.to_toml().map_err(Error::mistake)?;
        checked(&text, catalogue)
            .map_err(|failure| self.failed("cannot be measured", failure.words()))
    }

    /// Returns the settings that the file names, and those of its PRAGMA statements.
    fn settings_of_user(&self) -> Result<Settings> {
        let work = &self.work;
        let mut settings = work.settings.clone();
        if let Some(pragmas) = &work.pragmas {
            settings.extend(self.pragmas(pragmas)?);
        }
        Ok(settings)
    }

    fn failed(&self, what: &str, why: impl std::fmt::Display) -> Error {
        Error::unusable(format!("the {} side ({}) {what}: {why}", self.role, self.name))
    }

    /// The database that its build makes.
    fn made(&self, workspace: &Path) -> PathBuf {
        workspace.join(format!("{}.db", self.role))
    }

    /// Builds once more. Returns the tables that have other rows then, in lower case, and the views that read them; none if the build makes
    /// no database.
    pub(super) fn random_tables(
        &self,
        workspace: &Path,
        interrupted: &AtomicBool,
    ) -> Result<Vec<String>> {
        let (made, again) = (self.made(workspace), workspace.join("again.db"));
        let Some(build) = self.work.build.as_ref().filter(|_| made.exists()) else {
            return Ok(Vec::new());
        };
        self.build(build, &again, interrupted)?;
        differing_tables([&made, &again]).map_err(|error| Error::reading(&made, error))
    }

    /// Executes the build in the directory of the side.
    fn build(&self, build: &str, database: &Path, interrupted: &AtomicBool) -> Result<()> {
        let mut command = Command::new("sh");
        command.args(["-c", build]).current_dir(&self.directory).env(DATABASE, database);
        let built = process::run(&mut command, Group::Own, &Limits::cancelled(interrupted))
            .map_err(|error| {
                let directory = self.directory.display();
                self.failed(&format!("was not built in {directory}: `{build}`"), error)
            })?;
        match built.end {
            end if end.is_success() => Ok(()),
            End::Cancelled => Err(Error::interrupted("stopped while a side was built")),
            end => Err(self.failed(&format!("was not built: `{build}` {end}"), built.messages())),
        }
    }

    fn settings(&self, work: &Work, made: &Path) -> Result<Settings> {
        let mut settings = self.settings_of_user()?;
        let mut set = |name: &str, level: Level| settings.insert(name.to_owned(), level);
        if let Some(trace) = &work.trace {
            set("trace", self.path(trace)?);
            set("statements", 100_000.into());
        }
        if let Some(scripts) = &work.scripts {
            set("scripts", self.scripts(scripts)?);
            if !work.settings.contains_key("unit") {
                set("unit", "statement".into());
            }
            set("executions", i64::from(work.executions).into());
            set("answers", i64::from(work.executions).into());
        }
        if let Some(setup) = &work.setup {
            set("setup", self.path(setup)?);
        }
        let database = match (&self.database, &work.database) {
            (Some(given), _) => Some(level_of_path(given)?),
            (None, Some(named)) => Some(self.path(named)?),
            (None, None) if made.exists() => Some(level_of_path(made)?),
            (None, None) => None,
        };
        database.map(|database| set("database", database));
        self.engine.as_ref().map(|engine| set("engine", Level::Text(engine.clone())));
        Ok(settings)
    }

    /// Returns a file of the side, from the root.
    fn path(&self, relative: &str) -> Result<Level> {
        let path = self.directory.join(relative);
        let whole = path.canonicalize();
        let whole = whole.map_err(|error| self.failed(&format!("has no {relative}"), error))?;
        level_of_path(&whole)
    }

    /// Returns a list of scripts with weights, each from the root.
    fn scripts(&self, list: &str) -> Result<Level> {
        let whole = list.split(',').map(|script| {
            let (name, weight) = match script.trim().rsplit_once('@') {
                Some((name, weight)) => (name, format!("@{weight}")),
                None => (script.trim(), String::new()),
            };
            Ok(format!("{}{weight}", self.path(name)?))
        });
        Ok(Level::Text(whole.collect::<Result<Vec<_>>>()?.join(",")))
    }

    /// Returns the settings that a file of PRAGMA statements makes.
    fn pragmas(&self, file: &str) -> Result<Vec<(String, Level)>> {
        let path = self.directory.join(file);
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|error| self.failed(&format!("has no {file}"), error))?;
        pragmas(&text).map_err(|statement| {
            self.failed(&format!("has a statement in {file} that does not set a PRAGMA"), statement)
        })
    }
}

/// Returns the settings of PRAGMA statements, or the first statement that is another one.
fn pragmas(text: &str) -> Result<Vec<(String, Level)>, String> {
    let lines = text.lines().map(|line| line.split("--").next().unwrap_or_default());
    let text = lines.collect::<Vec<_>>().join("\n");
    let statements = text.split(';').map(str::trim).filter(|statement| !statement.is_empty());
    let setting = |statement: &str| {
        let (word, rest) = statement.split_once(char::is_whitespace)?;
        let (name, value) =
            rest.split_once('=').or_else(|| rest.trim().strip_suffix(')')?.split_once('('))?;
        let value = value.trim().trim_matches(['\'', '"']);
        let is_pragma = word.eq_ignore_ascii_case("pragma");
        let name = name.trim().to_ascii_lowercase();
        let name = name.strip_prefix("main.").unwrap_or(&name).to_owned();
        is_pragma.then(|| (name, level_of(&value.to_ascii_lowercase())))
    };
    statements.map(|statement| setting(statement).ok_or_else(|| statement.to_owned())).collect()
}

/// Returns the tables with other rows in the second database, in lower case, and the views of the first that read them.
fn differing_tables(paths: [&Path; 2]) -> std::result::Result<Vec<String>, EngineError> {
    let library = Arc::new(Library::load(&Source::Embedded)?);
    let open = |path: &Path| Connection::open(&library, path, OpenFlags::READ_ONLY, None);
    let (one, two) = (open(paths[0])?, open(paths[1])?);
    let same = tables(&two)?;
    let others = tables(&one)?.into_iter().filter(|table| !same.contains(table));
    let mut differing: Vec<String> = others.map(|table| table.name.to_lowercase()).collect();
    for view in one.query_all("SELECT name, sql FROM sqlite_schema WHERE type = 'view'")? {
        let [name, sql] = [0, 1].map(|column| view[column].to_string());
        if names(&sql).iter().any(|name| differing.contains(name)) {
            differing.push(name.to_lowercase());
        }
    }
    Ok(differing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pragma_statements_are_settings() {
        let text = "-- of every connection\nPRAGMA journal_mode = WAL; pragma main.synchronous=FULL;\nPRAGMA cache_size(-64000);";
        let all = pragmas(text).unwrap();
        let names: Vec<String> =
            all.iter().map(|(name, level)| format!("{name}={level}")).collect();
        assert_eq!(names, ["journal_mode=wal", "synchronous=full", "cache_size=-64000"]);
        assert_eq!(pragmas("SELECT 1").unwrap_err(), "SELECT 1");
        assert_eq!(pragmas("PRAGMA optimize").unwrap_err(), "PRAGMA optimize");
    }
}
