//! The folder that `--out` asks for: whole, or not there.

use std::fs;
use std::path::Path;

use ::crash::write_witnesses;
use tempfile::TempDir;

use super::{Measured, as_json, failure, markdown};
use crate::commands::output;
use crate::failure::Failure;

/// A folder beside the one asked for, which gets its name when it is whole and is removed otherwise.
pub(super) fn unfinished(out: &Path) -> Result<TempDir, Failure> {
    if out.exists() {
        return Err(Failure::usage(format!("{} exists already", out.display()))
            .hint("name another folder with --out"));
    }
    let parent = match out.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let made = tempfile::Builder::new()
        .prefix(".pragmark-crash-")
        .tempdir_in(parent);
    made.map_err(|error| {
        Failure::unusable(format!("cannot write to {}: {error}", parent.display()))
    })
}

/// Writes what was measured, and gives the folder its name. With several engines the witnesses of each
/// have a folder of their own, numbered as the engines were named.
pub(super) fn write(all: &[Measured], out: &Path, unfinished: &TempDir) -> Result<(), Failure> {
    let folder = unfinished.path().join("crash");
    let cannot = |error| Failure::unusable(format!("cannot write {}: {error}", out.display()));
    fs::create_dir(&folder).map_err(cannot)?;
    output::write_text(Some(&folder.join("crash.md")), &markdown(all))?;
    output::write_text(Some(&folder.join("crash.json")), &as_json(all))?;
    let mut witnesses = 0;
    for (number, measured) in all.iter().enumerate() {
        let place = match all.len() {
            1 => folder.join("witnesses"),
            _ => folder.join(format!("witnesses-of-engine-{}", number + 1)),
        };
        witnesses += write_witnesses(&measured.matrix, &place).map_err(failure)?;
    }
    fs::rename(&folder, out).map_err(cannot)?;
    tell!(
        "written: {} with crash.md, crash.json and {witnesses} witnesses (each with a show.sh)",
        out.display()
    );
    Ok(())
}
