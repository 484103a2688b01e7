//! Commands that repeat a crash.

use std::path::Path;

use crash::{CrashSettings, Plan};
use engine::Source;
use engine::build::Provenance;
use lab::tier::ModelSafety;
use lab::trial::DataTable;

/// Returns the command that makes the same image again and writes it to disk. `options` name the user's own work.
pub(super) fn command(variant: &CrashSettings, model: &str, plan: &Plan, options: &str) -> String {
    format!(
        "pragmark crash --set journal_mode={} --set synchronous={} --set locking_mode={} --set page_size={}{} --model {model} --images {} --seed {} --engine {}{} --out witness",
        variant.journal_mode,
        variant.synchronous,
        variant.locking_mode,
        variant.page_size,
        if variant.powersafe_overwrite { "" } else { " --set psow=0" },
        plan.images,
        plan.seed.0,
        engine_name(&plan.engine),
        options
    )
}

/// Returns the witnesses of corruption, in ordinary commits and on rare occasions, if any.
pub(super) fn witnesses(found: &[ModelSafety]) -> Option<DataTable> {
    let rows: Vec<Vec<String>> = found.iter().flat_map(rows).collect();
    (!rows.is_empty()).then(|| DataTable {
        title: "witnesses of what a crash can destroy".to_owned(),
        columns: ["storage model", "found", "witness", "to write it to disk"]
            .map(str::to_owned)
            .into(),
        rows,
    })
}

fn rows(found: &ModelSafety) -> Vec<Vec<String>> {
    let row = |shown: String, witness: &Option<String>, again: &Option<String>| {
        Some(vec![found.model.clone(), shown, witness.clone()?, again.clone()?])
    };
    let ordinary = row(found.ordinary.to_string(), &found.witness, &found.again);
    let rare = found.occasions.iter().filter_map(|on| {
        let shown = on.counts.words(|count| count.to_string());
        row(format!("on {}: {shown}", on.occasion), &on.witness, &on.again)
    });
    ordinary.into_iter().chain(rare).collect()
}

/// Returns a library as a command names it: an engine that pragmark keeps by its name, since other machines keep it
/// elsewhere.
pub(super) fn engine_name(source: &Source) -> String {
    match source {
        Source::Path(path) => kept(path).unwrap_or_else(|| quoted(path)),
        other => other.to_string(),
    }
}

/// Returns the name under which pragmark keeps a library, if it does and its provenance can be read; loading the library
/// has reported otherwise.
fn kept(library: &Path) -> Option<String> {
    let provenance = Provenance::read(library).ok()??;
    Some(quoted(Path::new(&provenance.name)))
}

/// Returns a path as a shell takes it.
pub(super) fn quoted(path: &Path) -> String {
    match path.to_str() {
        Some(plain) if !plain.contains(|c: char| c.is_whitespace() || "'\"\\$`".contains(c)) => {
            plain.to_owned()
        }
        _ => format!("'{}'", path.display().to_string().replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_is_kept_is_named_and_another_is_a_path() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libsqlite3.so.0");
        let name = || engine_name(&Source::Path(library.clone()));
        assert_eq!(name(), library.to_str().unwrap());
        let provenance = serde_json::json!({
            "format": 1, "name": "3.46.0+recommended", "version": "3.46.0", "source_id": "", "source": "",
            "sha256": "", "bytes": 0, "created": "2026-01-01T00:00:00Z",
        });
        let its = folder.path().join("libsqlite3.so.0.provenance.json");
        std::fs::write(its, provenance.to_string()).unwrap();
        assert_eq!(name(), "3.46.0+recommended");
        assert_eq!(engine_name(&Source::Embedded), "default");
    }
}
