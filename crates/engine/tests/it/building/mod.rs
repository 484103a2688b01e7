//! Building engines: once, completely or not at all, and recognised by their provenance.
//!
//! Compilers and cargo are scripts here, so that nothing takes long and everything that can go wrong
//! does; what the compiler "compiles" is the default engine.

mod fixture;

use fixture::Fixture;
use pragmark_engine::build::{
    BuildError, BuildEvent, BuildName, Builder, LIBRARY_FILE, Provenance, RELEASES, Tools,
};
use pragmark_engine::{Library, Source};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

const NEWEST: &str = "3.54.1";

fn untrained(_: &Path) -> Result<(), String> {
    Err("nothing is trained here".to_owned())
}

#[test]
fn an_engine_is_compiled_once_and_then_found() {
    let fixture = Fixture::new();
    let built = fixture.build(NEWEST).expect("built");
    assert!(built.is_new);
    let again = fixture.build(NEWEST).expect("found");
    assert!(!again.is_new);
    assert_eq!(again.kept, built.kept);
    assert_eq!(fixture.commands().len(), 1, "{:?}", fixture.commands());

    let made = built.kept.provenance;
    let compiled = made.compiled.expect("compiled");
    assert_eq!(made.version, NEWEST);
    assert_eq!(compiled.compiler_version, "a compiler 1.0");
    assert!(compiled.arguments.contains(&"-O2".to_owned()));
    assert!(compiled.arguments.contains(&"-DSQLITE_ENABLE_CARRAY".to_owned()));
    assert!(compiled.seconds >= compiled.compiler_seconds);
    let provenance = Provenance::read(&built.kept.library).expect("readable");
    assert_eq!(provenance.expect("there").sha256, made.sha256);
    let library = Library::load(&Source::Path(built.kept.library)).expect("loads");
    assert_eq!(library.identity().version, NEWEST);
}

#[test]
fn what_is_kept_is_the_library_and_how_it_was_made_and_nothing_else() {
    let fixture = Fixture::new();
    fixture.compile_with(&format!(
        "cp {} \"$out\"; touch \"$out.tmp\"; touch \"$(dirname \"$out\")/note.gcno\"",
        env!("PRAGMARK_DEFAULT_ENGINE")
    ));
    fixture.build(NEWEST).expect("built");
    let left = fixture.left();
    assert!(left.iter().all(|path| path.contains(LIBRARY_FILE)), "{left:?}");
}

#[test]
fn two_that_want_the_same_engine_at_the_same_time_compile_it_once() {
    let fixture = Fixture::new();
    fixture.compile_with(&format!("sleep 0.3; cp {} \"$out\"", env!("PRAGMARK_DEFAULT_ENGINE")));
    let new = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let built = fixture.build("3.54.1+lto").expect("built");
                new.lock().expect("whole").push(built.is_new);
            });
        }
    });
    let new = new.into_inner().expect("whole");
    assert_eq!(new.iter().filter(|new| **new).count(), 1, "{new:?}");
    assert_eq!(fixture.commands().len(), 1);
}

#[test]
fn a_compiler_that_fails_is_quoted_and_leaves_nothing() {
    let fixture = Fixture::new();
    fixture.compile_with("touch \"$out\"; echo 'sqlite3.c:1: error: no such thing' >&2; exit 4");
    let error = fixture.build(NEWEST).expect_err("fails").to_string();
    for part in ["no such thing", "exit code 4", "-DSQLITE_ENABLE_FTS5"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(fixture.left().is_empty(), "{:?}", fixture.left());
}

#[test]
fn one_build_that_fails_keeps_no_other_from_being_built() {
    let fixture = Fixture::new();
    fixture.compile_with(&format!(
        "grep -q flto {} && exit 1; cp {} \"$out\"",
        fixture.path("commands").display(),
        env!("PRAGMARK_DEFAULT_ENGINE")
    ));
    let cache = fixture.cache();
    let never = AtomicBool::new(false);
    let builder = Builder::new(&cache, fixture.tools(), &untrained, String::new, &never);
    let names = ["3.54.1", "3.54.1+lto"].map(|name| name.parse::<BuildName>().expect("a name"));
    let events = Mutex::new(Vec::new());
    let results = builder.build_all(&names, 1, &|event| {
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
    let fixture = Fixture::new();
    // Each compiler waits for another one to be at work, for ten seconds at most.
    fixture.compile_with(&format!(
        "touch {at_work}-$$; tries=0; while [ $(ls {at_work}-* | wc -l) -lt 2 ]; do \
         tries=$((tries + 1)); [ $tries -gt 200 ] && exit 1; sleep 0.05; done; cp {library} \"$out\"",
        at_work = fixture.path("at-work").display(),
        library = env!("PRAGMARK_DEFAULT_ENGINE")
    ));
    let cache = fixture.cache();
    let never = AtomicBool::new(false);
    let builder = Builder::new(&cache, fixture.tools(), &untrained, String::new, &never);
    let names = ["3.54.1", "3.54.1+lto"].map(|name| name.parse::<BuildName>().expect("a name"));
    for result in builder.build_all(&names, 2, &|_| {}) {
        result.expect("built provenance the other");
    }
}

#[test]
fn a_library_of_another_version_is_not_kept() {
    let fixture = Fixture::new();
    let older = RELEASES[3].version;
    fixture.offer(older);
    let error = fixture.build(older).expect_err("another version");
    assert!(error.to_string().contains(" carries SQLite "), "{error}");
    assert!(fixture.left().is_empty(), "{:?}", fixture.left());
}

#[test]
fn what_is_no_sqlite_is_not_kept() {
    let fixture = Fixture::new();
    fixture.compile_with("echo junk > \"$out\"");
    let error = fixture.build(NEWEST).expect_err("junk");
    assert!(matches!(error, BuildError::Engine(_)), "{error}");
    assert!(fixture.left().is_empty(), "{:?}", fixture.left());
}

#[test]
fn a_library_that_was_changed_is_not_loaded_and_built_anew() {
    let fixture = Fixture::new();
    let library = fixture.build(NEWEST).expect("built").kept.library;
    let mut bytes = fs::read(&library).expect("reads");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&library, &bytes).expect("writes");
    let error = Library::load(&Source::Path(library.clone())).expect_err("changed");
    assert!(error.to_string().contains("is damaged: "), "{error}");

    assert!(fixture.build(NEWEST).expect("built").is_new);
    Library::load(&Source::Path(library)).expect("loads");
}

#[test]
fn stopping_ends_the_compiler_and_leaves_nothing() {
    let fixture = Fixture::new();
    let begun = fixture.path("begun");
    fixture.compile_with(&format!("touch \"$out\" {}; exec sleep 100", begun.display()));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !begun.exists() {
                std::thread::yield_now();
            }
            fixture.cancelled.store(true, Ordering::Relaxed);
        });
        let error = fixture.build(NEWEST).expect_err("stopped");
        assert!(matches!(error, BuildError::Cancelled), "{error}");
    });
    assert!(fixture.left().is_empty(), "{:?}", fixture.left());
}

#[test]
fn the_work_of_a_process_that_was_killed_is_cleared_away() {
    let fixture = Fixture::new();
    let built = fixture.build(NEWEST).expect("built").kept.library;
    let key = built.parent().expect("a folder").file_name().expect("a key");
    let half =
        fixture.path("cache/building").join(format!("{NEWEST}-{}-killed", key.to_string_lossy()));
    fs::create_dir_all(&half).expect("a folder");
    fs::write(half.join("sqlite3.o"), "half").expect("writes");
    fs::remove_file(&built).expect("removes");
    fixture.build(NEWEST).expect("built anew");
    assert!(!half.exists());
}

#[test]
fn another_compiler_or_other_options_make_another_library_beside_the_first() {
    let fixture = Fixture::new();
    let first = fixture.build(NEWEST).expect("built").kept.library;
    let text = fs::read_to_string(fixture.path("cc")).expect("reads");
    fixture.script("newer-cc", &text.replace("a compiler 1.0", "a compiler 2.0"));
    let newer =
        Tools { compiler: fixture.path("newer-cc").display().to_string(), ..fixture.tools() };
    let second = fixture.build_with(newer, NEWEST, &untrained).expect("built").kept.library;
    assert_ne!(first, second);
    assert!(first.exists() && second.exists());
    let other = fixture.build("3.54.1+threadsafe0").expect("built");
    assert_ne!(other.kept.library, first);
}

#[test]
fn without_a_compiler_what_was_built_before_is_found_and_nothing_else() {
    let fixture = Fixture::new();
    let library = fixture.build(NEWEST).expect("built").kept.library;
    let without = || Tools { compiler: "/no/such/cc".to_owned(), ..fixture.tools() };
    let found = fixture.build_with(without(), NEWEST, &untrained).expect("found");
    assert_eq!((found.is_new, found.kept.library), (false, library));
    let error = fixture.build_with(without(), "3.54.1+lto", &untrained).expect_err("no compiler");
    assert!(error.to_string().contains("/no/such/cc"), "{error}");
}

#[test]
fn without_cargo_the_error_names_it() {
    let fixture = Fixture::new();
    let without = Tools { cargo: "/no/such/cargo".to_owned(), ..fixture.tools() };
    let error = fixture.build_with(without, NEWEST, &untrained).expect_err("no cargo");
    assert!(error.to_string().contains("/no/such/cargo"), "{error}");
    assert!(fixture.left().is_empty(), "{:?}", fixture.left());
}

#[test]
fn a_profile_guided_build_trains_what_writes_profiles_and_compiles_to_the_same_object_again() {
    let fixture = Fixture::new();
    let trained = Mutex::new(Vec::new());
    let train = |library: &Path| {
        assert!(library.is_file());
        trained.lock().expect("whole").push(library.to_owned());
        Ok(())
    };
    let built = fixture.build_with(fixture.tools(), "3.54.1+pgo", &train).expect("built");
    let compiled = built.kept.provenance.compiled.expect("compiled");
    assert!(compiled.profile_guided);
    assert_eq!(trained.into_inner().expect("whole").len(), 1);

    let asked = fixture.commands();
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
    let fixture = Fixture::new();
    let source = fixture.path("crate/sqlite3/sqlite3.c");
    fs::write(&source, "int sqlite3_next(int x) { return x + 1; }\n").expect("writes");
    let tools = Tools {
        compiler: std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()),
        ..fixture.tools()
    };
    let idle = |_: &Path| Ok(());
    match fixture.build_with(tools, "3.54.1+pgo", &idle) {
        Err(BuildError::ProfileNeedsGcc(compiler)) => {
            testing::skip(format_args!("{compiler} keeps profiles another way"));
        }
        Err(BuildError::Compiler(said)) => {
            assert!(said.contains("missing-profile"), "{said}");
        }
        other => panic!("{other:?}"),
    }
    assert!(fixture.left().is_empty(), "{:?}", fixture.left());
}

#[test]
fn a_training_that_fails_fails_the_build_and_leaves_nothing() {
    let fixture = Fixture::new();
    let error = fixture.build("3.54.1+pgo").expect_err("untrained");
    assert!(error.to_string().contains("nothing is trained"), "{error}");
    assert!(fixture.left().is_empty(), "{:?}", fixture.left());
}

#[test]
fn a_compiler_whose_profiles_are_others_is_refused_for_profile_guided_builds_only() {
    let fixture = Fixture::new();
    let text = fs::read_to_string(fixture.path("cc")).expect("reads");
    fixture.script("cc", &text.replace("a compiler", "a clang version"));
    let error = fixture.build("3.54.1+pgo").expect_err("clang");
    assert!(matches!(error, BuildError::ProfileNeedsGcc(_)), "{error}");
    fixture.build(NEWEST).expect("built");
}

#[test]
fn kept_engines_are_listed_and_removed_by_name() {
    let fixture = Fixture::new();
    fixture.build(NEWEST).expect("built");
    fixture.build("3.54.1+lto").expect("built");
    let cache = fixture.cache();
    let added =
        cache.add("mine", Path::new(env!("PRAGMARK_DEFAULT_ENGINE")), "now".to_owned(), |_| {
            Ok::<_, BuildError>((NEWEST.to_owned(), "an id".to_owned()))
        });
    added.expect("added");
    let names = || -> Vec<String> {
        let all = cache.all().into_iter();
        all.map(|kept| kept.expect("readable").provenance.name).collect()
    };
    assert_eq!(names(), [NEWEST, "3.54.1+lto", "mine"]);
    let remove = |name: &str| cache.remove(&name.parse().expect("a name")).expect("removes");
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
    let fixture = Fixture::new();
    let cache = fixture.cache();
    let add = |name: &str, library: &str| {
        cache.add(name, Path::new(library), "now".to_owned(), |_| {
            Ok::<_, BuildError>((NEWEST.to_owned(), "an id".to_owned()))
        })
    };
    let own = env!("PRAGMARK_DEFAULT_ENGINE");
    assert!(matches!(add("3.46.0", own), Err(BuildError::NotAName(_))));
    assert!(matches!(add("mine", "/no/file"), Err(BuildError::Io { .. })));
    assert!(fixture.left().is_empty());
    add("mine", own).expect("added");
    assert!(matches!(add("mine", own), Err(BuildError::NameTaken(_))));
}
