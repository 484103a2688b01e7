//! `pragmark settings`: the settings that a run recommends, ready to paste.

use lab::tier::MayLose;
use report::settings::Binding;

use super::{output, report as of_run};
use crate::cli::{AcceptedLoss, SettingsArgs};
use crate::failure::{Exit, Failure};

/// Writes the settings in the forms asked for.
pub fn execute(args: &SettingsArgs) -> Result<Exit, Failure> {
    let analysis = of_run::analyse(&args.run)?;
    let keys: Vec<&str> = analysis.ladders.iter().map(|one| one.experiment.as_str()).collect();
    if keys.is_empty() && analysis.tuning.is_some() {
        let folder = args.run.display();
        return Err(Failure::unusable(format!(
            "the search in {folder} ended before it recommended anything"
        ))
        .hint(format!("go on with `pragmark run --resume {folder}`")));
    }
    if keys.is_empty() {
        return Err(Failure::unusable(format!(
            "no experiment in {} compares settings of SQLite, so it recommends none",
            args.run.display()
        ))
        .hint("run an experiment with a PRAGMA as a factor, such as pragma-journal-sync"));
    }
    if let Some(wanted) = args.experiment.as_deref().filter(|key| !keys.contains(key)) {
        return Err(unknown(wanted, &keys));
    }
    let text = report::settings_to_use(
        &analysis,
        &report::SettingsQuery {
            experiment: args.experiment.clone(),
            binding: args.binding,
            may_lose: may_lose(args),
        },
    );
    output::write_text(args.out.as_deref(), &text)
}

/// What the options accept to lose.
fn may_lose(args: &SettingsArgs) -> MayLose {
    match (args.accept_anything, args.may_lose) {
        (true, _) => MayLose::Anything,
        (false, AcceptedLoss::Nothing) => MayLose::Nothing,
        (false, AcceptedLoss::Recent) => MayLose::Recent,
    }
}

fn unknown(wanted: &str, keys: &[&str]) -> Failure {
    let mut known: Vec<&str> = keys.to_vec();
    known.dedup();
    let nearest = lab::experiment::nearest(wanted, known.iter().copied());
    Failure::usage(format!(
        "no experiment `{wanted}` in this run recommends settings; these do: {}",
        known.join(", ")
    ))
    .hint_if(nearest.map(|nearest| format!("did you mean `{nearest}`?")))
}

/// The binding of this name, for the command line.
pub fn binding(name: &str) -> Result<Binding, String> {
    let names = || Binding::ALL.into_iter().map(Binding::name);
    Binding::find(name).ok_or_else(|| {
        let known = names().collect::<Vec<_>>().join(", ");
        match lab::experiment::nearest(name, names()) {
            Some(nearest) => format!("did you mean `{nearest}`? Bindings: {known}"),
            None => format!("bindings: {known}"),
        }
    })
}
