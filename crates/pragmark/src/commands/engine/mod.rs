//! `pragmark engine`: the SQLite libraries that can be tested.

mod add;
mod build;
mod list;
mod of_run;
mod prepare;
mod remove;
mod show;

pub use list::{at_hand, line};
pub use of_run::{check_unchanged, name_in_plan, names, of_plan, usable};
pub use prepare::{describe, prepare, problem, source};

use ::engine::build::{BuildError, CRATE, EngineName, OPTION_SETS, RELEASES};
use lab::experiment::nearest;

use crate::cli::EngineCommand;
use crate::failure::{Exit, Failure};

/// Executes the command.
pub fn execute(command: &EngineCommand) -> Result<Exit, Failure> {
    match command {
        EngineCommand::List { json } => list::execute(*json),
        EngineCommand::Build(args) => build::execute(args),
        EngineCommand::Add { library, name } => add::execute(library, name),
        EngineCommand::Remove { engines, all } => remove::execute(engines, *all),
        EngineCommand::Show { engine, json } => show::execute(engine, *json),
    }
}

/// The name that a user wrote.
pub fn named(text: &str) -> Result<EngineName, Failure> {
    text.parse().map_err(Failure::from)
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Failure {
        let hint = hint(&error);
        let failure = match &error {
            BuildError::EmptyName
            | BuildError::UnknownVersion(_)
            | BuildError::UnknownSet(_)
            | BuildError::CompiledAlready { .. }
            | BuildError::NotAName(_)
            | BuildError::NameTaken(_) => Failure::usage(error),
            BuildError::Cancelled => Failure::interrupted(error),
            _ => Failure::unusable(error),
        };
        failure.hint_if(hint)
    }
}

/// What to do about it.
fn hint(error: &BuildError) -> Option<String> {
    Some(match error {
        BuildError::UnknownVersion(given) => {
            // Digits are alike by chance: only another version of the same minor version is meant.
            let minor = given.rsplit_once('.')?.0;
            let versions = RELEASES.iter().map(|release| release.version);
            let related = versions.filter(|it| it.rsplit_once('.').is_some_and(|it| it.0 == minor));
            format!("did you mean `{}`?", nearest(given, related)?)
        }
        BuildError::UnknownSet(given) => {
            let sets = OPTION_SETS.iter().map(|set| set.name);
            format!("did you mean `{}`?", nearest(given, sets)?)
        }
        BuildError::Unknown(given) => match nearest(given, ["default", "system"]) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "see `pragmark engine list`; name a library of your own by its path".to_owned(),
        },
        BuildError::NameTaken(name) => {
            format!("remove the other with `pragmark engine remove {name}`, or choose another name")
        }
        BuildError::NoCache(_) => "set PRAGMARK_CACHE to a directory for engines".to_owned(),
        BuildError::Program { what: "cargo", .. } => {
            "cargo fetches the source of SQLite; install Rust from https://rustup.rs, or set CARGO to its path"
                .to_owned()
        }
        BuildError::Program { .. } => {
            "install it with `apt install build-essential`, `dnf install gcc` or `xcode-select --install`, or set CC to its path"
                .to_owned()
        }
        BuildError::Fetch { .. } => format!(
            "the crate registry must be reachable the first time; run `cargo fetch` in a project that depends on {CRATE} for details"
        ),
        BuildError::ProfileNeedsGcc(_) => "set CC=gcc".to_owned(),
        BuildError::BadProvenance { path, .. } => {
            format!("remove the directory of {}", path.display())
        }
        _ => return None,
    })
}
