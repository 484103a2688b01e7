//! The most important findings: for each what to do, its gain and its risk.

use ::tuning::Analysis;
use lab::analysis::{
    Answer, ExperimentAnalysis, Faster, Finding, RecallLoss, SafetyChange, SurvivalChange,
    TierChange,
};
use lab::level::label;
use lab::tier::{Accident, Class, Loss, Tier};

use super::subject::Subject;
use super::{anchor, run, tuning};
use crate::document::{Block, Item, Kind, List, Piece, Section, Sentence};
use crate::figures;
use crate::glossary::explained;
use crate::names::named;
use crate::words::{UNCRASHED, gain_words, loss_short, metric_heading};

/// The findings of a run; nothing where crashes alone were tried, which have no speed to compare.
pub(super) fn sections(analysis: &Analysis) -> Vec<Section> {
    let experiments = &analysis.experiments;
    if !experiments.is_empty() && experiments.iter().all(|experiment| experiment.tries_crashes()) {
        return Vec::new();
    }
    // The answer of the only measurement says the same.
    if matches!(experiments.as_slice(), [only] if only.is_measured_by_command()) {
        return Vec::new();
    }
    let items: Vec<Item> =
        analysis.findings.iter().filter_map(|finding| item(analysis, finding)).collect();
    // Indexes are counted before any setting is timed.
    let subjects = (0..experiments.len()).map(|index| Subject::of(analysis, index));
    let changes =
        subjects.filter_map(|subject| tuning::to_change(subject.tuning()?, subject.metric()));
    let changes: Vec<String> = changes.collect();
    let blocks = match (items.is_empty(), without_findings(analysis, !changes.is_empty())) {
        (true, None) => return Vec::new(),
        (true, Some(words)) => {
            changes.into_iter().chain([words.to_owned()]).map(Block::paragraph).collect()
        }
        (false, _) => vec![Block::List(List { numbered: true, items })],
    };
    vec![Section::new("findings", Kind::Highlights, "What matters on this machine", blocks)]
}

/// Returns the sentence that stands in place of findings. It claims less if `has_changes` of the application stand before it.
/// Returns nothing if no experiment has anything to compare.
fn without_findings(analysis: &Analysis, has_changes: bool) -> Option<&'static str> {
    let experiments = &analysis.experiments;
    let answers = experiments.iter().map(|experiment| experiment.answer(None));
    let answers: Vec<Answer<'_>> = answers.collect();
    let is_open =
        |answer: &Answer<'_>| matches!(answer, Answer::NoBaseline(_) | Answer::TooFewRounds);
    if answers.iter().all(|answer| matches!(answer, Answer::OnlyBaseline)) {
        None
    } else if answers.iter().all(is_open) {
        Some(match has_changes {
            true => "Too little was measured to recommend a setting.",
            false => "No answer yet: too little was measured.",
        })
    } else {
        let rungs = analysis.ladders.iter().flat_map(|ladder| &ladder.rungs);
        let mut advised = rungs.filter_map(|rung| Some(rung.advice.as_ref().ok()?.variant));
        Some(match experiments.as_slice() {
            [only] if only.id == "tune" && advised.any(|advised| loses_less(only, advised)) => {
                "No settings were found to be faster than the current ones, but others lose less."
            }
            [only] if only.id == "tune" => {
                "No settings were found to be better than the current ones."
            }
            [_] => "No variant was found to be better than the baseline.",
            _ => "No variant was found to be better than the baseline of its experiment.",
        })
    }
}

/// Returns whether a variant loses less in crashes than the baseline, as far as both were measured.
fn loses_less(experiment: &ExperimentAnalysis, variant: usize) -> bool {
    let [baseline, own] = [0, variant].map(|index| experiment.variants[index].class());
    baseline.is_measured() && own.is_measured() && own.order() < baseline.order()
}

fn item(analysis: &Analysis, finding: &Finding) -> Option<Item> {
    let mut experiments = analysis.experiments.iter().enumerate();
    let (index, experiment) = experiments.find(|(_, it)| it.key == finding.experiment)?;
    let subject = Subject::of(analysis, index);
    let directory = run::directory_name(analysis, experiment);
    let question = Piece::Link {
        text: Sentence::marked(&finding.question).plain(),
        to: anchor(index, experiment),
    };
    let mut link = Sentence(vec![question]);
    if let Some(directory) = directory {
        link = link.words(" on ").and_code(directory);
    }
    let tuning = subject.tuning();
    let in_application = tuning.and_then(|own| tuning::in_application(own, subject.metric()));
    let leads = tuning.and_then(|tuning| tuning::leads(tuning, finding.gain));
    if leads.is_none() && finding.confirmation_rounds.is_some() {
        link = link.and(explained(" (gain of the confirmation run)"));
    }
    let (gain, interval) =
        leads.map_or((finding.gain, finding.interval), |gain| (gain.ratio, gain.interval));
    let own = sentence(&subject, finding);
    let (first, second) = match (leads, in_application.map(Sentence::from)) {
        (Some(_), Some(change)) => (change, Some(own)),
        (_, change) => (own, change),
    };
    let step = finding.faster.as_ref().map(|faster| step(&subject, faster));
    Some(Item {
        lead: Some((
            figures::ratio_alone(gain, interval),
            figures::interval_of_ratio(gain, interval),
        )),
        badge: (leads.is_none() && finding.preliminary).then(|| "preliminary".to_owned()),
        tone: crate::document::Tone::Doubt,
        below: second.into_iter().chain(step).chain([link]).collect(),
        ..Item::new(first)
    })
}

/// Returns what to do, its gain and its risk: two lines at most.
pub(super) fn sentence(subject: &Subject<'_>, finding: &Finding) -> Sentence {
    let times = format!("{} times", figures::times(finding.gain, finding.interval));
    // A variant of a list may name settings that the baseline leaves as they are.
    let baseline = if finding.instead_of.is_empty() {
        "the baseline".into()
    } else {
        named(finding.baseline_name.as_ref(), &finding.instead_of)
    };
    let name = || named(finding.name.as_ref(), &finding.levels);
    let mut sentence = match &finding.answer {
        // Nothing that can destroy a database is put as an instruction.
        // Other files or recordings are other work, and nothing that takes the place of the baseline's.
        _ if is_other_work(finding) => name().words(" does its own work "),
        _ if can_corrupt(finding) => {
            let mut variants = subject.experiment.variants.iter();
            let all_judged =
                variants.all(|variant| variant.unmeasured() || variant.class().is_measured());
            let lead =
                if all_judged { "Only what can corrupt is faster: " } else { "Can corrupt: " };
            Sentence::from(lead).and(name()).words(", ")
        }
        Some(answer) => Sentence::marked(parts(answer).0).words(": "),
        None => Sentence::from("Use ").and(name()).words(": "),
    }
    .figure(times)
    .words(format!(" {} ", gain_words(subject.metric())))
    .and(baseline);
    if is_other_work(finding) {
        sentence = sentence.words("; figures do not show whether one can replace the other");
    }
    if !finding.conditions.is_empty() {
        sentence = sentence.words(", at ").and_code(label(&finding.conditions));
    }
    let losses = &subject.experiment.variants[finding.variant].recall_losses;
    let advised = !is_other_work(finding) && !can_corrupt(finding);
    let rest = finding.answer.as_deref().filter(|_| advised).and_then(|answer| parts(answer).1);
    let risks = [
        rest.map(|rest| Sentence::from(" ").and(Sentence::marked(rest))),
        risk(finding),
        finding.survives.as_ref().map(|change| survival(change).into()),
        losses.first().map(|_| recall(subject, losses).into()),
    ];
    risks.into_iter().flatten().fold(sentence.words("."), Sentence::and)
}

/// Whether the variant differs in what is executed, and not in how.
fn is_other_work(finding: &Finding) -> bool {
    ["scripts", "sql", "trace"].iter().any(|name| finding.levels.contains_key(*name))
}

/// Returns the advice without its full stop, and the sentences after it: the gain stands between them.
fn parts(answer: &str) -> (&str, Option<&str>) {
    let answer = answer.trim_end();
    match answer.split_once(". ") {
        Some((advice, rest)) => (advice, Some(rest)),
        None => (answer.strip_suffix('.').unwrap_or(answer), None),
    }
}

/// Whether the variant is known to be less safe than the baseline, and to corrupt.
fn can_corrupt(finding: &Finding) -> bool {
    let class = finding.tiers.as_ref().map(|tiers| tiers.own.class());
    let corrupts = |class: Class| {
        let losses = Accident::ALL.map(|accident| class.loss(accident));
        class.uncrashed || losses.contains(&Some(Loss::Corruption))
    };
    finding.is_less_safe && class.is_some_and(corrupts)
}

/// Returns what accidents take with the variant, and with the baseline if that differs; none if no
/// setting that decides it differs.
fn risk(finding: &Finding) -> Option<Sentence> {
    match (finding.safety_change(), &finding.tiers) {
        (SafetyChange::None, _) => None,
        (SafetyChange::NotMeasured(_), _) | (_, None) => {
            Some(" The loss in a crash was not measured.".into())
        }
        (_, Some(tiers)) => Some(explained(&format!(" {}.", lost(tiers)))),
    }
}

/// `In a power cut it can lose recent transactions (baseline: nothing)`; the same of a dying
/// process where that takes anything.
fn lost(tiers: &TierChange) -> String {
    let (own, baseline) = (tiers.own.class(), tiers.baseline.class());
    let compared = |accident: Accident| match (own.loss(accident), baseline.loss(accident)) {
        (own, baseline) if own == baseline => ", like the baseline".to_owned(),
        (_, baseline) => format!(" (baseline: {})", loss_short(baseline)),
    };
    loses(
        own,
        |accident| takes_anything(own, accident) || takes_anything(baseline, accident),
        compared,
    )
}

/// Whether an accident takes anything, as far as that was measured.
fn takes_anything(class: Class, accident: Accident) -> bool {
    class.loss(accident) != Some(Loss::Nothing)
}

/// Returns what a power cut takes, and a dying process if it `is_told`, each with the words of `compared`.
fn loses(
    class: Class,
    is_told: impl Fn(Accident) -> bool,
    compared: impl Fn(Accident) -> String,
) -> String {
    if class.uncrashed {
        return format!("It {UNCRASHED}");
    }
    let told = Accident::ALL.into_iter();
    let told = told.filter(|accident| *accident == Accident::Power || is_told(*accident));
    let part = |accident: Accident| {
        let when = match accident {
            Accident::Process => "If the process dies it",
            Accident::Power => "In a power cut it",
        };
        let loses = match class.loss(accident) {
            Some(Loss::Nothing) => "loses no acknowledged transaction",
            Some(Loss::LastTransaction) => "can lose the last transaction",
            Some(Loss::RecentTransactions) => "can lose recent transactions",
            Some(Loss::Corruption) => "can corrupt the database",
            None => "may lose anything: not measured",
        };
        format!("{when} {loses}{}", compared(accident))
    };
    told.map(part).collect::<Vec<_>>().join(". ")
}

/// Returns what an acknowledged change survives, if that differs from the baseline.
fn survival(change: &SurvivalChange) -> String {
    let more = if change.own > change.baseline { "More" } else { "Less" };
    format!(" {more} survives: {} (baseline: {}).", change.own, change.baseline)
}

/// Returns what the variant finds less often than the baseline.
fn recall(subject: &Subject<'_>, losses: &[RecallLoss]) -> String {
    let variants = &subject.experiment.variants;
    let own = subject.finding.map_or(0, |finding| finding.variant);
    let loss = |loss: &RecallLoss| {
        let of = |variant: usize| {
            let median = variants[variant].median(&loss.metric);
            median.map_or("–".to_owned(), |median| figures::figure(median, &loss.metric))
        };
        let what = metric_heading(&loss.metric).to_lowercase();
        format!("{what} {} instead of {}", of(own), of(0))
    };
    let losses: Vec<String> = losses.iter().map(loss).collect();
    format!(" It finds less: {}.", losses.join(", "))
}
/// The next step in a line: what is better still, and what it loses.
fn step(subject: &Subject<'_>, faster: &Faster) -> Sentence {
    let class = faster.tier.as_ref().map(Tier::class);
    let lost = match (class, faster.survives) {
        (Some(class), _) if class.is_measured() => {
            loses(class, |accident| takes_anything(class, accident), |_| String::new())
        }
        (_, Some(survives)) => format!("What survives: {survives}"),
        _ => "The loss in a crash was not measured".to_owned(),
    };
    better_still(subject, faster).words(". ").and(explained(&format!("{lost}.")))
}

/// Returns which variant beats the finding's, and by how much it beats the baseline.
pub(super) fn better_still(subject: &Subject<'_>, faster: &Faster) -> Sentence {
    let experiment = subject.experiment;
    let safety = if experiment.is_less_safe(&experiment.variants[faster.variant]) {
        "but less safe"
    } else {
        "but with unknown safety"
    };
    Sentence::from(format!("Better still, {safety}: "))
        .and(named(faster.name.as_ref(), &faster.levels))
        .words(", ")
        .figure(format!("{} times", figures::times(faster.gain, faster.interval)))
        .words(format!(" {} the baseline", gain_words(subject.metric())))
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn the_gain_stands_after_the_first_sentence_of_an_answer() {
        let batch = "Use one transaction. A crash before COMMIT loses the batch.";
        let (advice, rest) = parts(batch);
        assert_eq!(
            (advice, rest),
            ("Use one transaction", Some("A crash before COMMIT loses the batch."))
        );
        assert_eq!(parts("Use 2.5 MB of cache."), ("Use 2.5 MB of cache", None));
    }
}
