//! Engines: listed, built, added, removed, and used as a factor.
//!
//! The compiler is a script that hands out the built-in engine, and cargo one that knows a source, so
//! that no story waits for a compilation or a network.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use super::laboratory::{Answer, Laboratory};

/// Engines as a factor: built in, built, one that cannot be compiled, and one that is nowhere.
const ENGINES: &str = r#"
id = "engines"
question = "Which engine?"
workload = "bulk-insert"
base = { rows = 500, synchronous = "off" }
factors = { engine = ["default", "3.54.1", "3.54.1+lto", "elsewhere"] }
[design]
kind = "one-at-a-time"
baseline = { engine = "default" }
stopping = { rounds = 3, max_rounds = 3 }
"#;

/// A laboratory with a compiler and a cargo of its own.
struct Yard(Laboratory);

impl Yard {
    fn new() -> Yard {
        let yard = Yard(Laboratory::new());
        yard.0.write("engines.toml", ENGINES);
        let library = yard.built_in();
        std::fs::create_dir_all(yard.path("crate/sqlite3")).unwrap();
        yard.0.write("crate/sqlite3/sqlite3.h", "#define SQLITE_VERSION \"3.54.1\"\n");
        yard.0.write("crate/sqlite3/sqlite3.c", "int x;\n");
        let manifest = yard.path("crate/Cargo.toml");
        let answer = format!(
            r#"{{"packages":[{{"name":"libsqlite3-sys","manifest_path":"{}"}}]}}"#,
            manifest.display()
        );
        yard.0.write("answer.json", &answer);
        yard.script(
            "cargo",
            &format!("[ $1 = fetch ] || cat {}", yard.path("answer.json").display()),
        );
        yard.script(
            "cc",
            &format!(
                r#"case "$*" in
--version) echo "a compiler 1.0"; exit;;
-dumpmachine) echo a-machine; exit;;
*/dev/null*) exit;;
*-flto*) echo "sqlite3.c:7: error: no linking today" >&2; exit 1;;
esac
echo compiled >> {}
while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done
cp {} "$out""#,
                yard.path("compiled").display(),
                library.display()
            ),
        );
        yard
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn script(&self, name: &str, text: &str) {
        self.0.write(name, &format!("#!/bin/sh\n{text}\n"));
        let allowed = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.path(name), allowed).unwrap();
    }

    /// The built-in engine as a file.
    fn built_in(&self) -> PathBuf {
        let path = self.path("built-in.so");
        let bytes = engine::Source::Embedded.bytes().unwrap().unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn pragmark(&self, arguments: &[&str]) -> Answer {
        let cc = self.path("cc").display().to_string();
        self.with_compiler(&cc, arguments)
    }

    fn with_compiler(&self, compiler: &str, arguments: &[&str]) -> Answer {
        let cargo = self.path("cargo").display().to_string();
        let variables = [("CC", compiler), ("CARGO", &cargo)];
        self.0.pragmark_with_variables(&variables, arguments)
    }

    fn compiled(&self) -> usize {
        let text = std::fs::read_to_string(self.path("compiled")).unwrap_or_default();
        text.lines().count()
    }
}

#[test]
fn an_engine_is_built_once_listed_shown_and_removed() {
    let yard = Yard::new();
    yard.pragmark(&["engine", "show", "3.54.1"])
        .exits(0)
        .says(&["not built yet", "libsqlite3-sys 0.39.1", "-O2"]);
    let built = yard.pragmark(&["engine", "build", "3.54.1"]).exits(0);
    let line = built.stdout();
    let path = line.trim().strip_prefix("3.54.1\t").unwrap().to_owned();
    assert!(std::path::Path::new(&path).is_file(), "{path}");
    assert!(built.stderr().contains("built in"), "{}", built.stderr());

    let again = yard.pragmark(&["engine", "build", "3.54.1+default"]).exits(0);
    assert_eq!(again.stdout(), line);
    assert_eq!((again.stderr().as_str(), yard.compiled()), ("", 1));

    yard.pragmark(&["engine", "list"]).exits(0).says(&[
        "default: SQLite 3.54.1, built into pragmark",
        "3.54.1: SQLite 3.54.1, built ",
        "a compiler 1.0",
        "3.35.4",
        "recommended",
    ]);
    let json = yard.pragmark(&["engine", "list", "--json"]).exits(0).stdout();
    let json: Value = serde_json::from_str(&json).unwrap();
    let kept = json["at_hand"].as_array().unwrap().last().unwrap();
    assert_eq!(kept["path"], path.as_str());
    assert_eq!(kept["provenance"]["sha256"].as_str().unwrap().len(), 64);

    yard.pragmark(&["engine", "show", "3.54.1"])
        .exits(0)
        .says(&["source id: 2026-", &path, "a compiler 1.0", "-DSQLITE_ENABLE_FTS5"]);
    yard.pragmark(&["engine", "remove", "3.54.1"]).exits(0).says(&["removed"]);
    assert!(!std::path::Path::new(&path).exists());
    yard.pragmark(&["engine", "remove", "3.54.1"]).exits(2).complains(&["3.54.1", "engine list"]);
}

#[test]
fn engines_are_a_factor_and_those_that_cannot_be_had_are_skipped_with_the_reason() {
    let yard = Yard::new();
    let run = yard.pragmark(&["run", "engines.toml", "--out", "run"]).exits(0);
    run.complains(&["3.54.1+lto", "no linking today", "elsewhere", "are skipped"]);
    let trials = yard.0.trials("run");
    let of = |variant: &str| -> Vec<&Value> {
        let variant = format!("engine={variant}");
        trials.iter().filter(|trial| trial["variant"] == variant).collect()
    };
    for variant in ["default", "3.54.1"] {
        assert!(of(variant).len() >= 3, "{variant}");
        for trial in of(variant) {
            assert_eq!(trial["outcome"]["measured"]["engine"]["version"], "3.54.1");
        }
    }
    for (variant, why) in [("3.54.1+lto", "no linking today"), ("elsewhere", "no engine")] {
        let skipped = of(variant)[0]["outcome"]["skipped"]["why"].as_str().unwrap();
        assert!(skipped.contains(why), "{skipped}");
    }
    let environment: Value = serde_json::from_str(&yard.0.read("run/environment.json")).unwrap();
    let engines = environment["engines"].as_array().unwrap();
    let named = |name: &str| engines.iter().find(|engine| engine["name"] == name).unwrap();
    assert_eq!(engines.len(), 4);
    let built = named("3.54.1");
    assert_eq!(built["provenance"]["compiler"], "a compiler 1.0");
    assert!(named("3.54.1+lto")["problem"].as_str().unwrap().contains("flto"));
    let page = yard.0.read("run/report.html");
    let hash = built["provenance"]["sha256"].as_str().unwrap();
    assert!(page.contains(hash) && page.contains("not usable"));
}

#[test]
fn a_run_goes_on_with_the_engines_it_began_with_and_with_no_others() {
    let yard = Yard::new();
    let run = |more: &[&str]| yard.pragmark(&[&["run"], more].concat());
    run(&["small.toml", "--engine", "3.54.1", "--out", "run"]).exits(0);
    run(&["--resume", "run"]).exits(0);
    yard.pragmark(&["engine", "remove", "--all"]).exits(0);
    run(&["--resume", "run"])
        .exits(3)
        .complains(&["3.54.1", "can no longer be used", "start a new run"]);
}

#[test]
fn misspelt_engines_are_told_with_the_nearest_before_anything_is_begun() {
    let yard = Yard::new();
    for (name, parts) in [
        ("3.46.1", &["3.46.1", "did you mean `3.46.0`"][..]),
        ("3.46.0+recomended", &["recomended", "did you mean `recommended`"]),
        ("system+lto", &["system", "already compiled"]),
    ] {
        yard.pragmark(&["run", "small.toml", "--engine", name, "--out", "run"])
            .exits(2)
            .complains(parts);
        yard.pragmark(&["engine", "build", name]).exits(2).complains(parts);
    }
    let misspelt = ENGINES.replace("elsewhere", "3.46.1");
    yard.0.write("misspelt.toml", &misspelt);
    yard.pragmark(&["run", "misspelt.toml", "--out", "run"])
        .exits(2)
        .complains(&["misspelt.toml", "3.46.1", "3.46.0"]);
    yard.pragmark(&["engine", "build", "system"]).exits(2).complains(&["system"]);
    yard.pragmark(&["run", "small.toml", "--engine", "elsewhere", "--out", "run"])
        .exits(3)
        .complains(&["elsewhere", "engine list"]);
    assert!(!yard.path("run").exists());
    assert_eq!(yard.compiled(), 0);
}

#[test]
fn what_building_lacks_is_told_with_how_to_get_it() {
    let yard = Yard::new();
    yard.with_compiler("/no/such/cc", &["engine", "build", "3.54.1"])
        .exits(3)
        .complains(&["/no/such/cc", "apt install build-essential"]);
    std::fs::remove_file(yard.path("cargo")).unwrap();
    yard.pragmark(&["engine", "build", "3.54.1"])
        .exits(3)
        .complains(&["cargo cannot be used: cannot start", "rustup.rs"]);
    assert_eq!(yard.compiled(), 0);
}

#[test]
fn a_library_is_added_under_a_name_and_one_that_is_not_sqlite_is_not() {
    let yard = Yard::new();
    yard.pragmark(&["engine", "add", "small.toml", "mine"])
        .exits(3)
        .complains(&["small.toml", "not a shared library"]);
    yard.pragmark(&["engine", "add", "built-in.so", "3.1"])
        .exits(2)
        .complains(&["3.1", "lower-case"]);
    yard.pragmark(&["engine", "add", "built-in.so", "mine"])
        .exits(0)
        .says(&["SQLite 3.54.1", "--engine mine"]);
    std::fs::remove_file(yard.path("built-in.so")).unwrap();
    yard.pragmark(&["run", "small.toml", "--engine", "mine", "--out", "run"]).exits(0);
    yard.pragmark(&["engine", "list"]).exits(0).says(&["mine: SQLite 3.54.1, added "]);
    yard.pragmark(&["engine", "add", "small.toml", "mine"])
        .exits(2)
        .complains(&["already been added", "engine remove mine"]);
}

#[test]
fn an_engine_that_was_changed_is_not_used() {
    let yard = Yard::new();
    let built = yard.pragmark(&["engine", "add", "built-in.so", "mine"]).exits(0);
    let text = built.stdout();
    let path = text.lines().next().unwrap().rsplit(", ").next().unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    bytes.push(0);
    std::fs::write(path, bytes).unwrap();
    yard.pragmark(&["run", "small.toml", "--engine", "mine", "--out", "run"])
        .exits(3)
        .complains(&["mine", "damaged", "SHA-256"]);
    yard.pragmark(&["engine", "list"]).exits(0).says(&["mine: not usable"]);
}
