//! Advice on command lines that are wrong: where an option or a command is instead.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use lab::experiment::nearest;

/// Names of commands that have another place, with the place.
const MOVED: [(&str, &str); 6] = [
    ("open", "pragmark report --open"),
    ("export", "pragmark report --format csv"),
    ("history", "pragmark runs history"),
    ("agent", "pragmark fleet agent"),
    ("completions", "pragmark --install-completions"),
    ("man", "pragmark --generate man"),
];

/// Returns an error of clap with the advice that fits.
pub fn with_advice(mut error: clap::Error) -> clap::Error {
    match error.kind() {
        ErrorKind::InvalidSubcommand => nearest_command(&mut error),
        ErrorKind::UnknownArgument => elsewhere(&mut error),
        ErrorKind::InvalidValue => likely_value(&mut error),
        _ => {}
    }
    error
}

/// Puts the nearest command first: `rnu` is a slip for `run`, which is too short to be like it by clap's measure.
fn nearest_command(error: &mut clap::Error) {
    let Some(given) = text(error, ContextKind::InvalidSubcommand) else { return };
    if let Some((_, place)) = MOVED.iter().find(|(name, _)| *name == given) {
        error.remove(ContextKind::SuggestedSubcommand);
        advise(error, format!("this is `{place}`"));
        return;
    }
    let cli = super::command();
    let commands = cli.get_subcommands().filter(|command| !command.is_hide_set());
    let names: Vec<&str> = commands.map(clap::Command::get_name).collect();
    let mut suggested: Vec<String> =
        nearest(&given, names.iter().copied()).map(str::to_owned).into_iter().collect();
    if let Some(ContextValue::Strings(others)) = error.get(ContextKind::SuggestedSubcommand) {
        let others = others.iter().filter(|name| names.contains(&name.as_str()));
        let others: Vec<String> =
            others.filter(|name| !suggested.contains(name)).cloned().collect();
        suggested.extend(others);
    }
    error.remove(ContextKind::SuggestedSubcommand);
    if !suggested.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(suggested));
    }
}

/// Names the place of an option that this command does not have: a setting, or an option of other commands.
fn elsewhere(error: &mut clap::Error) {
    let Some(given) = text(error, ContextKind::InvalidArg) else { return };
    let Some(option) = given.strip_prefix("--") else { return };
    let cli = super::command();
    let Some(here) = std::env::args().skip(1).find_map(|word| cli.find_subcommand(word)) else {
        return;
    };
    let name = here.get_name();
    let setting = option.replace('-', "_");
    let way = match (name, &*setting) {
        ("explain", "engine" | "analyze") => Some("--vary"),
        // Its `--set` is for parameters of statements.
        ("explain", _) => None,
        _ => Some("--set").filter(|_| is_setting(&setting)),
    };
    let way = way.filter(|way| here.get_opts().any(|known| known.get_long() == way.get(2..)));
    if let Some(way) = way {
        error.remove(ContextKind::SuggestedArg);
        advise(error, format!("`{name}` takes it as `{way} {setting}=…`"));
        return;
    }
    let having = cli.get_subcommands().filter(|command| !command.is_hide_set()).filter(|command| {
        let mut options = command.get_opts().filter(|known| !known.is_hide_set());
        options.any(|known| known.get_long() == Some(option))
    });
    let having: Vec<String> = having.map(|command| format!("`{}`", command.get_name())).collect();
    if !having.is_empty() {
        advise(error, format!("`{name}` lacks this option; these have it: {}", having.join(", ")));
    }
}

/// Returns whether experiments, and so `--set`, have a setting of this name.
fn is_setting(name: &str) -> bool {
    let catalogue = bench::catalogue();
    let own = catalogue.workloads.iter().flat_map(|workload| &workload.parameters);
    own.chain(&catalogue.shared).any(|parameter| parameter.name == name)
}

/// Drops the suggestion of a value that begins otherwise: `everything` does not mean `nothing`.
fn likely_value(error: &mut clap::Error) {
    let given = text(error, ContextKind::InvalidValue).unwrap_or_default();
    let Some(suggested) = text(error, ContextKind::SuggestedValue) else { return };
    let first = |word: &str| word.chars().next().map(|letter| letter.to_ascii_lowercase());
    if first(&given) != first(&suggested) {
        error.remove(ContextKind::SuggestedValue);
    }
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    }
}

fn advise(error: &mut clap::Error, advice: String) {
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(advice)]));
}
