//! Loading libraries: the default one, the system's, and what is none.

use crate::support::{Scratch, engine, memory};
use pragmark_engine::build::{BuildName, Recipe};
use pragmark_engine::vfs::CountingVfs;
use pragmark_engine::{
    COMPILE_OPTIONS, CompileOption, Connection, EngineError, Library, OpenFlags, Origin, Source,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn load(path: &Path) -> Result<Library, EngineError> {
    Library::load(&Source::Path(path.to_owned()))
}

#[test]
fn the_default_engine_is_the_amalgamation_with_the_declared_options() {
    let library = engine();
    let identity = library.identity();
    assert_eq!(identity.version, "3.54.1");
    assert_eq!(
        identity.source_id,
        "2026-10-16 14:45:20 555e07ef33f69a0957d24d8e555b702464a131d6f1607f4c3c1e4551e8e6ca76"
    );
    assert_eq!(identity.threadsafe, 1);
    assert_eq!(identity.origin, Origin::Embedded);
    assert_eq!(identity.option("THREADSAFE"), Some("1"));
    for option in COMPILE_OPTIONS {
        let name = option.name.strip_prefix("SQLITE_").expect("the prefix");
        // SQLite does not report this one; that the function is there proves it.
        let reported = identity.option(name).is_some();
        assert!(reported || name == "ENABLE_CARRAY", "{name}: {:?}", identity.compile_options);
    }
    let connection = memory(&library);
    let modules = connection.query_all("PRAGMA module_list").expect("a list");
    for module in ["fts5", "rtree", "sqlite_dbpage", "dbstat", "sqlite_stmt", "bytecode"] {
        assert!(modules.iter().any(|row| row[0].to_string() == module), "{module}");
    }
    assert!(library.has_carray());
}

#[test]
fn the_source_id_that_sql_sees_is_that_of_the_library() {
    let library = engine();
    let seen = memory(&library).query_text("SELECT sqlite_source_id()").expect("a text");
    assert_eq!(seen, library.identity().source_id);
}

#[test]
fn every_load_is_a_copy_of_its_own() {
    let (first, second) = (engine(), engine());
    assert_ne!(first.api().step as usize, second.api().step as usize);
}

#[test]
fn the_system_library_runs() {
    let library = match Library::load(&Source::System) {
        Ok(library) => Arc::new(library),
        Err(EngineError::NoSystemLibrary(_, reason)) => {
            testing::skip(format_args!("no system library here ({reason})"));
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let Origin::System(path) = &library.identity().origin else {
        panic!("{:?}", library.identity().origin);
    };
    assert!(!path.to_string_lossy().is_empty());
    let connection = memory(&library);
    assert_eq!(
        connection.query_text("SELECT sqlite_version()").expect("a text"),
        library.identity().version
    );

    // The same file by its path is the same engine.
    if path.is_absolute() {
        let by_path = load(path).expect("the same file");
        assert_eq!(by_path.identity().source_id, library.identity().source_id);
        assert_eq!(by_path.identity().origin, Origin::File(path.clone()));
    }
}

#[test]
fn the_system_library_is_loaded_twice_and_after_a_copy_of_its_file() {
    let system = || match Library::load(&Source::System) {
        Ok(library) => Some(library),
        Err(EngineError::NoSystemLibrary(_, reason)) if !reason.contains("mapped") => {
            testing::skip(format_args!("no system library here ({reason})"));
            None
        }
        Err(error) => panic!("{error}"),
    };
    let Some(first) = system() else { return };
    let second = system().expect("a second copy");
    assert_eq!(first.identity(), second.identity());
    assert_ne!(first.api().step as usize, second.api().step as usize);
    let Origin::System(path) = first.identity().origin.clone() else {
        panic!("{:?}", first.identity().origin);
    };
    drop((first, second));

    // A copy of the file, which calls itself as the system's library does, is not taken for it.
    if path.is_absolute() {
        let by_path = load(&path).expect("the same file");
        let again = system().expect("the system's own");
        assert_eq!(again.identity().origin, Origin::System(path));
        assert_ne!(by_path.api().step as usize, again.api().step as usize);
    }
}

#[test]
fn a_missing_file_is_named() {
    let error = load(Path::new("/nowhere/libsqlite3.so")).expect_err("missing");
    let error = error.to_string();
    assert!(error.contains("cannot read") && error.contains("/nowhere/libsqlite3.so"), "{error}");
}

#[test]
fn a_text_file_is_not_a_library() {
    let scratch = Scratch::new();
    let path = scratch.file("notes.txt");
    std::fs::write(&path, "no library at all, but long enough to hold a header\n".repeat(10))
        .expect("writes");
    let error = load(&path).expect_err("a text");
    assert!(error.to_string().contains("notes.txt is not a shared library"), "{error}");
}

#[test]
fn another_library_is_not_sqlite() {
    let scratch = Scratch::new();
    let path = shared_library(&scratch, "int answer(void) { return 42; }");
    let error = load(&path).expect_err("not SQLite");
    assert!(error.to_string().contains("but not SQLite"), "{error:?}");
}

#[test]
fn an_old_version_and_a_missing_function_are_told_apart() {
    let scratch = Scratch::new();
    let imitation = |version: &str, number: u32| {
        shared_library(
            &scratch,
            &format!(
                "const char *sqlite3_libversion(void) {{ return \"{version}\"; }}
                 int sqlite3_libversion_number(void) {{ return {number}; }}"
            ),
        )
    };
    let error = load(&imitation("3.7.17", 3_007_017)).expect_err("too old");
    assert!(error.to_string().contains("is SQLite 3.7.17; pragmark requires"), "{error}");
    let error = load(&imitation("3.40.1", 3_040_001)).expect_err("incomplete");
    assert!(error.to_string().ends_with("lacks the function sqlite3_sourceid"), "{error}");
}

#[test]
fn a_library_without_threads_gives_out_one_connection_at_a_time() {
    let (scratch, amalgamation) = (Scratch::new(), env!("PRAGMARK_AMALGAMATION"));
    let path = scratch.file("single-threaded.so");
    let source = Path::new(amalgamation).join("sqlite3.c");
    compile(&["-O0", "-DSQLITE_THREADSAFE=0"], &source, &path);
    let library = Arc::new(load(&path).expect("loads"));
    assert_eq!(library.identity().threadsafe, 0);

    let first = memory(&library);
    let second = || Connection::open(&library, ":memory:".as_ref(), OpenFlags::default(), None);
    assert!(matches!(second(), Err(EngineError::SingleThreaded)));
    assert!(matches!(CountingVfs::register(&library, None), Err(EngineError::SingleThreaded)));
    first.close().expect("closes");
    let vfs = CountingVfs::register(&library, None).expect("free");
    let missing = scratch.file("folder/that/is/missing");
    for _ in 0..2 {
        let failed = Connection::open(&library, &missing, OpenFlags::default(), Some(vfs.name()));
        assert!(
            failed.expect_err("no folder").as_sqlite().is_some(),
            "a failure gives the place back"
        );
    }
    let third = second().expect("free again");
    drop(vfs);
    assert_eq!(third.query_i64("SELECT 1").expect("a number"), 1);
}

/// What omits the most: functions that pragmark does not need must not keep such a library from loading.
#[test]
fn a_library_of_the_recommended_options_works() {
    let (scratch, amalgamation) = (Scratch::new(), env!("PRAGMARK_AMALGAMATION"));
    let path = scratch.file("recommended.so");
    let source = Path::new(amalgamation).join("sqlite3.c");
    let name: BuildName = "3.54.1+recommended".parse().expect("a name");
    let options = Recipe::of(&name, &[]).options;
    let mut arguments = vec!["-O0".to_owned()];
    arguments.extend(options.iter().map(CompileOption::define));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    compile(&arguments, &source, &path);
    let library = Arc::new(load(&path).expect("loads"));
    for option in options {
        let name = option.name.strip_prefix("SQLITE_").expect("the prefix");
        // SQLite does not report these; that the functions are missing or there proves them.
        let unreported = ["ENABLE_CARRAY", "STRICT_SUBTYPE", "USE_ALLOCA"].contains(&name);
        assert!(
            library.identity().option(name).is_some() || unreported,
            "{name}: {:?}",
            library.identity().compile_options
        );
    }
    let connection = memory(&library);
    connection.execute("CREATE TABLE t(x); INSERT INTO t VALUES (1), (2)").expect("runs");
    assert_eq!(connection.query_i64("SELECT sum(x) FROM t").expect("a sum"), 3);
    let quoted = connection.prepare("SELECT \"no such column\"");
    assert!(quoted.is_err(), "strings in double quotes are an error");
    pragmark_engine::pragma::read_back(&connection).expect("every PRAGMA answers or is not known");
}

/// Compiles C source text into a shared library.
fn shared_library(scratch: &Scratch, source: &str) -> PathBuf {
    let (c_file, library) = (scratch.file("imitation.c"), scratch.file("imitation.so"));
    std::fs::write(&c_file, source).expect("writes");
    compile(&[], &c_file, &library);
    library
}

/// Runs the C compiler, which building this crate needs anyway.
fn compile(options: &[&str], source: &Path, library: &Path) {
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = std::process::Command::new(compiler)
        .args(options)
        .args(["-shared", "-fPIC", "-o"])
        .args([library, source])
        .arg("-lm")
        .status()
        .expect("a C compiler");
    assert!(status.success());
}

#[test]
fn sources_are_read_as_they_are_written() {
    for (text, source) in [
        ("default", Source::Embedded),
        ("system", Source::System),
        ("./default", Source::Path("./default".into())),
        ("/usr/lib/libsqlite3.so.0", Source::Path("/usr/lib/libsqlite3.so.0".into())),
    ] {
        assert_eq!(text.parse::<Source>().expect("a source"), source);
        assert_eq!(source.to_string(), text);
        let json = serde_json::to_string(&source).expect("JSON");
        assert_eq!(serde_json::from_str::<Source>(&json).expect("a source"), source);
    }
    assert!("".parse::<Source>().is_err());
}

#[test]
fn an_identity_survives_json() {
    let library = engine();
    let json = serde_json::to_string(library.identity()).expect("JSON");
    let again: pragmark_engine::Identity = serde_json::from_str(&json).expect("an identity");
    assert_eq!(&again, library.identity());
}
