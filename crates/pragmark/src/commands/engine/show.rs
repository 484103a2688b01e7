//! `pragmark engine show`: an engine, or how it would be built.

use std::fmt::Write;
use std::sync::atomic::AtomicBool;

use ::engine::WHERE_SUPPORTED;
use ::engine::build::{BuildName, Builder, CRATE, Cache, EngineName, Recipe, Tools};
use lab::record::{EngineRecord, SyncCheck};
use serde_json::json;

use super::prepare::located;
use super::{describe, named, problem};
use crate::commands::{output, run::native_driver};
use crate::failure::{Exit, Failure};

/// Prints the description of the engine and how it was built, or how it would be built.
pub fn execute(text: &str, json: bool) -> Result<Exit, Failure> {
    let name = named(text)?;
    let to_load = match &name {
        EngineName::Build(build) => match existing(build)? {
            Some(library) => library,
            None => return output::display(&plan(build, json)),
        },
        other => located(other)?,
    };
    let record = describe(text, &to_load, &native_driver()?)?;
    if let Some(failure) = problem(&record) {
        return Err(failure);
    }
    let shown = if json { format!("{:#}\n", json!(record)) } else { as_text(&record) };
    output::display(&shown)
}

/// The path of a build, if it exists.
fn existing(build: &BuildName) -> Result<Option<String>, Failure> {
    let cache = Cache::of_user()?;
    let never = AtomicBool::new(false);
    let untrained = |_: &std::path::Path| Err("nothing is built here".to_owned());
    let builder = Builder::new(&cache, Tools::of_user(), &untrained, runner::now, &never);
    let kept = builder.existing(build)?;
    Ok(kept.map(|kept| kept.library.display().to_string()))
}

fn plan(build: &BuildName, json: bool) -> String {
    let recipe = Recipe::of(build, WHERE_SUPPORTED);
    let source = format!("{CRATE} {}", build.release().crate_version);
    if json {
        let plan = json!({
            "name": build.to_string(),
            "built": false,
            "source": source,
            "arguments": recipe.arguments(),
            "profile_guided": recipe.profile_guided,
        });
        return format!("{plan:#}\n");
    }
    let mut text =
        format!("{build}: not built yet; to build it, run `pragmark engine build {build}`\n");
    let _ = writeln!(text, "  source: {source}");
    text += &arguments(&recipe.arguments(), recipe.profile_guided);
    for set in build.sets() {
        let source = set.source.map_or(String::new(), |source| format!(" ({source})"));
        let _ = writeln!(text, "  {}: {}{source}", set.name, set.meaning);
        for option in set.options {
            let _ = writeln!(text, "    {}: {}", option.define(), option.meaning);
        }
        for flag in set.flags {
            let _ = writeln!(text, "    {flag}");
        }
    }
    text
}

fn as_text(engine: &EngineRecord) -> String {
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
        SyncCheck::NotChecked { why } => format!("not checked ({why})"),
    }
}

fn arguments(arguments: &[String], profile_guided: bool) -> String {
    let profile = match profile_guided {
        true => ", twice, with the profile of a training run the second time",
        false => "",
    };
    format!("  compiled with: {}{profile}\n", arguments.join(" "))
}
