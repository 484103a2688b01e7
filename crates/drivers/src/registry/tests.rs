//! Drivers made of shell scripts, found, installed, asked and judged.

use super::trial::another;
use super::*;
use lab::level::Settings;
use lab::trial::{
    BindingMark, BindingSpec, EngineMark, Measured, Outcome, PROTOCOL, ReadBack, TrialSpec,
};
use runner::Bindings;

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
    Fixture { registry, _directories: directories }
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
        binding: Some(BindingSpec { driver: driver.to_owned(), ..BindingSpec::default() }),
        postgres: None,
        confined: false,
        tests_open: false,
        artifacts: None,
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
    assert!(to_install.contains("pragmark driver install shell-to-install"), "{to_install}");
    assert!(refusal(&spec("shell-own", "system")).contains("carries its own SQLite"));
    assert!(refusal(&spec("perl", "default")).contains("shell-own"));
    let other = TrialSpec { workload: "quotes".to_owned(), ..spec("shell", "default") };
    assert!(refusal(&other).contains("quotes"));
    let counting = TrialSpec { counting: true, ..spec("shell", "default") };
    assert!(refusal(&counting).contains("count"));
}

#[test]
fn a_driver_describes_itself_once_it_is_installed() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let manifest = registry.find("shell-to-install").unwrap();
    assert!(matches!(registry.describe(manifest), Err(DriverError::NotInstalled(..))));
    assert_eq!(registry.install(manifest, &NEVER).unwrap().name, "Shell");
    assert!(registry.describe(manifest).is_ok());
    assert!(registry.home.remove(manifest).unwrap());
}

#[test]
fn a_driver_that_has_ceased_to_work_is_installed_anew() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let manifest = registry.find("shell-to-install").unwrap();
    registry.install(manifest, &NEVER).unwrap();
    let home = registry.home.of(manifest).unwrap();
    std::fs::write(home.join("upgraded"), "").unwrap();
    assert!(matches!(registry.describe(manifest), Err(DriverError::Mute(..))));
    assert_eq!(registry.install(manifest, &NEVER).unwrap().name, "Shell");
    assert!(registry.describe(manifest).is_ok());
    assert!(!home.join("upgraded").exists());
}

#[test]
fn a_driver_that_is_slow_on_a_busy_machine_is_kept_unlike_a_broken_one() {
    let mut fixture = fixture();
    fixture.registry.describe_limit = Duration::from_millis(200);
    let registry = &fixture.registry;
    let manifest = registry.find("shell-to-install").unwrap();
    let home = registry.home.install(manifest, &NEVER).unwrap();
    std::fs::write(home.join("busy"), "").unwrap();
    let error = registry.install(manifest, &NEVER).unwrap_err();
    let words = error.to_string();
    assert!(words.contains("within 0.2 s") && words.contains("less busy"), "{words}");
    assert!(home.join("busy").exists());
}

#[test]
fn nothing_is_left_of_a_driver_that_does_not_work_when_it_is_installed() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let manifest = registry.find("shell-broken").unwrap();
    for _ in 0..2 {
        let error = registry.install(manifest, &NEVER).unwrap_err();
        assert!(matches!(error, DriverError::Mute(..)), "{error}");
        assert!(!registry.home.remove(manifest).unwrap());
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
        engine: EngineMark { version: "3.0".to_owned(), source_id: "another".to_owned() },
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
    assert!(why.contains("the SQLite another") && why.contains("--engine system"), "{why}");
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
fn another_build_of_the_same_source_is_recognised_by_its_compile_options() {
    let wanted = |wanted: &[&str]| EngineRecord {
        source_id: "same".to_owned(),
        compile_options: options(wanted),
        ..EngineRecord::default()
    };
    let measured = Measured {
        engine: EngineMark { version: "3.0".to_owned(), source_id: "same".to_owned() },
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
    let silent = Measured { binding: None, ..measured };
    assert_eq!(another(&wanted(&["THREADSAFE=0"]), &silent), None);
}

#[test]
fn a_folder_names_all_of_its_drivers_and_a_driver_only_itself() {
    let cache = tempfile::tempdir().unwrap();
    let registry =
        Registry::new(None, Home::below(cache.path()), PathBuf::from("pragmark")).unwrap();
    let names = |name: &str| -> Vec<String> {
        registry.named(name).unwrap().iter().map(|manifest| manifest.name.clone()).collect()
    };
    assert_eq!(names("go"), ["go-mattn", "go-mattn-shared", "go-modernc"]);
    assert_eq!(names("go-mattn"), ["go-mattn"]);
    let error = registry.named("g").unwrap_err().to_string();
    assert!(error.contains("go-mattn"), "{error}");
}
