//! Scripts whose own doings a verdict on settings must not be blamed for, and names that need quotes.

use super::{measured, plan, script, settings, worst};
use lab::tier::Loss;
use pragmark_crash::{CrashError, JournalMode, Synchronous};

fn refused(text: &str) -> CrashError {
    let variant = settings(JournalMode::Wal, Synchronous::Full);
    measured(&plan(Some(script(text)), None, variant)).unwrap_err()
}

#[test]
fn names_of_schemas_tables_and_files_may_have_quotes() {
    let text = r#"CREATE TABLE "a ""b"" c"(x); ATTACH 'it''s "it".db' AS "d""e";
        CREATE TABLE "d""e"."f'g"(x); INSERT INTO "d""e"."f'g" VALUES (1); INSERT INTO "a ""b"" c" VALUES (1);"#;
    let variant = settings(JournalMode::Delete, Synchronous::Extra);
    let matrix = measured(&plan(Some(script(text)), None, variant)).unwrap();
    let losses = worst(&matrix);
    assert!(losses.iter().all(|it| *it <= Some(Loss::LastTransaction)), "{losses:?}");
}

/// What a script does to its database is no defect of the settings.
#[test]
fn a_script_that_leaves_what_integrity_check_reports_is_no_evidence_against_its_settings() {
    for (text, reason) in [
        (
            "CREATE TABLE t(x); INSERT INTO t VALUES (1); PRAGMA writable_schema = ON;
             UPDATE sqlite_master SET rootpage = 99 WHERE name = 't';",
            "invalid rootpage",
        ),
        (
            "CREATE TABLE t(x CHECK (x > 0)); INSERT INTO t VALUES (1); PRAGMA ignore_check_constraints = ON;
             INSERT INTO t VALUES (-1);",
            "CHECK constraint",
        ),
    ] {
        let error = refused(text);
        assert!(matches!(error, CrashError::Unsound(_)), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

/// VACUUM INTO does not wait for the disk, so a copy that is missing after a crash breaks no promise.
#[test]
fn a_copy_by_vacuum_into_is_not_judged_and_a_new_database_is() {
    let begin = "CREATE TABLE t(x); INSERT INTO t VALUES (1);";
    let copied = format!("{begin} VACUUM INTO 'copy.db'; INSERT INTO t VALUES (2);");
    let error = refused(&format!("{copied}\nATTACH 'copy.db' AS c;"));
    assert!(error.to_string().contains("was made by VACUUM INTO"), "{error}");
    assert!(error.to_string().contains("line 2: copy.db"), "{error}");
    let within = "BEGIN; ATTACH 'new.db' AS n; CREATE TABLE n.u(x); COMMIT; DETACH n; ATTACH 'new.db' AS n; INSERT INTO n.u VALUES (1);";
    for text in [copied, format!("{begin} {within}")] {
        let variant = settings(JournalMode::Wal, Synchronous::Full);
        let matrix = measured(&plan(Some(script(&text)), None, variant)).unwrap();
        let losses = worst(&matrix);
        assert!(losses.iter().all(|it| *it <= Some(Loss::LastTransaction)), "{losses:?}");
    }
}
