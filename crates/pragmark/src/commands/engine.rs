//! `pragmark engine`: the SQLite libraries that can be tested.

use std::fmt::Write;
use std::path::Path;

use ::engine::build::{
    BINDING, BINDING_MEANING, BuildName, DEFAULT, FORKS, OPTION_SETS, RELEASES, Recipe,
};
use app::Result;
use app::engine::{self, EngineStatus};
use lab::record::{EngineRecord, SyncCheck};
use serde_json::json;

use crate::exit::{self, Exit};
use crate::output;
use crate::terminal::Terminal;

/// Lists engines, versions and option sets.
pub fn list(is_json: bool) -> Result<Exit> {
    let at_hand = engine::available()?;
    if is_json {
        output::display_json(&list_as_json(&at_hand))
    } else {
        output::display(&list_as_text(&at_hand))
    }
}

/// Builds, and prints the name and the path of each engine.
pub fn build(engines: &[String], experiments: &[String]) -> Result<Exit> {
    let (names, mut built) = engine::build_for(engines, experiments, &Terminal::new())?;
    let mut text = String::new();
    let mut exit = Exit::Success;
    for name in &names {
        match built.remove(&name.to_string()) {
            Some(Ok(path)) => text += &format!("{name}\t{path}\n"),
            Some(Err(error)) => {
                tell!("{name}:");
                exit = exit::report(&error);
            }
            None => {}
        }
    }
    output::display(&text)?;
    Ok(exit)
}

/// Stores a copy of a library under a name.
pub fn add(library: &Path, name: &str) -> Result<Exit> {
    let kept = engine::add(library, name)?;
    output::display(&format!(
        "{name}: SQLite {}, {}\nuse it with `pragmark run --engine {name}`, or as a level of the factor `engine`\n",
        kept.provenance.version,
        kept.library.display()
    ))
}

/// Removes all stored engines.
pub fn remove_all() -> Result<Exit> {
    output::display(&format!("{} engines removed\n", engine::remove_all()?))
}

/// Removes engines.
pub fn remove(engines: &[String]) -> Result<Exit> {
    let mut text = String::new();
    for name in engines {
        match engine::remove(name)? {
            1 => text += &format!("{name}: removed\n"),
            some => text += &format!("{name}: {some} builds removed\n"),
        }
    }
    output::display(&text)
}

/// Prints the description of an engine and how it was built, or how it would be built.
pub fn show(name: &str, is_json: bool) -> Result<Exit> {
    match engine::show(name)? {
        EngineStatus::NotBuilt(build, recipe) => show_plan(&build, &recipe, is_json),
        EngineStatus::Exists(record) if is_json => output::display_json(&record),
        EngineStatus::Exists(record) => output::display(&record_as_text(&record)),
    }
}

fn list_as_json(at_hand: &[EngineRecord]) -> serde_json::Value {
    let versions: Vec<&str> = RELEASES.iter().map(|release| release.version).collect();
    let sets: Vec<_> =
        sets().map(|(name, meaning)| json!({ "name": name, "meaning": meaning })).collect();
    let forks: Vec<&str> = FORKS.iter().map(|fork| fork.name).collect();
    json!({ "at_hand": at_hand, "versions": versions, "forks": forks, "option_sets": sets })
}

fn list_as_text(at_hand: &[EngineRecord]) -> String {
    let mut text = String::from("Available engines\n");
    for engine in at_hand {
        text += &line(engine);
    }
    text += "\nVersions that can be built\n";
    let versions: Vec<&str> = RELEASES.iter().map(|release| release.version).collect();
    for some in versions.chunks(9) {
        let _ = writeln!(text, "  {}", some.join("  "));
    }
    text += "\nForks that can be built\n";
    for fork in FORKS {
        let _ = writeln!(
            text,
            "  {:<12} SQLite {}, {} {}",
            fork.name, fork.version, fork.package, fork.crate_version
        );
    }
    text += "\nOption sets, appended to a version with +, such as 3.54.1+recommended+lto\n";
    for (name, meaning) in sets() {
        let _ = writeln!(text, "  {name:<12} {meaning}");
    }
    text
}

/// Returns an engine on one line.
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

fn show_plan(build: &BuildName, recipe: &Recipe, is_json: bool) -> Result<Exit> {
    let source = format!("{} {}", build.release.package, build.release.crate_version);
    if is_json {
        return output::display_json(&json!({
            "name": build.to_string(),
            "built": false,
            "source": source,
            "arguments": recipe.arguments(),
            "profile_guided": recipe.profile_guided,
        }));
    }
    let mut text =
        format!("{build}: not built yet; to build it, run `pragmark engine build {build}`\n");
    let _ = writeln!(text, "  source: {source}");
    text += &arguments(&recipe.arguments(), recipe.profile_guided);
    for set in &build.sets {
        let source = set.source.map_or(String::new(), |source| format!(" ({source})"));
        let _ = writeln!(text, "  {}: {}{source}", set.name, set.meaning);
        for option in set.options {
            let _ = writeln!(text, "    {}: {}", option.define(), option.meaning);
        }
        for flag in set.flags {
            let _ = writeln!(text, "    {flag}");
        }
    }
    output::display(&text)
}

fn record_as_text(engine: &EngineRecord) -> String {
    let mut text = format!("{}: SQLite {}\n", engine.name, engine.version);
    let _ = writeln!(text, "  source id: {}", engine.source_id);
    if let Some(path) = &engine.path {
        let _ = writeln!(text, "  library: {}", path.display());
    }
    if let Some(made) = &engine.provenance {
        let _ = writeln!(text, "  source: {}", made.source);
        let _ = writeln!(text, "  sha256: {}", made.sha256);
        let _ = writeln!(text, "  created: {}", made.created);
        if let Some(compiler) = &made.compiler {
            let _ = writeln!(text, "  compiler: {compiler}");
            text += &arguments(&made.arguments, made.profile_guided);
        }
    }
    let _ = writeln!(text, "  compile options: {}", engine.compile_options.join(" "));
    if let Some(syncs) = &engine.syncs {
        let _ = writeln!(text, "  syncs of its own VFS: {}", syncs_words(syncs));
    }
    text
}

fn syncs_words(syncs: &SyncCheck) -> String {
    match syncs {
        SyncCheck::Counted { requested, reached } => {
            format!("{reached} system calls for {requested} requests of SQLite, in a few commits")
        }
        SyncCheck::Faulty { fault } => format!("faulty: it {fault}"),
        SyncCheck::NotChecked { why } => format!("not checked ({why})"),
    }
}

fn arguments(arguments: &[String], profile_guided: bool) -> String {
    let profile = if profile_guided {
        ", twice, with the profile of a training run the second time"
    } else {
        ""
    };
    format!("  compiled with: {}{profile}\n", arguments.join(" "))
}
