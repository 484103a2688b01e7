//! `pragmark engine list`: available engines, and those that can be built.

use std::fmt::Write;

use ::engine::build::{BINDING, BINDING_MEANING, Cache, DEFAULT, Kept, OPTION_SETS, RELEASES};
use lab::record::EngineRecord;
use serde_json::json;

use super::prepare::describe;
use crate::commands::{output, run::native_driver};
use crate::failure::{Exit, Failure};

/// Prints the list.
pub fn execute(json: bool) -> Result<Exit, Failure> {
    let at_hand = at_hand()?;
    let text = if json { as_json(&at_hand) } else { as_text(&at_hand) };
    output::display(&text)
}

/// The default engine, the system's, and stored ones; a damaged one is a record with its problem.
pub fn at_hand() -> Result<Vec<EngineRecord>, Failure> {
    let driver = native_driver()?;
    let mut found = Vec::new();
    for name in ["default", "system"] {
        found.push(describe(name, name, &driver)?);
    }
    // Without a cache directory no engines are stored.
    let kept = Cache::of_user().map_or_else(|_| Vec::new(), |cache| cache.all());
    for kept in kept {
        found.push(match kept {
            Ok(kept) => of_kept(&kept, &driver)?,
            Err(error) => EngineRecord::unusable("(damaged)", error.to_string()),
        });
    }
    Ok(found)
}

fn of_kept(kept: &Kept, driver: &runner::Driver) -> Result<EngineRecord, Failure> {
    describe(&kept.provenance.name, &kept.library.display().to_string(), driver)
}

fn as_json(at_hand: &[EngineRecord]) -> String {
    let versions: Vec<&str> = RELEASES.iter().map(|release| release.version).collect();
    let sets: Vec<_> =
        sets().map(|(name, meaning)| json!({ "name": name, "meaning": meaning })).collect();
    let all = json!({ "at_hand": at_hand, "versions": versions, "option_sets": sets });
    format!("{all:#}\n")
}

fn as_text(at_hand: &[EngineRecord]) -> String {
    let mut text = String::from("Available engines\n");
    for engine in at_hand {
        text += &line(engine);
    }
    text += "\nVersions that can be built\n";
    let versions: Vec<&str> = RELEASES.iter().map(|release| release.version).collect();
    for some in versions.chunks(9) {
        let _ = writeln!(text, "  {}", some.join("  "));
    }
    text += "\nOption sets, appended to a version with +, such as 3.54.1+recommended+lto\n";
    for (name, meaning) in sets() {
        let _ = writeln!(text, "  {name:<12} {meaning}");
    }
    text
}

/// An engine on one line.
pub fn line(engine: &EngineRecord) -> String {
    if let Some(problem) = &engine.problem {
        return format!("  {}: not usable: {problem}\n", engine.name);
    }
    let from = match (&engine.provenance, &engine.path) {
        (Some(made), _) => match &made.compiler {
            Some(compiler) => format!(", built {} with {compiler}", made.created),
            None => format!(", added {} from {}", made.created, made.source),
        },
        (None, Some(path)) => format!(", {}", path.display()),
        (None, None) => ", built into pragmark".to_owned(),
    };
    format!("  {}: SQLite {}{from}\n", engine.name, engine.version)
}

fn sets() -> impl Iterator<Item = (&'static str, &'static str)> {
    let unchanged = (DEFAULT, "the options of the built-in engine");
    [unchanged]
        .into_iter()
        .chain(OPTION_SETS.iter().map(|set| (set.name, set.meaning)))
        .chain([(BINDING, BINDING_MEANING)])
}
