//! All drivers, and the trials that are run through them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::Source;
use lab::record::EngineRecord;
use lab::target;
use lab::trial::{BindingSpec, Measured, Outcome, TrialSpec};
use process::{End, Group, Limits};
use runner::{Bindings, Prepared};
use serde::Deserialize;

use crate::command::{self, Filled, fill};
use crate::error::DriverError;
use crate::front::front;
use crate::home::Home;
use crate::manifest::{self, Library, Manifest};

/// What a driver is asked for in place of a trial.
const DESCRIBE: &str = "describe";

/// How long a driver may take to describe itself; interpreters start slowly on a busy machine.
const DESCRIBE_LIMIT: Duration = Duration::from_secs(30);

/// For commands that take a moment and are not worth cancelling.
static NEVER: AtomicBool = AtomicBool::new(false);

/// The drivers in other languages.
#[derive(Debug)]
pub struct Registry {
    manifests: Vec<Manifest>,
    home: Home,
    /// pragmark itself: it starts drivers so that they end with it, and describes engines.
    program: PathBuf,
    /// How long a driver may take to describe itself.
    describe_limit: Duration,
    /// What engines say of themselves, asked for once each.
    engines: Mutex<HashMap<String, Result<EngineRecord, String>>>,
}

/// What a driver says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Description {
    /// Language and binding with their versions.
    pub name: String,
    /// `sqlite3_libversion()` of the SQLite that it uses unless another is put in front.
    pub version: String,
    /// Its `sqlite3_sourceid()`.
    pub source_id: String,
    /// Its compile options, sorted.
    pub compile_options: Vec<String>,
    /// PRAGMAs of a fresh connection.
    pub defaults: BTreeMap<String, String>,
}

/// Whether a driver can be used.
#[derive(Debug)]
pub enum State {
    /// It has described itself.
    Ready(Description),
    /// It cannot be used; the reason says what to do.
    Missing(DriverError),
}

impl Registry {
    /// The drivers embedded in pragmark, or those in a directory given instead; `program` is pragmark
    /// itself.
    ///
    /// # Errors
    /// When a manifest cannot be read.
    pub fn new(
        directory: Option<&Path>,
        home: Home,
        program: PathBuf,
    ) -> Result<Registry, DriverError> {
        let manifests = match directory {
            Some(directory) => manifest::in_directory(directory)?,
            None => manifest::embedded()?,
        };
        Ok(Registry {
            manifests,
            home,
            program,
            describe_limit: DESCRIBE_LIMIT,
            engines: Mutex::default(),
        })
    }

    /// Every driver, by name.
    pub fn manifests(&self) -> &[Manifest] {
        &self.manifests
    }

    /// The driver of this name.
    ///
    /// # Errors
    /// [`DriverError::Unknown`] with the names that there are.
    pub fn find(&self, name: &str) -> Result<&Manifest, DriverError> {
        let found = self.manifests.iter().find(|known| known.name == name);
        found.ok_or_else(|| DriverError::Unknown {
            name: name.to_owned(),
            known: self.manifests.iter().map(|it| it.name.clone()).collect(),
        })
    }

    /// Installs a driver, unless it is there and works, and asks it to describe itself.
    ///
    /// # Errors
    /// When a command of the installation fails or is cancelled, or the driver does not work
    /// afterwards; nothing is left of it then. One that is only slow to describe itself is kept.
    pub fn install(
        &self,
        manifest: &Manifest,
        cancelled: &AtomicBool,
    ) -> Result<Description, DriverError> {
        let was_there = self.home.of(manifest)?.is_dir();
        match self.install_and_describe(manifest, cancelled) {
            // What was made for one version of a language may not work with the next one.
            Err(error)
                if was_there && is_of_the_home(&error) && !cancelled.load(Ordering::Relaxed) =>
            {
                self.install_and_describe(manifest, cancelled)
            }
            described => described,
        }
    }

    /// Installs a driver unless it is there; one that does not describe itself is not kept, unless it is
    /// only slow to do so.
    fn install_and_describe(
        &self,
        manifest: &Manifest,
        cancelled: &AtomicBool,
    ) -> Result<Description, DriverError> {
        self.home.install(manifest, cancelled)?;
        let described = self.describe(manifest);
        if let Err(error) = &described
            && is_of_the_home(error)
        {
            self.home.discard(manifest)?;
        }
        described
    }

    /// Removes what was installed of a driver; returns whether there was something.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, manifest: &Manifest) -> Result<bool, DriverError> {
        self.home.remove(manifest)
    }

    /// Whether a driver can be used here.
    pub fn state(&self, manifest: &Manifest) -> State {
        match self.describe(manifest) {
            Ok(description) => State::Ready(description),
            Err(error) => State::Missing(error),
        }
    }

    fn describe(&self, manifest: &Manifest) -> Result<Description, DriverError> {
        let (home, mut command) = self.command(manifest)?;
        command.arguments.push(DESCRIBE.into());
        let limit = self.describe_limit;
        let finished = command::run(&command, &home, limit, &NEVER)?;
        let messages = finished.messages();
        let driver = manifest.name.clone();
        let what = match finished.end {
            End::TimedOut(limit) => return Err(DriverError::Slow { driver, limit }),
            end if end.is_success() => match serde_json::from_slice(&finished.output) {
                Ok(description) => return Ok(description),
                Err(error) => format!("printed no valid description ({error}): {messages}"),
            },
            end => format!("{end}: {messages}; it needs {}", manifest.needs),
        };
        Err(DriverError::Mute { driver, what })
    }

    /// The home of a driver and its command without arguments for what it is to do.
    fn command(&self, manifest: &Manifest) -> Result<(PathBuf, Filled), DriverError> {
        let home = self.home.of(manifest)?;
        // What needs no more than unpacking is unpacked when it is first used.
        if !home.is_dir() && manifest.install.is_empty() {
            self.home.install(manifest, &NEVER)?;
        }
        if !home.is_dir() {
            return Err(DriverError::NotInstalled(manifest.name.clone()));
        }
        let command = fill(&manifest.run, &home).map_err(|program| DriverError::NoProgram {
            driver: manifest.name.clone(),
            program,
            needs: manifest.needs.clone(),
        })?;
        Ok((home, command))
    }

    fn try_prepare(&self, spec: &TrialSpec, binding: &BindingSpec) -> Result<Prepared, Why> {
        let manifest = self.find(&binding.driver)?;
        if spec.counting {
            let why = "a driver in another language does not count what it does to files";
            return Err(Why::Impossible(why.to_owned()));
        }
        if !manifest.workloads.contains(&spec.workload) {
            return Err(Why::Impossible(format!(
                "the driver {} has no workload `{}`",
                manifest.name, spec.workload
            )));
        }
        let engine = Source::from_str(&spec.engine)
            .map_err(|error| DriverError::Engine(error.to_string()))?;
        let front = match manifest.library {
            Library::Loaded => front(&engine)?,
            Library::Carried if engine == Source::Embedded => None,
            Library::Carried => {
                return Err(Why::Impossible(format!(
                    "the driver {} carries a SQLite of its own, so that the engine {} cannot be put in its place",
                    manifest.name, spec.engine
                )));
            }
        };
        let (_, command) = self.command(manifest)?;
        let (environment, keep) = match front {
            Some(front) => (front.environment, Some(front.directory)),
            None => (Vec::new(), None),
        };
        Ok(Prepared {
            program: self.program.clone(),
            arguments: ending_with_parent(command),
            environment,
            spec: TrialSpec {
                binding: Some(bench::binding_spec(&binding.driver, &spec.settings)),
                ..spec.clone()
            },
            keep,
        })
    }

    /// What an engine says of itself, from a process of its own, because loading a library runs its code.
    fn engine(&self, engine: &str) -> Result<EngineRecord, String> {
        let mut known = self
            .engines
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let ask = || describe_engine(&self.program, engine);
        known.entry(engine.to_owned()).or_insert_with(ask).clone()
    }

    /// Why the engine under test did not do the work; none where it did, or where nothing was put in
    /// front of the driver.
    fn objection(
        &self,
        spec: &TrialSpec,
        binding: &BindingSpec,
        measured: &Measured,
    ) -> Option<String> {
        let manifest = self.find(&binding.driver).ok()?;
        let own = manifest.library == Library::Carried || spec.engine == Source::System.to_string();
        if own || !target::is_sqlite(&spec.settings) {
            return None;
        }
        let another = match self.engine(&spec.engine) {
            Ok(wanted) => another(&wanted, measured)?,
            Err(why) => return Some(why),
        };
        Some(format!(
            "the driver {} did its work with {another}: here this language has a SQLite of its own, which `--engine system` measures",
            manifest.name
        ))
    }
}

impl Bindings for Registry {
    fn prepare(&self, spec: &TrialSpec) -> Result<Prepared, Outcome> {
        let binding = spec.binding.clone().unwrap_or_default();
        self.try_prepare(spec, &binding).map_err(|why| match why {
            Why::Impossible(why) => Outcome::Skipped { why },
            Why::Driver(error) => Outcome::Skipped {
                why: error.to_string(),
            },
        })
    }

    fn judge(&self, spec: &TrialSpec, outcome: Outcome) -> Outcome {
        let (Outcome::Measured(measured), Some(binding)) = (outcome.clone(), &spec.binding) else {
            return outcome;
        };
        let outcome = bench::judge_binding(&spec.settings, *measured);
        let Outcome::Measured(measured) = &outcome else {
            return outcome;
        };
        match self.objection(spec, binding, measured) {
            Some(why) => Outcome::Skipped { why },
            None => outcome,
        }
    }
}

/// Why a trial cannot be prepared.
enum Why {
    /// It can never be run so.
    Impossible(String),
    /// The driver or the engine is not usable here.
    Driver(DriverError),
}

impl From<DriverError> for Why {
    fn from(error: DriverError) -> Why {
        Why::Driver(error)
    }
}

/// The arguments with which pragmark becomes the driver, having asked to end with its parent.
fn ending_with_parent(command: Filled) -> Vec<OsString> {
    let mut arguments = vec!["become".into(), command.program.into_os_string()];
    arguments.extend(command.arguments);
    arguments
}

/// Whether what was installed of a driver is to blame for its not describing itself, so that it is worth
/// making anew. A program that is not on the path, a full disk, a machine that is busy or one that cannot
/// start another process are no reason to throw it away: without a network it could not be had again.
fn is_of_the_home(error: &DriverError) -> bool {
    match error {
        DriverError::Mute { .. } => true,
        DriverError::NoProgram { program, .. } => program.contains('/'),
        _ => false,
    }
}

/// The SQLite that did the work in place of the one that was wanted; none where it was that one, as
/// far as its source and its compile options tell. Builds that differ in the compiler's flags alone
/// cannot be told apart.
fn another(wanted: &EngineRecord, measured: &Measured) -> Option<String> {
    let found = &measured.engine.source_id;
    if *found != wanted.source_id {
        return Some(format!(
            "the SQLite {found}, although {} was put in front of it",
            wanted.source_id
        ));
    }
    let found = measured.binding.as_ref()?;
    let differ = differing_options(&wanted.compile_options, &found.compile_options)?;
    Some(format!(
        "another build of the SQLite that was put in front of it, which differs in {differ}"
    ))
}

/// The compile options that only one of two builds has; none where they are the same, or where one of
/// the two does not tell its own. Both lists come of `sqlite3_compileoption_get`, which the PRAGMA
/// `compile_options` goes through, so that one library always gives the same, `COMPILER` included;
/// their order is the driver's.
fn differing_options(wanted: &[String], found: &[String]) -> Option<String> {
    if wanted.is_empty() || found.is_empty() {
        return None;
    }
    let [wanted, found] = [wanted, found].map(|options| options.iter().collect::<BTreeSet<_>>());
    let differ: Vec<&str> = wanted
        .symmetric_difference(&found)
        .map(|option| option.as_str())
        .collect();
    (!differ.is_empty()).then(|| differ.join(", "))
}

fn describe_engine(program: &Path, engine: &str) -> Result<EngineRecord, String> {
    let mut command = Command::new(program);
    command.args(["describe-engine", engine]);
    let answer = process::run(&mut command, Group::Own, &Limits::time(DESCRIBE_LIMIT));
    let answer = answer.map_err(|error| error.to_string())?;
    serde_json::from_slice(&answer.output)
        .map_err(|_| format!("the engine {engine} cannot be described: {}", answer.errors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::level::Settings;
    use lab::trial::{BindingMark, EngineMark, PROTOCOL, ReadBack};

    const MANIFEST: &str = r#"
needs = "install a shell"

[[driver]]
name      = "shell"
about     = "answers like a driver"
library   = "loaded"
workloads = ["binding-basics"]
run       = ["sh", "{home}/driver.sh"]

[[driver]]
name      = "shell-own"
about     = "carries its own SQLite"
library   = "carried"
workloads = ["binding-basics"]
run       = ["sh", "{home}/driver.sh"]

[[driver]]
name      = "shell-missing"
about     = "needs what nobody has"
library   = "carried"
workloads = ["binding-basics"]
run       = ["no-such-language", "{home}/driver.sh"]

[[driver]]
name      = "shell-to-install"
about     = "has to be installed"
library   = "carried"
workloads = ["binding-basics"]
install   = [["touch", "{home}/installed"]]
run       = ["sh", "{home}/driver.sh"]

[[driver]]
name      = "shell-broken"
about     = "does not work when it is installed"
library   = "carried"
workloads = ["binding-basics"]
install   = [["touch", "{home}/installed"]]
run       = ["sh", "{home}/no-such-driver.sh"]
"#;

    /// Works until the language is upgraded or the machine is busy.
    const DRIVER: &str = r#"
[ -e "$(dirname "$0")/upgraded" ] && exit 3
[ -e "$(dirname "$0")/busy" ] && sleep 600
case "$1" in describe)
echo '{"name":"Shell","version":"3.0","source_id":"id","compile_options":[],"defaults":{}}'
esac"#;

    struct Fixture {
        registry: Registry,
        _directories: [tempfile::TempDir; 2],
    }

    /// `program` stands for pragmark, which describes engines.
    fn fixture() -> Fixture {
        let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [folders, cache] = &directories;
        let folder = folders.path().join("shell");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("driver.toml"), MANIFEST).unwrap();
        std::fs::write(folder.join("driver.sh"), DRIVER).unwrap();
        let home = Home::below(cache.path());
        let registry = Registry::new(Some(folders.path()), home, "/bin/false".into()).unwrap();
        Fixture {
            registry,
            _directories: directories,
        }
    }

    fn spec(driver: &str, engine: &str) -> TrialSpec {
        TrialSpec {
            protocol: PROTOCOL,
            workload: "binding-basics".to_owned(),
            settings: Settings::from([("journal_mode".to_owned(), "wal".into())]),
            engine: engine.to_owned(),
            directory: "/tmp".into(),
            seed: 1,
            counting: false,
            binding: Some(BindingSpec {
                driver: driver.to_owned(),
                ..BindingSpec::default()
            }),
            postgres: None,
        }
    }

    fn refusal(spec: &TrialSpec) -> String {
        let fixture = fixture();
        let outcome = fixture.registry.prepare(spec).map(|_| ()).unwrap_err();
        assert!(matches!(outcome, Outcome::Skipped { .. }), "{outcome:?}");
        outcome.problem().unwrap()
    }

    #[test]
    fn a_trial_is_completed_for_a_program_that_knows_neither_pragmas_nor_engines() {
        let fixture = fixture();
        let prepared = fixture.registry.prepare(&spec("shell", "default")).unwrap();
        assert_eq!(prepared.arguments[0], "become");
        let binding = prepared.spec.binding.unwrap();
        assert_eq!(binding.pragmas, ["PRAGMA journal_mode = 'wal'"]);
        assert!(binding.read_back.iter().any(|name| name == "synchronous"));
        let variables: Vec<_> = prepared.environment.iter().map(|(name, _)| name).collect();
        assert_eq!(variables, ["LD_LIBRARY_PATH", "LD_PRELOAD"]);
        assert!(prepared.keep.is_some());
    }

    #[test]
    fn the_system_s_library_is_left_alone() {
        let fixture = fixture();
        let prepared = fixture.registry.prepare(&spec("shell", "system")).unwrap();
        assert!(prepared.environment.is_empty() && prepared.keep.is_none());
    }

    #[test]
    fn what_cannot_be_run_is_skipped_with_what_to_do() {
        let missing = refusal(&spec("shell-missing", "default"));
        assert!(
            missing.contains("no-such-language") && missing.contains("install a shell"),
            "{missing}"
        );
        let to_install = refusal(&spec("shell-to-install", "default"));
        assert!(
            to_install.contains("pragmark driver install shell-to-install"),
            "{to_install}"
        );
        assert!(refusal(&spec("shell-own", "system")).contains("carries a SQLite of its own"));
        assert!(refusal(&spec("perl", "default")).contains("shell-own"));
        let other = TrialSpec {
            workload: "quotes".to_owned(),
            ..spec("shell", "default")
        };
        assert!(refusal(&other).contains("quotes"));
        let counting = TrialSpec {
            counting: true,
            ..spec("shell", "default")
        };
        assert!(refusal(&counting).contains("count"));
    }

    #[test]
    fn a_driver_describes_itself_once_it_is_installed() {
        let fixture = fixture();
        let registry = &fixture.registry;
        let manifest = registry.find("shell-to-install").unwrap();
        assert!(matches!(
            registry.state(manifest),
            State::Missing(DriverError::NotInstalled(_))
        ));
        assert_eq!(registry.install(manifest, &NEVER).unwrap().name, "Shell");
        assert!(matches!(registry.state(manifest), State::Ready(_)));
        assert!(registry.remove(manifest).unwrap());
    }

    #[test]
    fn a_driver_that_has_ceased_to_work_is_installed_anew() {
        let fixture = fixture();
        let registry = &fixture.registry;
        let manifest = registry.find("shell-to-install").unwrap();
        registry.install(manifest, &NEVER).unwrap();
        let home = registry.home.of(manifest).unwrap();
        std::fs::write(home.join("upgraded"), "").unwrap();
        assert!(matches!(
            registry.state(manifest),
            State::Missing(DriverError::Mute { .. })
        ));
        assert_eq!(registry.install(manifest, &NEVER).unwrap().name, "Shell");
        assert!(matches!(registry.state(manifest), State::Ready(_)));
        assert!(!home.join("upgraded").exists());
    }

    #[test]
    fn a_driver_that_is_slow_on_a_busy_machine_is_kept_and_told_from_a_broken_one() {
        let mut fixture = fixture();
        fixture.registry.describe_limit = Duration::from_millis(200);
        let registry = &fixture.registry;
        let manifest = registry.find("shell-to-install").unwrap();
        let home = registry.home.install(manifest, &NEVER).unwrap();
        std::fs::write(home.join("busy"), "").unwrap();
        let error = registry.install(manifest, &NEVER).unwrap_err();
        assert!(matches!(error, DriverError::Slow { .. }), "{error}");
        let words = error.to_string();
        assert!(
            words.contains("within 0.2 s") && words.contains("less busy"),
            "{words}"
        );
        assert!(home.join("busy").exists());
    }

    #[test]
    fn nothing_is_left_of_a_driver_that_does_not_work_when_it_is_installed() {
        let fixture = fixture();
        let registry = &fixture.registry;
        let manifest = registry.find("shell-broken").unwrap();
        for _ in 0..2 {
            let error = registry.install(manifest, &NEVER).unwrap_err();
            assert!(matches!(error, DriverError::Mute { .. }), "{error}");
            assert!(!registry.remove(manifest).unwrap());
        }
    }

    #[test]
    fn a_home_outlives_a_language_that_is_not_on_the_path() {
        let fixture = fixture();
        let registry = &fixture.registry;
        let manifest = registry.find("shell-missing").unwrap();
        for _ in 0..2 {
            let error = registry.install(manifest, &NEVER).unwrap_err();
            assert!(matches!(error, DriverError::NoProgram { .. }), "{error}");
            assert!(registry.home.of(manifest).unwrap().is_dir());
        }
    }

    fn measured(journal_mode: &str) -> Outcome {
        Outcome::Measured(Box::new(Measured {
            engine: EngineMark {
                version: "3.0".to_owned(),
                source_id: "another".to_owned(),
            },
            connections: vec![ReadBack {
                connection: "main".to_owned(),
                pragmas: [("journal_mode".to_owned(), journal_mode.to_owned())].into(),
            }],
            binding: Some(BindingMark::default()),
            ..Measured::default()
        }))
    }

    #[test]
    fn a_setting_that_was_not_in_force_fails_the_trial() {
        let fixture = fixture();
        let own = spec("shell-own", "default");
        let good = fixture.registry.judge(&own, measured("wal"));
        assert!(matches!(good, Outcome::Measured(_)), "{good:?}");
        let bad = fixture.registry.judge(&own, measured("delete"));
        assert!(bad.problem().unwrap().contains("journal_mode"), "{bad:?}");
    }

    #[test]
    fn work_of_another_engine_than_the_one_under_test_is_no_measurement() {
        let fixture = fixture();
        let registry = &fixture.registry;
        let described = |source_id: &str| EngineRecord {
            source_id: source_id.to_owned(),
            ..EngineRecord::default()
        };
        registry.engines.lock().unwrap().extend([
            ("default".to_owned(), Ok(described("the default's"))),
            ("/same.so".to_owned(), Ok(described("another"))),
        ]);
        let judged = |engine| registry.judge(&spec("shell", engine), measured("wal"));
        let why = judged("default").problem().unwrap();
        assert!(
            why.contains("the SQLite another") && why.contains("--engine system"),
            "{why}"
        );
        for engine in ["/same.so", "system"] {
            assert!(matches!(judged(engine), Outcome::Measured(_)), "{engine}");
        }
        // The program that stands for pragmark describes nothing.
        let why = judged("/unknown.so").problem().unwrap();
        assert!(why.contains("cannot be described"), "{why}");
    }

    fn options(all: &[&str]) -> Vec<String> {
        all.iter().map(|&option| option.to_owned()).collect()
    }

    #[test]
    fn another_build_of_the_same_source_is_told_by_its_compile_options() {
        let wanted = |wanted: &[&str]| EngineRecord {
            source_id: "same".to_owned(),
            compile_options: options(wanted),
            ..EngineRecord::default()
        };
        let measured = Measured {
            engine: EngineMark {
                version: "3.0".to_owned(),
                source_id: "same".to_owned(),
            },
            binding: Some(BindingMark {
                compile_options: options(&["THREADSAFE=1", "COMPILER=gcc-12"]),
                ..BindingMark::default()
            }),
            ..Measured::default()
        };
        let tuned = another(&wanted(&["COMPILER=gcc-12", "THREADSAFE=0"]), &measured).unwrap();
        assert!(
            tuned.contains("in THREADSAFE=0, THREADSAFE=1") && !tuned.contains("COMPILER"),
            "{tuned}"
        );
        // The order is the driver's; and a build without diagnostics tells no options.
        for same in [&["COMPILER=gcc-12", "THREADSAFE=1"][..], &[]] {
            assert_eq!(another(&wanted(same), &measured), None);
        }
        let silent = Measured {
            binding: None,
            ..measured
        };
        assert_eq!(another(&wanted(&["THREADSAFE=0"]), &silent), None);
    }
}
