//! Describing and writing witnesses: the files that a crash left, and a script that shows with a stock
//! `sqlite3` shell what is wrong with them.

use crate::error::CrashError;
use crate::judge::Violation;
use crate::matrix::{Cell, Matrix};
use crate::occasion::Occasion;
use crate::record::is_plain;
use crate::tally::Witness;
use crate::trace::File;
use std::fs;
use std::path::Path;

/// Writes a folder for every violation that a cell has a witness of into `folder`, and returns their
/// names with the cells. A folder has `image` (what the crash left), `before` and `after` (the states that it might have left), and
/// `show.sh`, which ends with 0 if the violation is shown.
///
/// # Errors
/// A file cannot be written.
pub fn write_witnesses<'m>(
    matrix: &'m Matrix,
    folder: &Path,
) -> Result<Vec<(String, &'m Cell)>, CrashError> {
    let mut written = Vec::new();
    for cell in &matrix.cells {
        for (place, witness) in &cell.witnesses {
            if let Some(violation) = &witness.violation {
                let name = slug(cell, *place);
                write_one(cell, witness, violation, &folder.join(&name))?;
                written.push((name, cell));
            }
        }
    }
    Ok(written)
}

/// The folder of a witness: settings, model, and the occasion where there is one.
fn slug(cell: &Cell, place: Option<Occasion>) -> String {
    let settings = cell.variant.to_string().replace('/', "-");
    match place {
        None => format!("{settings}-{}", cell.model),
        Some(occasion) => format!("{settings}-{}-{}", cell.model, occasion.name()),
    }
}

fn write_one(
    cell: &Cell,
    witness: &Witness,
    violation: &Violation,
    folder: &Path,
) -> Result<(), CrashError> {
    write_files(&witness.files, &folder.join("image"))?;
    let names = ["before", "after"];
    for (name, (_, files)) in names.iter().zip(&witness.committed) {
        write_files(files, &folder.join(name))?;
    }
    let script = folder.join("show.sh");
    fs::write(&script, show(cell, witness, violation)).map_err(io("write", &script))?;
    make_executable(&script)
}

fn write_files(files: &[File], folder: &Path) -> Result<(), CrashError> {
    fs::create_dir_all(folder).map_err(io("make", folder))?;
    for (name, bytes) in files {
        if !is_plain(name) {
            return Err(CrashError::Defect(format!(
                "a witness would be written to {name}"
            )));
        }
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(io("write", &path))?;
    }
    Ok(())
}

fn make_executable(path: &Path) -> Result<(), CrashError> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
        .map_err(io("make executable", path))
}

fn io<'p>(what: &'static str, path: &'p Path) -> impl FnOnce(std::io::Error) -> CrashError + 'p {
    move |source| CrashError::Io {
        what,
        path: path.to_owned(),
        source,
    }
}

/// `crash after step 214, 12 commits acknowledged, 1 fault: …`.
pub(crate) fn describe_witness(witness: &Witness) -> String {
    let plural = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        many => format!("{many} {one}s"),
    };
    let what = match &witness.violation {
        Some(violation) => violation.to_string(),
        None => format!("{} missing", plural(witness.lost, "commit")),
    };
    format!(
        "crash after step {}{}, {} acknowledged, {}: {what}",
        witness.cut,
        match witness.second_crash {
            true => " and again during recovery",
            false => "",
        },
        plural(witness.acknowledged, "commit"),
        plural(witness.faults, "fault"),
    )
}

fn show(cell: &Cell, witness: &Witness, violation: &Violation) -> String {
    let how = match witness.second_crash {
        true => "a crash, and another one during recovery from it",
        false => "a crash",
    };
    let check = match violation {
        Violation::Unopenable { database, .. } | Violation::Corrupt { database, .. } => {
            format!("check_integrity {database}")
        }
        Violation::Impossible { database } => format!("compare_dumps {database}"),
        Violation::Split => "compare_dumps main.db; compare_dumps aux.db; together".to_owned(),
    };
    SCRIPT
        .replace("@VARIANT@", &cell.variant.to_string())
        .replace("@MODEL@", cell.model.name())
        .replace("@HOW@", how)
        .replace("@FAULTS@", &witness.faults.to_string())
        .replace("@ACKNOWLEDGED@", &witness.acknowledged.to_string())
        .replace("@WHAT@", &violation.to_string())
        .replace("@CHECK@", &check)
}

/// The script. It works on a copy, because opening a database after a crash changes it.
const SCRIPT: &str = r#"#!/bin/sh
# Settings: @VARIANT@ (journal_mode/synchronous/locking_mode)
# Storage model: @MODEL@; what is here was left by @HOW@.
# Missing or damaged: @FAULTS@. Commits acknowledged before the crash: @ACKNOWLEDGED@.
# Violation: @WHAT@
#
# image/ is what the crash left, before/ the state of the last acknowledged commit, after/ that of the
# commit that was under way, where there was one. Ends with 0 if the violation is shown.
# SQLITE3 may name another shell than sqlite3.
set -eu
sqlite3=${SQLITE3:-sqlite3}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R "$here/image" "$work/image"
for state in before after; do
    if [ -d "$here/$state" ]; then cp -R "$here/$state" "$work/$state"; fi
done
shown=1

check_integrity() {
    answer=$(cd "$work/image" && "$sqlite3" "$1" 'PRAGMA integrity_check' 2>&1) || true
    printf 'integrity_check of %s:\n%s\n' "$1" "$answer"
    if [ "$answer" != ok ]; then shown=0; fi
}

dump() {
    (cd "$work/$1" && if [ -e "$2" ]; then "$sqlite3" "$2" .dump; fi) > "$work/$1-$2.sql" 2>&1 || true
}

# Which of the two committed states a database holds: before, after, or neither.
compare_dumps() {
    dump image "$1"
    holds=neither
    for state in before after; do
        if [ -d "$work/$state" ]; then
            dump "$state" "$1"
            if cmp -s "$work/image-$1.sql" "$work/$state-$1.sql"; then holds=$state; fi
        fi
    done
    printf '%s holds %s of the states around the crash\n' "$1" "$holds"
    case $holds in
        neither) diff "$work/before-$1.sql" "$work/image-$1.sql" | head -20 || true; shown=0 ;;
    esac
    all="${all:-}$holds "
}

together() {
    case $all in
        "before before " | "after after ") ;;
        *) shown=0; echo "the databases do not belong together" ;;
    esac
}

@CHECK@
exit $shown
"#;
