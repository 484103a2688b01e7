//! Findings, answers and settings to use.

use lab::analysis::{Advice, ComparisonResult, ExperimentAnalysis, Finding};
use lab::stats::Interval;
use pragmark_report as report;
use report::figures;

use crate::agreement::reading::{Chapter, Reading};

pub fn faults(reading: &Reading<'_>) -> Vec<String> {
    let findings = &reading.analysis.findings;
    let of_findings = findings.iter().flat_map(|finding| of_finding(reading, finding));
    let mut faults: Vec<String> = of_findings.collect();
    faults.extend(listed(reading));
    faults.extend(ranked(findings));
    faults.extend(advised(reading));
    faults
}

fn experiment<'a>(reading: &'a Reading<'_>, key: &str) -> &'a ExperimentAnalysis {
    let mut experiments = reading.analysis.experiments.iter();
    let found = experiments.find(|experiment| experiment.key == key);
    found.expect("an experiment of the run")
}

/// Whether a gain is one, with the whole of its interval.
fn is_shown(gain: f64, interval: Interval) -> bool {
    gain > 1.0 && interval.low > 1.0
}

/// The finding's own figures, and what it says of other variants.
fn of_finding(reading: &Reading<'_>, finding: &Finding) -> Vec<String> {
    let experiment = experiment(reading, &finding.experiment);
    let variant = &experiment.variants[finding.variant];
    let is_tied = |label: &String| finding.tied.contains(label);
    let better_still = |is_wrong: &dyn Fn(f64, Interval) -> bool| {
        let faster = finding.faster.as_ref();
        faster.is_some_and(|faster| is_wrong(faster.gain, faster.interval))
    };
    let contradicted = [
        (!is_shown(finding.gain, finding.interval), "its rounds do not show it"),
        (!is_of_row(experiment, finding), "its row has another figure"),
        (is_tied(&experiment.variants[0].label), "it ties with the baseline"),
        (is_tied(&variant.label), "it ties with itself"),
        (better_still(&|gain, _| gain <= finding.gain), "better still is not better"),
        (
            better_still(&|gain, interval| !is_shown(gain, interval)),
            "the rounds of what is better still do not show it",
        ),
        (variant.compared(&experiment.metric) != ComparisonResult::Better, "its row is not better"),
        (!is_advised(reading, experiment, finding.variant), "the settings to use are others"),
        (
            (finding.faster.as_ref())
                .is_some_and(|it| !is_advised(reading, experiment, it.variant)),
            "better still is no setting to use",
        ),
    ];
    let contradicted = contradicted.into_iter().filter(|(is_so, _)| *is_so);
    contradicted
        .map(|(_, why)| format!("finding of {}: {why}: {finding:?}", finding.experiment))
        .collect()
}

/// Whether the settings to use name a variant too; true for what no settings to use are of.
fn is_advised(reading: &Reading<'_>, experiment: &ExperimentAnalysis, variant: usize) -> bool {
    let mut ladders = reading.analysis.ladders.iter();
    let Some(ladder) = ladders.find(|ladder| ladder.experiment == experiment.key) else {
        return true;
    };
    let mut advised = ladder.rungs.iter().filter_map(|rung| rung.advice.as_ref().ok());
    !lab::target::is_sqlite(&experiment.variants[variant].settings)
        || advised.any(|advice| advice.variant == variant)
}

/// Whether the gain is that of the confirmation run, or else that of the row.
fn is_of_row(experiment: &ExperimentAnalysis, finding: &Finding) -> bool {
    let variant = &experiment.variants[finding.variant];
    let of_row = variant.effect.as_ref().map(|effect| effect.estimate.centre);
    let confirmed = variant.confirmation.as_ref().map(|confirmation| confirmation.centre);
    let ratio = confirmed.or(of_row).unwrap_or(f64::NAN);
    let gain = if lab::metric::higher_is_better(&experiment.metric) { ratio } else { 1.0 / ratio };
    (gain - finding.gain).abs() <= 1e-9 * gain
}

/// Each item of the list has the figures of its finding.
fn listed(reading: &Reading<'_>) -> Vec<String> {
    let items = reading.findings();
    let findings = &reading.analysis.findings;
    let mut faults = Vec::new();
    if items.len() != findings.len() {
        let counts = (items.len(), findings.len());
        faults.push(format!("items and findings: {counts:?}"));
    }
    for (item, finding) in items.iter().zip(findings) {
        let text = item.text.plain();
        let times = figures::times(finding.gain, finding.interval);
        let ratio = figures::ratio(finding.gain, finding.interval);
        let lead = item.lead.as_ref();
        let lead = lead.map(|(figure, interval)| format!("{figure} {interval}"));
        let has_lead = lead.is_none_or(|lead| lead == ratio);
        if !text.contains(&format!("{times} times ")) || !has_lead {
            faults.push(format!("not {ratio}: {text}"));
        }
    }
    faults
}

/// The greater gain comes first, unless its variant is known to be less safe.
fn ranked(findings: &[Finding]) -> Vec<String> {
    let pairs = findings.windows(2);
    let wrong = pairs.filter(|two| match (two[0].is_less_safe, two[1].is_less_safe) {
        (false, true) => false,
        (true, false) => true,
        _ => two[0].gain < two[1].gain,
    });
    let named = |finding: &Finding| format!("{} ×{}", finding.experiment, finding.gain);
    wrong.map(|two| format!("{} comes before {}", named(&two[0]), named(&two[1]))).collect()
}

/// Settings to use are no worse than the baseline's, and those whose gain is told are better by it.
fn advised(reading: &Reading<'_>) -> Vec<String> {
    let rungs = reading.analysis.ladders.iter().flat_map(|ladder| {
        let rungs = ladder.rungs.iter();
        rungs.filter_map(|rung| Some((ladder.experiment.as_str(), rung.advice.as_ref().ok()?)))
    });
    let wrong = rungs.filter(|(key, advice)| !is_sound(experiment(reading, key), advice));
    wrong.map(|(key, advice)| format!("advice of {key} that nothing shows: {advice:?}")).collect()
}

fn is_sound(experiment: &ExperimentAnalysis, advice: &Advice) -> bool {
    let variant = &experiment.variants[advice.variant];
    let is_unconfirmed = variant.confirmation.is_none();
    match &advice.gain {
        None => advice.variant == 0,
        // What is safer may be slower.
        Some(gain) if gain.is_found => gain.ratio < 1.0 || is_shown(gain.ratio, gain.interval),
        Some(_) => is_unconfirmed,
    }
}

/// The answer of an experiment agrees with its rows.
pub fn of_chapter(chapter: &Chapter<'_>) -> Vec<String> {
    let checks = [every_other, no_difference, unmeasured, confirmed, aa_check];
    let found = checks.into_iter().filter_map(|check| check(chapter));
    found.collect()
}

fn alternatives(chapter: &Chapter<'_>) -> Vec<ComparisonResult> {
    let experiment = chapter.experiment;
    let variants = experiment.variants.iter().skip(1);
    let alternatives = variants.filter(|variant| experiment.is_alternative(variant));
    let standings = alternatives.map(|alternative| alternative.compared(&experiment.metric));
    standings.collect()
}

/// That every other variant is worse is said where every one is.
fn every_other(chapter: &Chapter<'_>) -> Option<String> {
    let sentence = chapter.sentence("Nothing beats")?;
    let standings = alternatives(chapter);
    let says = |words: &str| sentence.contains(words);
    let all_worse = standings.iter().all(|standing| *standing == ComparisonResult::Worse);
    let says_all = says("every other variant") || says("the other variant");
    let is_beaten = standings.contains(&ComparisonResult::Better);
    ((says_all && !all_worse) || is_beaten).then(|| format!("{standings:?}: {sentence}"))
}

/// That nothing differs is said where no interval shows a difference.
fn no_difference(chapter: &Chapter<'_>) -> Option<String> {
    let sentence = chapter.sentence("No detectable difference from")?;
    let standings = alternatives(chapter);
    let experiment = chapter.experiment;
    let mut variants = experiment.variants.iter();
    let is_lost = variants
        .any(|variant| experiment.is_alternative(variant) && variant.is_lost_in_correction());
    let all_same = standings.iter().all(|standing| *standing == ComparisonResult::Same);
    (!all_same || is_lost).then(|| format!("{standings:?}, lost {is_lost}: {sentence}"))
}

/// What was measured is not called unmeasured.
fn unmeasured(chapter: &Chapter<'_>) -> Option<String> {
    let mut classes = chapter.experiment.variants.iter().map(|variant| variant.class());
    let sentences = chapter.sentences().into_iter();
    let mut denied = sentences.filter(|sentence| sentence.contains("safety was not measured"));
    let sentence = denied.next()?;
    let all_measured = classes.all(|class| class.is_measured());
    all_measured.then(|| format!("tiers are known: {sentence}"))
}

/// A confirmation run that is said to confirm does.
fn confirmed(chapter: &Chapter<'_>) -> Option<String> {
    let sentences = chapter.sentences().into_iter();
    let mut confirmed = sentences.filter(|sentence| sentence.contains("which confirm"));
    let sentence = confirmed.next()?;
    let variants = chapter.experiment.variants.iter();
    let mut confirmations = variants.filter_map(|variant| variant.confirmation.as_ref());
    let is_shown = confirmations.any(|confirmation| !confirmation.interval.contains(1.0));
    (!is_shown).then(|| format!("no confirmation run shows it: {sentence}"))
}

/// The A/A check is said to have failed where it did, and to have passed where it did and variants are compared.
fn aa_check(chapter: &Chapter<'_>) -> Option<String> {
    let sentences = chapter.sentences();
    let is_said = |words: &str| sentences.iter().any(|sentence| sentence.contains(words));
    let said = (is_said("A/A check failed"), is_said("A/A check passed"));
    let is_alarm = chapter.experiment.aa_check_alarm();
    let is_compared = chapter.experiment.variants.len() > 1;
    let is_passed = is_compared && chapter.experiment.aa_check.is_some() && !is_alarm;
    (said != (is_alarm, is_passed)).then(|| format!("A/A check: {said:?}"))
}
