//! Building engines: once, whole or not at all, and recognised by what was written.
//!
//! Compilers and cargo are scripts here, so that nothing takes long and everything that can go wrong
//! does; what the compiler "compiles" is the default engine.

use pragmark_engine::build::{
    BuildError, BuildEvent, BuildName, Built, Cache, LIBRARY_FILE, Provenance, RELEASES, Tools,
    Workshop,
};
use pragmark_engine::{EngineError, Library, Source};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

const NEWEST: &str = "3.54.1";

/// A cache, a cargo and a compiler.
struct Yard {
    directory: TempDir,
    cancelled: AtomicBool,
}

impl Yard {
    /// The compiler makes the default engine, whatever it is asked to compile.
    fn new() -> Yard {
        let yard = Yard {
            directory: tempfile::tempdir().expect("a directory"),
            cancelled: AtomicBool::new(false),
        };
        yard.carry(NEWEST);
        yard.compile_with(&format!("cp {} \"$out\"", env!("PRAGMARK_DEFAULT_ENGINE")));
        yard
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn script(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("writes");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("allowed");
    }

    /// Cargo has a source that calls itself this version.
    fn carry(&self, version: &str) {
        let source = self.path("crate/sqlite3");
        fs::create_dir_all(&source).expect("a directory");
        let header = format!("#define SQLITE_VERSION \"{version}\"\n");
        fs::write(source.join("sqlite3.h"), header).expect("writes");
        fs::write(source.join("sqlite3.c"), "int x;\n").expect("writes");
        let manifest = self.path("crate/Cargo.toml");
        let answer = format!(
            r#"{{"packages":[{{"name":"libsqlite3-sys","manifest_path":"{}"}}]}}"#,
            manifest.display()
        );
        fs::write(self.path("answer.json"), answer).expect("writes");
        let answer = self.path("answer.json");
        self.script(
            "cargo",
            &format!("[ $1 = fetch ] || cat {}", answer.display()),
        );
    }

    /// The compiler says its version, notes what it is asked, and otherwise does this, `$out` being the
    /// file to be made.
    fn compile_with(&self, script: &str) {
        self.script(
            "cc",
            &format!(
                r#"case "$*" in
--version) echo "a compiler 1.0"; exit;;
-dumpmachine) echo a-machine; exit;;
*/dev/null*) exit;;
esac
echo "$*" >> {}
while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done
{script}"#,
                self.path("asked").display()
            ),
        );
    }

    /// What the compiler was asked to compile or link, a line each.
    fn asked(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("asked")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn tools(&self) -> Tools {
        Tools {
            compiler: self.path("cc").display().to_string(),
            cargo: self.path("cargo").display().to_string(),
        }
    }

    fn cache(&self) -> Cache {
        Cache::at(self.path("cache"))
    }

    fn build_with(
        &self,
        tools: Tools,
        name: &str,
        train: &(dyn Fn(&Path) -> Result<(), String> + Sync),
    ) -> Result<Built, BuildError> {
        let cache = self.cache();
        let workshop = Workshop::new(&cache, tools, train, || "now".to_owned(), &self.cancelled);
        let names = [name.parse::<BuildName>().expect("a name")];
        let mut results = workshop.build_all(&names, 2, &|_| {});
        assert_eq!(results.len(), 1);
        results.remove(0)
    }

    fn build(&self, name: &str) -> Result<Built, BuildError> {
        self.build_with(self.tools(), name, &untrained)
    }

    /// Everything in the cache but empty lock files.
    fn left(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.path("cache")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                match path.is_dir() {
                    true => folders.push(path),
                    false if path.extension().is_some_and(|end| end == "lock") => {}
                    false => found.push(path.display().to_string()),
                }
            }
        }
        found
    }
}

fn untrained(_: &Path) -> Result<(), String> {
    Err("nothing is trained here".to_owned())
}

#[test]
fn an_engine_is_compiled_once_and_then_found() {
    let yard = Yard::new();
    let built = yard.build(NEWEST).expect("built");
    assert!(built.is_new);
    let again = yard.build(NEWEST).expect("found");
    assert!(!again.is_new);
    assert_eq!(again.kept, built.kept);
    assert_eq!(yard.asked().len(), 1, "{:?}", yard.asked());

    let made = built.kept.provenance;
    let compiled = made.compiled.expect("compiled");
    assert_eq!(made.version, NEWEST);
    assert_eq!(compiled.compiler_version, "a compiler 1.0");
    assert!(compiled.arguments.contains(&"-O2".to_owned()));
    assert!(
        compiled
            .arguments
            .contains(&"-DSQLITE_ENABLE_CARRAY".to_owned())
    );
    assert!(compiled.seconds >= compiled.compiler_seconds);
    let beside = Provenance::beside(&built.kept.library).expect("readable");
    assert_eq!(beside.expect("there").sha256, made.sha256);
    let library = Library::load(&Source::Path(built.kept.library)).expect("loads");
    assert_eq!(library.identity().version, NEWEST);
}

#[test]
fn what_is_kept_is_the_library_and_how_it_was_made_and_nothing_else() {
    let yard = Yard::new();
    yard.compile_with(&format!(
        "cp {} \"$out\"; touch \"$out.tmp\"; touch \"$(dirname \"$out\")/note.gcno\"",
        env!("PRAGMARK_DEFAULT_ENGINE")
    ));
    yard.build(NEWEST).expect("built");
    let left = yard.left();
    assert!(
        left.iter().all(|path| path.contains(LIBRARY_FILE)),
        "{left:?}"
    );
}

#[test]
fn two_that_want_the_same_engine_at_the_same_time_compile_it_once() {
    let yard = Yard::new();
    yard.compile_with(&format!(
        "sleep 0.3; cp {} \"$out\"",
        env!("PRAGMARK_DEFAULT_ENGINE")
    ));
    let new = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let built = yard.build("3.54.1+lto").expect("built");
                new.lock().expect("whole").push(built.is_new);
            });
        }
    });
    let new = new.into_inner().expect("whole");
    assert_eq!(new.iter().filter(|new| **new).count(), 1, "{new:?}");
    assert_eq!(yard.asked().len(), 1);
}

#[test]
fn a_compiler_that_fails_is_quoted_and_leaves_nothing() {
    let yard = Yard::new();
    yard.compile_with("touch \"$out\"; echo 'sqlite3.c:1: error: no such thing' >&2; exit 4");
    let error = yard.build(NEWEST).expect_err("fails").to_string();
    for part in ["no such thing", "exit status: 4", "-DSQLITE_ENABLE_FTS5"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(yard.left().is_empty(), "{:?}", yard.left());
}

#[test]
fn one_build_that_fails_keeps_no_other_from_being_built() {
    let yard = Yard::new();
    yard.compile_with(&format!(
        "grep -q flto {} && exit 1; cp {} \"$out\"",
        yard.path("asked").display(),
        env!("PRAGMARK_DEFAULT_ENGINE")
    ));
    let cache = yard.cache();
    let never = AtomicBool::new(false);
    let workshop = Workshop::new(&cache, yard.tools(), &untrained, String::new, &never);
    let names = ["3.54.1", "3.54.1+lto"].map(|name| name.parse::<BuildName>().expect("a name"));
    let events = Mutex::new(Vec::new());
    let results = workshop.build_all(&names, 1, &|event| {
        let word = match event {
            BuildEvent::Begins(index, _) => format!("begins {index}"),
            BuildEvent::Done(index, _, _) => format!("done {index}"),
            BuildEvent::Failed(index, _, _) => format!("failed {index}"),
        };
        events.lock().expect("whole").push(word);
    });
    assert!(results[0].is_ok());
    assert!(matches!(results[1], Err(BuildError::Compiler { .. })));
    let events = events.into_inner().expect("whole");
    assert_eq!(events, ["begins 0", "done 0", "begins 1", "failed 1"]);
}

#[test]
fn as_many_are_compiled_at_a_time_as_there_are_jobs() {
    let yard = Yard::new();
    // Each compiler waits for another one to be at work, for ten seconds at most.
    yard.compile_with(&format!(
        "touch {at_work}-$$; tries=0; while [ $(ls {at_work}-* | wc -l) -lt 2 ]; do \
         tries=$((tries + 1)); [ $tries -gt 200 ] && exit 1; sleep 0.05; done; cp {library} \"$out\"",
        at_work = yard.path("at-work").display(),
        library = env!("PRAGMARK_DEFAULT_ENGINE")
    ));
    let cache = yard.cache();
    let never = AtomicBool::new(false);
    let workshop = Workshop::new(&cache, yard.tools(), &untrained, String::new, &never);
    let names = ["3.54.1", "3.54.1+lto"].map(|name| name.parse::<BuildName>().expect("a name"));
    for result in workshop.build_all(&names, 2, &|_| {}) {
        result.expect("built beside the other");
    }
}

#[test]
fn a_library_of_another_version_is_not_kept() {
    let yard = Yard::new();
    let older = RELEASES[3].version;
    yard.carry(older);
    let error = yard.build(older).expect_err("another version");
    assert!(matches!(error, BuildError::OtherVersion { .. }), "{error}");
    assert!(yard.left().is_empty(), "{:?}", yard.left());
}

#[test]
fn what_is_no_sqlite_is_not_kept() {
    let yard = Yard::new();
    yard.compile_with("echo junk > \"$out\"");
    let error = yard.build(NEWEST).expect_err("junk");
    assert!(matches!(error, BuildError::Engine(_)), "{error}");
    assert!(yard.left().is_empty(), "{:?}", yard.left());
}

#[test]
fn a_library_that_was_changed_is_not_loaded_and_built_anew() {
    let yard = Yard::new();
    let library = yard.build(NEWEST).expect("built").kept.library;
    let mut bytes = fs::read(&library).expect("reads");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&library, &bytes).expect("writes");
    let error = Library::load(&Source::Path(library.clone())).expect_err("changed");
    assert!(matches!(error, EngineError::Damaged { .. }), "{error}");

    assert!(yard.build(NEWEST).expect("built").is_new);
    Library::load(&Source::Path(library)).expect("loads");
}

#[test]
fn stopping_ends_the_compiler_and_leaves_nothing() {
    let yard = Yard::new();
    let begun = yard.path("begun");
    yard.compile_with(&format!(
        "touch \"$out\" {}; exec sleep 100",
        begun.display()
    ));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !begun.exists() {
                std::thread::yield_now();
            }
            yard.cancelled.store(true, Ordering::Relaxed);
        });
        let error = yard.build(NEWEST).expect_err("stopped");
        assert!(matches!(error, BuildError::Cancelled), "{error}");
    });
    assert!(yard.left().is_empty(), "{:?}", yard.left());
}

#[test]
fn the_work_of_a_process_that_was_killed_is_cleared_away() {
    let yard = Yard::new();
    let built = yard.build(NEWEST).expect("built").kept.library;
    let key = built
        .parent()
        .expect("a folder")
        .file_name()
        .expect("a key");
    let half = yard
        .path("cache/building")
        .join(format!("{NEWEST}-{}-killed", key.to_string_lossy()));
    fs::create_dir_all(&half).expect("a folder");
    fs::write(half.join("sqlite3.o"), "half").expect("writes");
    fs::remove_file(&built).expect("removes");
    yard.build(NEWEST).expect("built anew");
    assert!(!half.exists());
}

#[test]
fn another_compiler_or_other_options_make_another_library_beside_the_first() {
    let yard = Yard::new();
    let first = yard.build(NEWEST).expect("built").kept.library;
    let text = fs::read_to_string(yard.path("cc")).expect("reads");
    yard.script(
        "newer-cc",
        &text.replace("a compiler 1.0", "a compiler 2.0"),
    );
    let newer = Tools {
        compiler: yard.path("newer-cc").display().to_string(),
        ..yard.tools()
    };
    let second = yard
        .build_with(newer, NEWEST, &untrained)
        .expect("built")
        .kept
        .library;
    assert_ne!(first, second);
    assert!(first.exists() && second.exists());
    let other = yard.build("3.54.1+threadsafe0").expect("built");
    assert_ne!(other.kept.library, first);
}

#[test]
fn without_a_compiler_what_was_built_before_is_found_and_nothing_else() {
    let yard = Yard::new();
    let library = yard.build(NEWEST).expect("built").kept.library;
    let without = || Tools {
        compiler: "/no/such/cc".to_owned(),
        ..yard.tools()
    };
    let found = yard
        .build_with(without(), NEWEST, &untrained)
        .expect("found");
    assert_eq!((found.is_new, found.kept.library), (false, library));
    let error = yard
        .build_with(without(), "3.54.1+lto", &untrained)
        .expect_err("no compiler");
    assert!(error.to_string().contains("/no/such/cc"), "{error}");
}

#[test]
fn without_cargo_the_error_names_it() {
    let yard = Yard::new();
    let without = Tools {
        cargo: "/no/such/cargo".to_owned(),
        ..yard.tools()
    };
    let error = yard
        .build_with(without, NEWEST, &untrained)
        .expect_err("no cargo");
    assert!(error.to_string().contains("/no/such/cargo"), "{error}");
    assert!(yard.left().is_empty(), "{:?}", yard.left());
}

#[test]
fn a_profile_guided_build_trains_what_writes_profiles_and_compiles_to_the_same_object_again() {
    let yard = Yard::new();
    let trained = Mutex::new(Vec::new());
    let train = |library: &Path| {
        assert!(library.is_file());
        trained.lock().expect("whole").push(library.to_owned());
        Ok(())
    };
    let built = yard
        .build_with(yard.tools(), "3.54.1+pgo", &train)
        .expect("built");
    let compiled = built.kept.provenance.compiled.expect("compiled");
    assert!(compiled.profile_guided);
    assert_eq!(trained.into_inner().expect("whole").len(), 1);

    let asked = yard.asked();
    let object = |line: &str| line.rsplit(" -o ").next().map(str::to_owned);
    assert_eq!(asked.len(), 4, "{asked:?}");
    assert!(asked[0].contains("-fprofile-generate"));
    assert!(asked[2].contains("-Werror=missing-profile"));
    assert_eq!(object(&asked[0]), object(&asked[2]));
    let library = Library::load(&Source::Path(built.kept.library)).expect("loads");
    assert_eq!(library.identity().version, NEWEST);
}

/// With the machine's own compiler, because only a real one can leave a profile out of account.
#[test]
fn a_profile_that_is_missing_is_an_error_and_not_a_build_without_one() {
    let yard = Yard::new();
    let source = yard.path("crate/sqlite3/sqlite3.c");
    fs::write(&source, "int sqlite3_next(int x) { return x + 1; }\n").expect("writes");
    let tools = Tools {
        compiler: std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()),
        ..yard.tools()
    };
    let idle = |_: &Path| Ok(());
    match yard.build_with(tools, "3.54.1+pgo", &idle) {
        Err(BuildError::ProfileNeedsGcc { compiler }) => {
            eprintln!("skipped: {compiler} keeps profiles another way");
        }
        Err(BuildError::Compiler { said, .. }) => {
            assert!(said.contains("missing-profile"), "{said}");
        }
        other => panic!("{other:?}"),
    }
    assert!(yard.left().is_empty(), "{:?}", yard.left());
}

#[test]
fn a_training_that_fails_fails_the_build_and_leaves_nothing() {
    let yard = Yard::new();
    let error = yard.build("3.54.1+pgo").expect_err("untrained");
    assert!(error.to_string().contains("nothing is trained"), "{error}");
    assert!(yard.left().is_empty(), "{:?}", yard.left());
}

#[test]
fn a_compiler_whose_profiles_are_others_is_refused_for_profile_guided_builds_only() {
    let yard = Yard::new();
    let text = fs::read_to_string(yard.path("cc")).expect("reads");
    yard.script("cc", &text.replace("a compiler", "a clang version"));
    let error = yard.build("3.54.1+pgo").expect_err("clang");
    assert!(
        matches!(error, BuildError::ProfileNeedsGcc { .. }),
        "{error}"
    );
    yard.build(NEWEST).expect("built");
}

#[test]
fn kept_engines_are_listed_and_removed_by_name() {
    let yard = Yard::new();
    yard.build(NEWEST).expect("built");
    yard.build("3.54.1+lto").expect("built");
    let cache = yard.cache();
    let added = cache.add(
        "mine",
        Path::new(env!("PRAGMARK_DEFAULT_ENGINE")),
        "now".to_owned(),
        |_| Ok::<_, BuildError>((NEWEST.to_owned(), "an id".to_owned())),
    );
    added.expect("added");
    let names = || -> Vec<String> {
        let all = cache.all().into_iter();
        all.map(|kept| kept.expect("readable").provenance.name)
            .collect()
    };
    assert_eq!(names(), [NEWEST, "3.54.1+lto", "mine"]);
    let remove = |name: &str| {
        cache
            .remove(&name.parse().expect("a name"))
            .expect("removes")
    };
    assert_eq!(remove("3.54.1+lto"), 1);
    assert_eq!(remove("mine"), 1);
    assert_eq!(remove("mine"), 0);
    assert_eq!(remove("system"), 0);
    assert_eq!(names(), [NEWEST]);
    assert_eq!(cache.remove_all().expect("removes"), 1);
    assert!(names().is_empty());
}

#[test]
fn a_name_can_be_given_once_and_must_be_one() {
    let yard = Yard::new();
    let cache = yard.cache();
    let add = |name: &str, library: &str| {
        cache.add(name, Path::new(library), "now".to_owned(), |_| {
            Ok::<_, BuildError>((NEWEST.to_owned(), "an id".to_owned()))
        })
    };
    let own = env!("PRAGMARK_DEFAULT_ENGINE");
    assert!(matches!(
        add("3.46.0", own),
        Err(BuildError::NotAName { .. })
    ));
    assert!(matches!(
        add("mine", "/no/file"),
        Err(BuildError::Io { .. })
    ));
    assert!(yard.left().is_empty());
    add("mine", own).expect("added");
    assert!(matches!(
        add("mine", own),
        Err(BuildError::NameTaken { .. })
    ));
}
