//! Writing witnesses: the files that a crash left, and a script that shows their violation with a stock
//! `sqlite3` shell.

use crate::counts::Witness;
use crate::error::{CrashError, Result};
use crate::initial::InitialDatabases;
use crate::judge::Violation;
use crate::matrix::{Cell, Matrix};
use crate::rare::RareEvent;
use crate::record::is_plain;
use crate::trace::File;
use engine::vfs::{BLOCK, Bytes};
use std::fs;
use std::io::Write;
use std::path::Path;

/// Writes a folder for every violation with a witness into `folder`, and returns the names of the folders
/// with their cells. A folder has `image` (the files that the crash left), `before` and `after` (the states
/// that it might have left), and `show.sh`, which ends with 0 if it shows the violation.
///
/// # Errors
/// A file cannot be written.
pub fn write_witnesses<'m>(
    matrix: &'m Matrix,
    initial: Option<&InitialDatabases>,
    folder: &Path,
) -> Result<Vec<(String, &'m Cell)>> {
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
    if let (Some(initial), false) = (initial, written.is_empty()) {
        keep_bases(initial, &folder.join(BASES))?;
    }
    Ok(written)
}

/// The folder of the databases that a workload began with.
const BASES: &str = "beginning";

/// Returns the folder of a witness: settings, model, and the rare event if there is one.
fn slug(cell: &Cell, place: Option<RareEvent>) -> String {
    let settings = cell.variant.to_string().replace('/', "-");
    match place {
        None => format!("{settings}-{}", cell.model),
        Some(event) => format!("{settings}-{}-{}", cell.model, event.name()),
    }
}

fn write_one(cell: &Cell, witness: &Witness, violation: &Violation, folder: &Path) -> Result<()> {
    write_files(&witness.files, &folder.join("image"))?;
    let names = ["before", "after"];
    for (name, (_, files)) in names.iter().zip(&witness.committed) {
        write_files(files, &folder.join(name))?;
    }
    let script = folder.join("show.sh");
    fs::write(&script, show(cell, witness, violation)).map_err(CrashError::io("write", &script))?;
    make_executable(&script)
}

/// The size of a base from which on witnesses hold only what differs from it.
const LARGE: u64 = 1 << 20;

fn write_files(files: &[File], folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(CrashError::io("make", folder))?;
    for (name, bytes) in files {
        if !is_plain(name) {
            return Err(CrashError::defect(format_args!("a witness would be written to {name}")));
        }
        let path = folder.join(name);
        let written = if bytes.size_of_base() >= LARGE {
            write_blocks(bytes, &path)
        } else {
            fs::File::create(&path).and_then(|mut file| bytes.write_to(&mut file))
        };
        written.map_err(CrashError::io("write", &path))?;
    }
    Ok(())
}

/// Writes the blocks that differ from the base, and where they belong: the size of the file, then their numbers.
fn write_blocks(bytes: &Bytes, path: &Path) -> std::io::Result<()> {
    let with = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        name
    };
    let mut blocks = fs::File::create(with(BLOCKS))?;
    let mut places = format!("{}\n", bytes.len());
    for block in bytes.changed() {
        blocks.write_all(block.bytes)?;
        // The last one may be shorter.
        blocks.write_all(&[0; BLOCK][block.bytes.len()..])?;
        places.push_str(&format!("{}\n", block.number));
    }
    fs::write(with(PLACES), places)
}

/// Suffixes of a file that is kept as its differing blocks.
const BLOCKS: &str = ".blocks";
const PLACES: &str = ".places";

/// Keeps the large databases that a workload began with, once for all witnesses in a folder.
fn keep_bases(initial: &InitialDatabases, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(CrashError::io("make", folder))?;
    for (name, base) in initial.bases().filter(|(_, base)| base.len() >= LARGE) {
        let path = folder.join(name);
        if fs::hard_link(base.path(), &path).is_err() {
            fs::copy(base.path(), &path).map_err(CrashError::io("write", &path))?;
        }
    }
    Ok(())
}

fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
        .map_err(CrashError::io("make executable", path))
}

fn show(cell: &Cell, witness: &Witness, violation: &Violation) -> String {
    let how = if witness.second_crash {
        "a crash, and another one during recovery from it"
    } else {
        "a crash"
    };
    SCRIPT
        .replace("@VARIANT@", &cell.variant.to_string())
        .replace("@MODEL@", cell.model.name())
        .replace("@HOW@", how)
        .replace("@FAULTS@", &witness.faults.to_string())
        .replace("@ACKNOWLEDGED@", &witness.acknowledged.to_string())
        .replace("@WHAT@", &violation.to_string())
        .replace("@CHECK@", &check(violation))
}

/// Returns the lines of the script that show a violation.
fn check(violation: &Violation) -> String {
    match violation {
        Violation::Unopenable { database, message } | Violation::Corrupt { database, message } => {
            let expected = quoted(message.lines().last().unwrap_or_default());
            format!("expected={expected}; check_integrity {}", quoted(database))
        }
        Violation::Ended { database, .. } => {
            let why =
                format!("open a copy of image/{database} with the engine that ended its process");
            format!("cannot {}", quoted(&why))
        }
        Violation::Impossible { database } => format!("compare_dumps {}", quoted(database)),
        Violation::Mixed { database } => {
            let database = quoted(database);
            format!("check_integrity {database}; [ $shown = 0 ] || compare_dumps {database}")
        }
        Violation::Split { databases, .. } => {
            let compare = |database: &String| format!("compare_dumps {}; ", quoted(database));
            databases.iter().map(compare).collect::<String>() + "together"
        }
    }
}

/// Returns a word of the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The script. It works on a copy, because opening a database after a crash changes it.
const SCRIPT: &str = r#"#!/bin/sh
# Settings: @VARIANT@ (journal_mode/synchronous/locking_mode)
# Storage model: @MODEL@; what is here was left by @HOW@.
# Missing or damaged: @FAULTS@. Commits acknowledged before the crash: @ACKNOWLEDGED@.
# Violation: @WHAT@
#
# image/ is what the crash left, before/ the state of the last acknowledged commit, after/ that of the
# commit that was under way, where there was one. Ends with 0 if the violation is shown, with 1 if it is not, and with 2
# if the shell cannot tell.
# SQLITE3 may name another shell than sqlite3.
set -eu
sqlite3=${SQLITE3:-sqlite3}
here=$(cd "$(dirname "$0")" && pwd)

cannot() {
    echo "$1" >&2
    exit 2
}

command -v "$sqlite3" > /dev/null ||
    cannot "there is no $sqlite3: install the shell of SQLite, or name one with SQLITE3"
work=$(mktemp -d "${TMPDIR:-/tmp}/witness.XXXXXX")
trap 'rm -rf "$work"' EXIT
for state in image before after; do
    if [ -d "$here/$state" ]; then cp -R "$here/$state" "$work/$state"; fi
done
# Of a large database, only the blocks that differ from the beginning are kept.
for places in "$work"/*/*.places; do
    [ -e "$places" ] || continue
    file=${places%.places}
    cp "$here/../beginning/$(basename "$file")" "$file"
    number=-1
    while read -r place; do
        if [ $number -lt 0 ]; then
            dd if=/dev/null of="$file" bs=1 seek="$place" 2> /dev/null
        else
            dd if="$file.blocks" of="$file" bs=4096 skip=$number seek="$place" count=1 conv=notrunc 2> /dev/null
        fi
        number=$((number + 1))
    done < "$places"
    rm "$places" "$file.blocks"
done
shown=1

check_integrity() {
    status=0
    answer=$(cd "$work/image" && "$sqlite3" "$1" 'PRAGMA integrity_check' 2>&1) || status=$?
    printf 'integrity_check of %s:\n%s\n' "$1" "$answer"
    [ "$answer" != ok ] || return 0
    # Other versions of SQLite use other words for the same damage, but say that it is damage.
    case $status$answer in
        0*) shown=0 ;;
        *malformed* | *"not a database"* | *corrupt*) shown=0 ;;
        *"${expected:-malformed}"*) shown=0 ;;
        *) cannot "that is another error than the one expected: ${expected:-a malformed database}" ;;
    esac
}

dump() {
    (cd "$work/$1" && if [ -e "$2" ]; then "$sqlite3" "$2" .dump; fi) > "$work/$1-$2.sql" 2>&1 ||
        [ "$1" = image ] || cannot "the shell cannot read the committed state in $1: $(head -3 "$work/$1-$2.sql")"
}

# Which of the two committed states a database holds: one, both where they are the same, or none.
compare_dumps() {
    dump image "$1"
    holds=
    for state in before after; do
        if [ -d "$work/$state" ]; then
            dump "$state" "$1"
            if cmp -s "$work/image-$1.sql" "$work/$state-$1.sql"; then holds="$holds $state"; fi
        fi
    done
    printf '%s holds the state:%s\n' "$1" "${holds:- none of those around the crash}"
    if [ -z "$holds" ]; then
        diff "$work/before-$1.sql" "$work/image-$1.sql" | head -20 || true
        shown=0
    fi
    common=$(for state in ${common-before after}; do
        case "$holds " in *" $state "*) echo "$state" ;; esac
    done)
}

together() {
    if [ -z "$common" ]; then
        shown=0
        echo "the databases do not belong together"
    fi
}

@CHECK@
exit $shown
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Connection, Library, OpenFlags, Source};
    use std::process::Command;

    /// Makes databases that hold a number each.
    fn state(folder: &Path, state: &str, numbers: [(&str, i64); 2]) {
        let library = std::sync::Arc::new(Library::load(&Source::Embedded).unwrap());
        let place = folder.join(state);
        fs::create_dir(&place).unwrap();
        for (name, number) in numbers {
            let connection =
                Connection::open(&library, &place.join(name), OpenFlags::default(), None).unwrap();
            let sql = format!("CREATE TABLE t(a); INSERT INTO t VALUES ({number})");
            connection.execute(&sql).unwrap();
            connection.close().unwrap();
        }
    }

    /// How the script ends that is to show that two databases do not belong together.
    fn exit_code(image: [i64; 2], before: [i64; 2], after: [i64; 2]) -> Option<i32> {
        const NAMES: [&str; 2] = ["main.db", "my brother's.db"];
        let folder = tempfile::tempdir().unwrap();
        for (name, numbers) in [("image", image), ("before", before), ("after", after)] {
            let numbers = [(NAMES[0], numbers[0]), (NAMES[1], numbers[1])];
            state(folder.path(), name, numbers);
        }
        let databases = NAMES.map(str::to_owned).to_vec();
        let script =
            SCRIPT.replace("@CHECK@", &check(&Violation::Split { databases, latest: Vec::new() }));
        let path = folder.path().join("show.sh");
        fs::write(&path, script).unwrap();
        let ended = Command::new("sh").arg(&path).status().unwrap();
        ended.code()
    }

    #[test]
    fn databases_do_not_belong_together_if_no_state_fits_all() {
        if !testing::has_sqlite_shell() {
            return;
        }
        assert_eq!(exit_code([1, 2], [1, 1], [2, 2]), Some(0));
        assert_eq!(exit_code([2, 1], [1, 1], [2, 1]), Some(1));
        assert_eq!(exit_code([1, 1], [1, 1], [2, 2]), Some(1));
        assert_eq!(exit_code([2, 3], [1, 1], [2, 2]), Some(0));
    }
}
