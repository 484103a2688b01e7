//! A process that is confined opens no file outside of its directory by SQL, and loads no code.

use pragmark_engine::{CONFINED, Connection, Library, OpenFlags, Source};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Confinement is for a whole process, so this test starts itself again, confined.
#[test]
fn statements_of_a_confined_process_stay_in_its_directory() {
    match std::env::var_os(CONFINED) {
        Some(directory) => check(Path::new(&directory)),
        None => {
            let directory = tempfile::tempdir().unwrap();
            let name = "confinement::statements_of_a_confined_process_stay_in_its_directory";
            let mut again = Command::new(std::env::current_exe().unwrap());
            let again = again.args(["--exact", name]).env(CONFINED, directory.path());
            let ended = again.output().unwrap();
            let said = String::from_utf8_lossy(&ended.stdout);
            assert!(ended.status.success(), "{said}");
            assert!(said.contains("1 passed"), "{said}");
        }
    }
}

fn check(directory: &Path) {
    let library = Arc::new(Library::load(&Source::Embedded).unwrap());
    let path = directory.join("own.db");
    let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
    let inside = directory.display();
    for allowed in [
        "CREATE TABLE t(x); INSERT INTO t VALUES (1)".to_owned(),
        format!("ATTACH '{inside}/other.db' AS other; CREATE TABLE other.t(x); DETACH other"),
        "ATTACH ':memory:' AS memory; DETACH memory".to_owned(),
        format!("VACUUM; VACUUM INTO '{inside}/copy.db'"),
    ] {
        connection.execute(&allowed).unwrap();
    }
    let outside = std::env::temp_dir().join("pragmark-outside.db");
    let outside = outside.display();
    for refused in [
        format!("ATTACH '{outside}' AS x"),
        format!("ATTACH 'file:{outside}' AS x"),
        format!("ATTACH '{inside}/../outside.db' AS x"),
        format!("ATTACH '{outside}' || '' AS x"),
        format!("VACUUM INTO '{outside}'"),
        "SELECT load_extension('/tmp/x.so')".to_owned(),
        "PRAGMA temp_store_directory = '/tmp'".to_owned(),
    ] {
        let error = connection.execute(&refused).unwrap_err().to_string();
        assert!(error.contains("authoriz"), "{refused}: {error}");
    }
    assert!(!Path::new(&outside.to_string()).exists());
}
