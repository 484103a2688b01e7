//! `pragmark show`: an experiment before it is run.

use std::fmt::Write;

use app::{Result, library};
use lab::catalogue::Catalogue;
use lab::claims::Claim;
use lab::design::{trials_per_round, variants};
use lab::experiment::{Experiment, Scale};
use lab::level::label;
use lab::text::one_line;

use crate::exit::Exit;
use crate::output;

/// Prints an experiment.
pub fn execute(name: &str, scale: Scale) -> Result<Exit> {
    let catalogue = drivers::catalogue(None)?;
    let experiments = library::named(&[name.to_owned()], &catalogue)?;
    let text: String =
        experiments.iter().map(|experiment| describe(experiment, scale, &catalogue)).collect();
    output::display(&text)
}

fn describe(experiment: &Experiment, scale: Scale, catalogue: &Catalogue) -> String {
    let mut text = format!("{}\n{}\n", experiment.id, one_line(&experiment.question));
    if let Some(note) = &experiment.note {
        let _ = writeln!(text, "\n{note}");
    }
    let variants = variants(experiment, scale, catalogue);
    let stopping = experiment.design.stopping;
    let workload = catalogue.workload(&experiment.workload);
    let counting = if workload.is_some_and(|workload| workload.counts) {
        format!(", {} trials in the counting pass", variants.len())
    } else {
        String::new()
    };
    let _ = writeln!(
        text,
        "\nworkload {}, compared by {}, scale {scale}\n{} variants, {} trials per round, {} to {} rounds{counting}",
        experiment.workload,
        experiment.metric,
        variants.len(),
        trials_per_round(variants.len() + experiment.upper_bounds.len()),
        stopping.rounds,
        stopping.max_rounds
    );
    for (index, variant) in variants.iter().enumerate() {
        let mark = if index == 0 { "  (baseline)" } else { "" };
        let _ = writeln!(
            text,
            "  {}{mark}\n      {}",
            one_line(&variant.label),
            one_line(&label(&variant.settings))
        );
    }
    for claim in &experiment.claims {
        let _ = writeln!(text, "{}", describe_claim(claim));
    }
    for check in &experiment.checks {
        let _ = writeln!(
            text,
            "\nverified in every trial, {}: {}",
            one_line(&check.id),
            one_line(&check.says)
        );
    }
    text
}

fn describe_claim(claim: &Claim) -> String {
    let bounds =
        claim.forms().first().map(|form| format!("{} {}", form.key(), claim.bounds(*form)));
    let published = claim.published.map(|figure| format!("published {figure}"));
    let expected =
        claim.expected.map(|value| format!("expected {} ({})", value.figure, value.origin));
    let requires = claim.requires.iter().map(|name| format!("requires {name}"));
    let scales = claim.not_at.iter();
    let scales =
        scales.map(|(scale, lacks)| format!("not at the scale {scale} ({})", one_line(lacks)));
    let because = claim.bound_because.iter().map(|why| format!("\n      bound: {}", one_line(why)));
    let facts: Vec<String> =
        [bounds, published, expected].into_iter().flatten().chain(requires).chain(scales).collect();
    format!(
        "\nclaim {}: {}\n      {}{}",
        one_line(&claim.id),
        one_line(&claim.says),
        facts.join(", "),
        because.collect::<String>()
    )
}
