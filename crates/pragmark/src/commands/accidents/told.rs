//! What came of accidents, in words and as data. It stands apart because nothing here makes any happen.

use std::fmt::Write;

use accidents::kill::Outcome;
use accidents::schedule::Explored;
use serde_json::{Value, json};

use super::Common;
use crate::cli::CrashFormat;

/// Findings of one setting that are told in words; data has all.
const TOLD: usize = 3;

/// What came of killed processes.
pub(super) fn kills(outcomes: &[Outcome], common: &Common<'_>) -> String {
    match common.format {
        CrashFormat::Terminal => kills_in_terminal(outcomes, common),
        CrashFormat::Markdown => kills_in_markdown(outcomes, common),
        CrashFormat::Json => {
            let told = outcomes.iter();
            as_json("kills", common, told.map(|it| (it.verdict(), json!(it))))
        }
    }
}

/// What came of schedules.
pub(super) fn schedules(explored: &[Explored], common: &Common<'_>) -> String {
    match common.format {
        CrashFormat::Terminal => schedules_in_terminal(explored, common),
        CrashFormat::Markdown => schedules_in_markdown(explored, common),
        CrashFormat::Json => {
            let told = explored.iter();
            as_json(
                "schedules",
                common,
                told.map(|it| (it.verdict(), json!(it))),
            )
        }
    }
}

/// Each outcome with its verdict in words.
fn as_json(
    name: &str,
    common: &Common<'_>,
    outcomes: impl Iterator<Item = (String, Value)>,
) -> String {
    let outcomes = outcomes.map(|(verdict, mut outcome)| {
        outcome["verdict"] = verdict.into();
        outcome
    });
    let document = json!({
        "engine": common.engine.to_string(),
        "seed": common.seed,
        name: outcomes.collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

const ABOUT_KILLS: &str = "\
unfinished: kills that left a journal or a log to recover. checked: databases opened
and compared; the others went to the next process first. A killed process leaves what
it wrote to the system, so this says nothing of power failures.";

fn kills_in_terminal(outcomes: &[Outcome], common: &Common<'_>) -> String {
    let mut text = format!(
        "Processes killed while they write (engine {}, seed {}):\n\n  \
         journal_mode synchronous locking      kills unfinished checked commits\n",
        common.engine, common.seed
    );
    for outcome in outcomes {
        let _ = writeln!(
            text,
            "  {:<12} {:<11} {:<10} {:>7} {:>10} {:>7} {:>7}",
            outcome.setting.journal_mode,
            outcome.setting.synchronous,
            outcome.setting.locking_mode,
            outcome.kills,
            outcome.unfinished,
            outcome.checked,
            outcome.acknowledged
        );
        let _ = writeln!(text, "    {}", outcome.verdict());
        for finding in damage(outcome) {
            let _ = writeln!(text, "    {finding}");
        }
    }
    let kills: u64 = outcomes.iter().map(|outcome| outcome.kills).sum();
    let bad: usize = outcomes.iter().map(|outcome| outcome.findings.len()).sum();
    let _ = writeln!(text, "\n{bad} of {kills} kills did damage.\n{ABOUT_KILLS}");
    text
}

fn kills_in_markdown(outcomes: &[Outcome], common: &Common<'_>) -> String {
    let mut text = format!(
        "# Processes killed while they write\n\nEngine {}, seed {}.\n\n\
         | journal_mode | synchronous | locking_mode | kills | unfinished | checked | commits | verdict |\n\
         | --- | --- | --- | --: | --: | --: | --: | --- |\n",
        common.engine, common.seed
    );
    for outcome in outcomes {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            outcome.setting.journal_mode,
            outcome.setting.synchronous,
            outcome.setting.locking_mode,
            outcome.kills,
            outcome.unfinished,
            outcome.checked,
            outcome.acknowledged,
            outcome.verdict()
        );
    }
    for outcome in outcomes {
        for finding in damage(outcome) {
            let _ = write!(text, "\n- {}: {finding}", outcome.setting);
        }
    }
    let _ = writeln!(text, "\n{ABOUT_KILLS}");
    text
}

/// The first damaged databases, a line each.
fn damage(outcome: &Outcome) -> impl Iterator<Item = String> {
    outcome.findings.iter().take(TOLD).map(|finding| {
        let kept = finding.kept.as_ref();
        let kept = kept.map_or(String::new(), |kept| {
            format!(" (kept in {})", kept.display())
        });
        let damage = finding.damage.to_string().replace('\n', "; ");
        format!("kill {}: {damage}{kept}", finding.kill)
    })
}

fn schedules_in_terminal(explored: &[Explored], common: &Common<'_>) -> String {
    let mut text = format!(
        "Two connections at the same instant (engine {}, seed {}):\n\n",
        common.engine, common.seed
    );
    for scenario in explored {
        let _ = writeln!(
            text,
            "  {}/{}: {}\n    {}",
            scenario.scenario,
            scenario.journal_mode,
            scenario.what,
            scenario.verdict()
        );
        for what in wrong(scenario) {
            let _ = writeln!(text, "    {what}");
        }
    }
    text.push_str(&summary(explored, common));
    text
}

fn schedules_in_markdown(explored: &[Explored], common: &Common<'_>) -> String {
    let mut text = format!(
        "# Two connections at the same instant\n\nEngine {}, seed {}.\n\n\
         | scenario | what | calls | schedules | wrong | verdict |\n\
         | --- | --- | --: | --: | --: | --- |\n",
        common.engine, common.seed
    );
    for scenario in explored {
        let _ = writeln!(
            text,
            "| {}/{} | {} | {} | {} | {} | {} |",
            scenario.scenario,
            scenario.journal_mode,
            scenario.what,
            scenario.calls,
            scenario.played,
            scenario.wrong,
            scenario.verdict()
        );
    }
    for what in explored.iter().flat_map(wrong) {
        let _ = write!(text, "\n- {what}");
    }
    text.push_str(&summary(explored, common));
    text
}

/// What went wrong in a scenario, a line each.
fn wrong(scenario: &Explored) -> impl Iterator<Item = String> {
    scenario.findings.iter().flat_map(|finding| {
        let each = finding.what.iter();
        each.map(move |what| format!("{}: {what}", finding.schedule))
    })
}

fn summary(explored: &[Explored], common: &Common<'_>) -> String {
    let wrong: u64 = explored.iter().map(|scenario| scenario.wrong).sum();
    let played: u64 = explored.iter().map(|scenario| scenario.played).sum();
    let whole = explored.iter().filter(|scenario| scenario.exhaustive);
    let mut text = format!(
        "\n{wrong} of {played} schedules went wrong; of {} of {} scenarios all were played.\n",
        whole.count(),
        explored.len()
    );
    let mut findings = explored.iter().flat_map(|scenario| &scenario.findings);
    if let Some(finding) = findings.next() {
        let _ = writeln!(
            text,
            "To see one call by call: pragmark crash --engine {} --schedule {}",
            common.engine, finding.schedule
        );
    }
    text
}
