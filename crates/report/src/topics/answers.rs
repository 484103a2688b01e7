//! The answer to the question of each experiment, what weakens it, and what else there is to know of it.

use lab::analysis::{Answer, Compared, ExperimentAnalysis, Faster, Finding, SafetyChange};
use lab::design::MANY;
use lab::tier::{Accident, Class};

use super::findings::{better_still, sentence};
use super::hints::{finer, longer, more_rounds, too_noisy};
use super::statements;
use super::subject::Subject;
use crate::document::{Block, Item, Role, Sentence, blocks, joined};
use crate::figures;
use crate::glossary::explained;
use crate::words::{UNCRASHED, grouped, loss_short, metric_heading, plural, tier_words};

/// Variants that are named; of more only the number is given.
const NAMED: usize = 3;

/// The answer to the question of an experiment, what weakens it, and what else there is to know of it.
pub(super) fn answer(subject: &Subject<'_>) -> Vec<Block> {
    let experiment = subject.experiment;
    let doubts = doubts(subject).into_iter();
    let doubts = doubts.map(|(badge, why)| Item::doubt(Some(badge), explained(&why)));
    let (words, in_the_mix) = with_mix(subject);
    let details = subject.finding.map(|finding| details(subject, finding)).unwrap_or_default();
    let details = details.into_iter().chain(in_the_mix);
    let note = experiment.note.as_deref().map(Sentence::marked);
    let note = note.map(|note| Block::full(vec![Block::Paragraph(note, Role::Quote)]));
    // What is lost with the current settings is an answer already.
    let is_open = subject.current().is_none_or(|index| experiment.variants[index].safety.is_none());
    // The findings of a run with one experiment say it already.
    let is_said = subject.finding.is_some()
        && subject.analysis.experiments.len() == 1
        && !experiment.is_measured_by_command();
    let words = (is_open && !is_said).then_some(Block::Paragraph(words, Role::Answer));
    blocks![words, Block::list(details.map(Item::new)), Block::list(doubts), note]
}

/// The answer in words.
pub(super) fn answer_words(subject: &Subject<'_>) -> Sentence {
    let (words, others) = with_mix(subject);
    if !is_alike(subject) {
        return words;
    }
    others.into_iter().fold(words, |all, other| all.words(" ").and(other))
}

/// Returns whether no variant differs detectably by the figures of all statements together.
fn is_alike(subject: &Subject<'_>) -> bool {
    let answer = subject.experiment.answer(subject.finding);
    matches!(answer, Answer::NothingBetter(compared) if compared.is_alike())
}

/// The answer in words, and sentences on single statements. Where variants are alike as a whole, the statements that differ come first.
fn with_mix(subject: &Subject<'_>) -> (Sentence, Vec<Sentence>) {
    let mut in_the_mix = statements::in_the_mix(subject);
    let mut words = of_whole(subject);
    if is_alike(subject)
        && let Some(first) = in_the_mix.first_mut()
    {
        std::mem::swap(first, &mut words);
        *first = Sentence::from("All statements together: ").and(std::mem::take(first));
    }
    (words, in_the_mix)
}

/// The answer by the figures of all statements together.
fn of_whole(subject: &Subject<'_>) -> Sentence {
    let names = &subject.names;
    match subject.experiment.answer(subject.finding) {
        Answer::Tiers(classes) => tiers(subject, &classes),
        Answer::Schedules { corrupting, variants } => schedules(corrupting, variants),
        Answer::Finding(finding) => sentence(subject, finding),
        Answer::Range { best, worst } => range(subject, best, worst),
        Answer::NoBaseline(Some(why)) => {
            format!("No answer: the baseline was not measured ({why}).").into()
        }
        Answer::NoBaseline(None) => "No answer yet: nothing was measured.".into(),
        Answer::TooFewRounds => {
            Sentence::from("No answer yet: too few rounds to compare anything with ")
                .and(names.baseline())
                .words(".")
                .and(longer(subject))
        }
        Answer::Unresolved(tied) => Sentence::from(format!("No answer yet: {}", too_noisy(tied)))
            .and(more_rounds(subject.experiment))
            .words("."),
        Answer::OnlyBaseline => only(subject),
        Answer::Unconfirmed(variant) => unconfirmed(subject, variant),
        Answer::BreaksConstraints(variant) => breaks_constraints(subject, variant),
        Answer::NothingBetter(compared) => nothing_better(subject, compared),
    }
}

/// The figures of the only variant.
fn only(subject: &Subject<'_>) -> Sentence {
    let whole = subject.median(0);
    let several = subject.experiment.variants[0].statements.len() > 1;
    let mut variants = subject.experiment.variants.iter();
    let lead = match subject.experiment.variants.len() - 1 {
        0 => "",
        1 if variants.any(|variant| variant.answers_differ) => {
            "There is nothing to compare with, because the other variant answers differently. "
        }
        1 => "There is nothing to compare with, because the other variant was not measured. ",
        _ if variants.any(|variant| variant.answers_differ) => {
            "There is nothing to compare with: the other variants answer differently or were not measured. "
        }
        _ => "There is nothing to compare with, because no other variant was measured. ",
    };
    let figures = match (statements::medians(subject), whole) {
        (Some(medians), Some(whole)) if several => {
            let medians = Sentence::from("Median times: ").and(medians);
            medians.words(format!(". {}: ", metric_heading(subject.metric()))).figure(whole)
        }
        (Some(medians), _) => Sentence::from("Median time: ").and(medians),
        (None, Some(whole)) => subject.names.sentence(0).words(": ").figure(whole),
        (None, None) => "Nothing was measured".into(),
    };
    Sentence::from(lead).and(figures).words(".")
}

/// That nothing is chosen before the baseline, and how the others compare with it.
fn nothing_better(subject: &Subject<'_>, compared: Compared) -> Sentence {
    let baseline = subject.names.baseline();
    let Compared {
        better,
        better_with_failures: failing,
        better_but_breaking: breaking,
        worse,
        same,
        lost_in_correction: lost,
        unknown,
    } = compared;
    let all_better = better + failing + breaking;
    if compared.is_alike() {
        let detectable = subject.experiment.detectable.map(figures::percent);
        let detectable = detectable.map(|percent| format!(" (detectable difference {percent})"));
        return Sentence::from("No detectable difference from ")
            .and(baseline)
            .and(explained(&detectable.unwrap_or_default()))
            .and(finer(subject.experiment))
            .words(".");
    }
    if all_better + same + lost + unknown == 0 {
        let all = if worse == 1 { "the other variant" } else { "every other variant" };
        return Sentence::from("Nothing beats ").and(baseline).words(format!(": {all} is worse."));
    }
    let parts = [
        (better, "better, but not firmly enough to be chosen every time"),
        (failing, "better, but with failed trials"),
        (breaking, "better, but outside the constraints"),
        (worse, "worse"),
        (same, "without a detectable difference"),
        (lost, "different only before the correction for the number of comparisons"),
        (unknown, "not compared"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> =
        parts.map(|(count, what)| format!("{} {what}", figures::count(count))).collect();
    Sentence::from("No variant is chosen before ")
        .and(baseline)
        .words(format!(". Of the others: {}.", parts.join(", ")))
}

/// The best, which may not be used.
fn breaks_constraints(subject: &Subject<'_>, index: usize) -> Sentence {
    let broken = subject.experiment.variants[index].breaks.iter();
    Sentence::from("No variant within the constraints was found to be better than ")
        .and(subject.names.baseline())
        .words(". ")
        .and(subject.names.sentence(index))
        .words(" is, but does not keep ")
        .and(joined(broken.map(Sentence::code), " and "))
        .words(".")
}

/// The best of many, and what its confirmation run shows.
fn unconfirmed(subject: &Subject<'_>, index: usize) -> Sentence {
    let variant = &subject.experiment.variants[index];
    let estimate = variant.confirmation.as_ref();
    let ratio = estimate.map(|estimate| figures::ratio(estimate.centre, estimate.interval));
    Sentence::from("No variant was confirmed to be better than ")
        .and(subject.names.baseline())
        .words(". The best of many was ")
        .and(subject.names.sentence(index))
        .and(explained(", but its confirmation run shows "))
        .figure(ratio.unwrap_or_default())
        .words(".")
}

fn tiers(subject: &Subject<'_>, classes: &[(Class, usize)]) -> Sentence {
    let variants = subject.experiment.variants.len();
    let words = |class: &Class| {
        if class.uncrashed {
            UNCRASHED.to_owned()
        } else {
            Accident::ALL.map(|accident| loss_short(class.loss(accident))).join(" / ")
        }
    };
    // What crashes would have lost is not said of those that need none to be corrupt.
    let alike = grouped(classes.iter().map(|(class, n)| (words(class), *n)));
    let classes = alike.into_iter().map(|(words, numbers)| {
        let all: usize = numbers.into_iter().sum();
        format!("{words} ({} of {})", figures::count(all), plural(variants, "variant", "variants"))
    });
    format!(
        "Data loss when the process dies / in a power cut, if the hardware does what SQLite assumes: {}.",
        classes.collect::<Vec<_>>().join("; ")
    )
    .into()
}

/// How many variants two connections corrupted without a crash.
fn schedules(corrupting: usize, variants: usize) -> Sentence {
    if variants == 0 {
        return "No schedule of two connections was played to its end.".into();
    }
    let variants = plural(variants, "variant", "variants");
    match corrupting {
        0 => format!("No schedule of two connections corrupted any of {variants}."),
        some => format!(
            "Schedules of two connections corrupted {} of {variants} without a crash.",
            figures::count(some)
        ),
    }
    .into()
}

/// From where to where the figures go when there is nothing to choose.
fn range(subject: &Subject<'_>, best: usize, worst: usize) -> Sentence {
    let figure = |variant| subject.median(variant).unwrap_or_default();
    Sentence::from("From ")
        .figure(figure(best))
        .words(" at ")
        .and(subject.names.sentence(best))
        .words(" to ")
        .figure(figure(worst))
        .words(" at ")
        .and(subject.names.sentence(worst))
        .words("; nothing here is to be chosen.")
}

/// Returns further details of a finding.
fn details(subject: &Subject<'_>, finding: &Finding) -> Vec<Sentence> {
    let safety = safety_detail(finding);
    let faster = finding.faster.as_ref().map(|variant| faster(subject, variant));
    let choice = (finding.chosen_from >= MANY).then(|| explained(&choice(finding)));
    let all = [tied(subject, finding), passed_over(subject, finding), choice, safety, faster];
    all.into_iter().flatten().collect()
}

/// The variants that are not distinguishable from the best one.
fn tied(subject: &Subject<'_>, finding: &Finding) -> Option<Sentence> {
    let variants = subject.experiment.variants.iter().enumerate();
    let tied = variants.filter(|(_, it)| finding.tied.contains(&it.label));
    let lead = |(index, _)| {
        let is_untested = subject.experiment.has_too_few_rounds(finding.variant, index);
        let lead = if is_untested { "Too few rounds to tell" } else { "Not distinguishable" };
        (lead, index)
    };
    let sentences = grouped(tied.map(lead)).into_iter().map(|(lead, variants)| {
        Sentence::from(format!("{lead} from it: "))
            .and(subject.names.list(&variants, NAMED))
            .words(".")
    });
    let sentences = joined(sentences, " ");
    (!sentences.is_empty()).then_some(sentences)
}

/// The variants that looked better, and why none of them was chosen.
fn passed_over(subject: &Subject<'_>, finding: &Finding) -> Option<Sentence> {
    let names = subject.names.list(&finding.passed_over, NAMED);
    let sentence = names.words(
        " looked better here, but another run might choose differently; of such variants, the one with the fewest changes is chosen.",
    );
    (!finding.passed_over.is_empty()).then_some(sentence)
}

/// Returns the words on the gain of a variant that was chosen out of many.
fn choice(finding: &Finding) -> String {
    let many = finding.chosen_from;
    let Some(rounds) = finding.confirmation_rounds else {
        return format!(
            "The same rounds chose it out of {many} variants, so the true gain is probably a little smaller."
        );
    };
    format!(
        "It was chosen out of {many} variants. The gain is that of its confirmation run ({}), because the rounds that choose the best of many overrate it.",
        plural(rounds, "round", "rounds")
    )
}

/// The tiers with their counts.
fn safety_detail(finding: &Finding) -> Option<Sentence> {
    match (finding.safety_change(), &finding.tiers) {
        (SafetyChange::None, _) => None,
        (SafetyChange::NotMeasured(why), _) => {
            let why = why.map_or(String::new(), |why| format!(" ({why})"));
            let lead = Sentence::from("What a crash can destroy with this ");
            let settings = lead.and_code(finding.crash_relevant.join(", "));
            Some(settings.words(format!(" was not measured{why}.")))
        }
        (_, tiers) => tiers.as_ref().map(|tiers| {
            let [own, baseline] = [&tiers.own, &tiers.baseline].map(tier_words);
            format!("Lost in these images: {own}. The baseline: {baseline}.").into()
        }),
    }
}

/// The same with the counts of its tier.
fn faster(subject: &Subject<'_>, faster: &Faster) -> Sentence {
    let tier = faster.tier.as_ref().map(tier_words);
    let tier = tier.or_else(|| faster.survives.map(|class| class.to_string()));
    let tier = tier.unwrap_or_else(|| "the loss in a crash was not measured".to_owned());
    better_still(subject, faster).words("; ").and(explained(&format!("{tier}.")))
}

/// Returns reasons to doubt one experiment, a short word and a sentence each.
fn doubts(subject: &Subject<'_>) -> Vec<(&'static str, String)> {
    let experiment = subject.experiment;
    let unfinished = experiment.stop.is_none();
    let unfinished = unfinished.then(|| ("unfinished", "it did not complete".to_owned()));
    let has_answer = experiment.variants.iter().any(|variant| variant.estimate().is_some());
    let preliminary = (experiment.preliminary && has_answer).then(|| {
        let rounds = plural(experiment.rounds as usize, "round gives", "rounds give");
        ("preliminary", format!("{rounds} a first answer only"))
    });
    let alarm = experiment.aa_check.as_ref().filter(|_| experiment.aa_check_alarm()).map(|check| {
        let ratio = figures::ratio(check.centre, check.interval);
        (
            "A/A check alarm",
            format!("the baseline differs from itself ({ratio}), so do not trust small effects"),
        )
    });
    let doubts = [unfinished, preliminary, alarm, disturbed(experiment)].into_iter().flatten();
    doubts.chain(broken(subject)).chain(growing(subject)).collect()
}

/// That what a search recommends does not keep a constraint, as its rounds show.
fn broken(subject: &Subject<'_>) -> Vec<(&'static str, String)> {
    let judged = subject.tuning().into_iter().flat_map(|tuning| &tuning.constraints);
    let broken = judged.filter(|judged| judged.is_broken()).map(|judged| {
        let why =
            format!("the recommendation does not keep `{}`, so do not use it", judged.constraint);
        ("constraint not kept", why)
    });
    broken.collect()
}

/// That most blocks were disturbed, so that none could be dropped.
fn disturbed(experiment: &ExperimentAnalysis) -> Option<(&'static str, String)> {
    let found = &experiment.disturbances;
    // What is counted is the same however busy the machine is.
    let counts = !experiment.tries_crashes() && experiment.dropped_blocks == 0;
    (counts && found.disturbed > 0).then(|| {
        let (disturbed, blocks) = (found.disturbed, plural(found.blocks, "block", "blocks"));
        (
            "disturbed",
            format!("other programs, or a variant itself, kept the machine busy in {disturbed} of {blocks}: too many to drop, so all count; measure again on a quieter machine"),
        )
    })
}

/// The variants whose memory grows from trial to trial, although each trial is a process of its own.
fn growing(subject: &Subject<'_>) -> Vec<(&'static str, String)> {
    let variants = subject.experiment.variants.iter();
    let growing = variants.filter_map(|variant| Some((variant, variant.memory_growth?)));
    let memory = |bytes| figures::figure(bytes, "peak_memory_bytes");
    let words = growing.map(|(variant, (first, last))| {
        let (name, first, last) = (variant.name_or_label(), memory(first), memory(last));
        let grew = "grew from each trial to the next";
        ("growing memory", format!("the peak memory of `{name}` {grew}, from {first} to {last}"))
    });
    words.take(NAMED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topics::subject::of_one;
    use lab::analysis::{Disturbances, Summary, VariantAnalysis};
    use lab::trial::StatementRecord;

    #[test]
    fn the_figure_of_the_only_variant_has_the_name_of_its_metric() {
        let statement =
            |name: &str| StatementRecord { name: name.to_owned(), ..Default::default() };
        let mut variant = VariantAnalysis::default();
        variant.statements.extend(["one", "two"].map(statement));
        for metric in ["p99_us", "p50_us.one", "p50_us.two"] {
            variant.summaries.extend(Summary::of(&[7.0]).map(|median| (metric.to_owned(), median)));
        }
        let experiment = ExperimentAnalysis {
            metric: "p99_us".to_owned(),
            variants: vec![variant],
            ..ExperimentAnalysis::default()
        };
        let analysis = of_one(experiment);
        let subject = Subject::of(&analysis, 0);
        let words = only(&subject).plain();
        assert!(words.ends_with(". Latency, p99: 7.00 µs."), "{words}");
    }

    #[test]
    fn schedules_that_were_not_played_corrupt_nothing_and_prove_nothing() {
        assert!(!schedules(0, 0).plain().contains("corrupted"));
        assert!(schedules(0, 2).plain().contains("any of 2 variants"));
    }

    #[test]
    fn what_was_disturbed_and_not_dropped_weakens_an_answer_unless_it_only_counts() {
        let experiment = |workload: &str, dropped_blocks| ExperimentAnalysis {
            workload: workload.to_owned(),
            dropped_blocks,
            disturbances: Disturbances { disturbed: 5, blocks: 7, ..Disturbances::default() },
            ..ExperimentAnalysis::default()
        };
        let (badge, why) = disturbed(&experiment("bulk-insert", 0)).unwrap();
        assert_eq!(badge, "disturbed");
        assert!(why.contains("in 5 of 7 blocks"), "{why}");
        assert_eq!(disturbed(&experiment("bulk-insert", 5)), None);
        assert_eq!(disturbed(&experiment("crash", 0)), None);
        assert_eq!(disturbed(&ExperimentAnalysis::default()), None);
    }
}
