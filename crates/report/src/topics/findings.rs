//! What matters most: for each finding what to do, what it brings and what it risks; and the answer to the
//! question of each experiment.

use lab::analysis::{
    Analysis, Answer, Compared, Faster, Finding, RecallLoss, SafetyChange, SurvivalChange,
    TierChange,
};
use lab::design::MANY;
use lab::level::label;
use lab::tier::{Accident, Class, Loss, Tier};

use super::{Subject, anchor, run};
use crate::document::{Block, Item, Kind, List, Piece, Role, Section, Sentence};
use crate::figures;
use crate::glossary::explained;
use crate::names::named;
use crate::words::{UNCRASHED, gain_words, loss_short, metric_heading, plural, tier_words};

/// Variants that are named; of more only the number is given.
const NAMED: usize = 3;

/// The findings of a run; nothing where crashes alone were tried, which have no speed to compare.
pub(super) fn sections(analysis: &Analysis) -> Vec<Section> {
    let experiments = &analysis.experiments;
    if !experiments.is_empty() && experiments.iter().all(|it| it.tries_crashes()) {
        return Vec::new();
    }
    let items: Vec<Item> = analysis
        .findings
        .iter()
        .filter_map(|finding| item(analysis, finding))
        .collect();
    let blocks = match items.is_empty() {
        true => vec![Block::paragraph(
            "No variant was found to be better than the baseline of its experiment.",
        )],
        false => vec![Block::List(List {
            numbered: true,
            items,
        })],
    };
    vec![Section::new(
        "findings",
        Kind::Highlights,
        "What matters on this machine",
        blocks,
    )]
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
    if finding.confirmation_rounds.is_some() {
        link = link.and(explained(" (gain of the confirmation run)"));
    }
    let step = finding.faster.as_ref().map(|it| step(&subject, it));
    Some(Item {
        lead: Some((
            figures::ratio_alone(finding.gain, finding.interval),
            figures::interval_of_ratio(finding.gain, finding.interval),
        )),
        badge: finding.preliminary.then(|| "preliminary".to_owned()),
        tone: crate::document::Tone::Doubt,
        below: step.into_iter().chain([link]).collect(),
        ..Item::new(sentence(&subject, finding))
    })
}

/// What to do, what it brings, what it risks: two lines at most.
fn sentence(subject: &Subject<'_>, finding: &Finding) -> Sentence {
    let times = format!("{} times", figures::times(finding.gain, finding.interval));
    let baseline = match finding.instead_of.is_empty() {
        // A variant of a list may name settings that the baseline leaves as they are.
        true => "the baseline".into(),
        false => named(finding.baseline_name.as_ref(), &finding.instead_of),
    };
    let name = || named(finding.name.as_ref(), &finding.levels);
    let mut sentence = match &finding.answer {
        // Nothing that can destroy a database is put as an instruction.
        _ if can_corrupt(finding) => Sentence::from("Only what can corrupt is faster: ")
            .and(name())
            .words(", "),
        Some(answer) => instruction(answer),
        None => Sentence::from("Use ").and(name()).words(": "),
    }
    .figure(times)
    .words(format!(" {} ", gain_words(subject.metric())))
    .and(baseline);
    if !finding.conditions.is_empty() {
        sentence = sentence.words(", at ").and_code(label(&finding.conditions));
    }
    let losses = &subject.experiment.variants[finding.variant].recall_losses;
    let risks = [
        risk(finding),
        finding.survives.as_ref().map(|it| survival(it).into()),
        losses.first().map(|_| recall(subject, losses).into()),
    ];
    risks
        .into_iter()
        .flatten()
        .fold(sentence.words("."), Sentence::and)
}

/// What to do, up to what it brings.
fn instruction(answer: &str) -> Sentence {
    let answer = answer.trim_end();
    match answer.strip_suffix('.') {
        Some(alone) if !alone.contains(". ") => Sentence::marked(alone).words(": "),
        _ => Sentence::marked(answer).words(" That is "),
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

/// What accidents take with the variant, and with the baseline where that differs; nothing where no
/// setting that decides it differs.
fn risk(finding: &Finding) -> Option<Sentence> {
    match (finding.safety_change(), &finding.tiers) {
        (SafetyChange::None, _) => None,
        (SafetyChange::NotMeasured(_), _) | (_, None) => {
            Some(" What a crash takes was not measured.".into())
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
        |it| takes_anything(own, it) || takes_anything(baseline, it),
        compared,
    )
}

/// Whether an accident takes anything, as far as that was measured.
fn takes_anything(class: Class, accident: Accident) -> bool {
    class.loss(accident) != Some(Loss::Nothing)
}

/// What a power cut takes, and a dying process where that `is_told`, each with what `compared` adds.
fn loses(
    class: Class,
    is_told: impl Fn(Accident) -> bool,
    compared: impl Fn(Accident) -> String,
) -> String {
    if class.uncrashed {
        return format!("It {UNCRASHED}");
    }
    let told = Accident::ALL.into_iter();
    let told = told.filter(|it| *it == Accident::Power || is_told(*it));
    let part = |accident: Accident| {
        let when = match accident {
            Accident::Process => "If the process dies it",
            Accident::Power => "In a power cut it",
        };
        let loses = match class.loss(accident) {
            Some(Loss::Nothing) => "loses nothing acknowledged",
            Some(Loss::LastTransaction) => "can lose the last transaction",
            Some(Loss::RecentTransactions) => "can lose recent transactions",
            Some(Loss::Corruption) => "can corrupt the database",
            None => "may lose anything: not measured",
        };
        format!("{when} {loses}{}", compared(accident))
    };
    told.map(part).collect::<Vec<_>>().join(". ")
}

/// What an acknowledged change survives, where that differs from the baseline.
fn survival(change: &SurvivalChange) -> String {
    let more = if change.own > change.baseline {
        "More"
    } else {
        "Less"
    };
    format!(
        " {more} survives: {} (baseline: {}).",
        change.own, change.baseline
    )
}

/// What the variant finds less than the baseline.
fn recall(subject: &Subject<'_>, losses: &[RecallLoss]) -> String {
    let variants = &subject.experiment.variants;
    let own = subject.finding.map_or(0, |finding| finding.variant);
    let loss = |loss: &RecallLoss| {
        let of = |variant: usize| {
            let summary = variants[variant].summaries.get(&loss.metric);
            summary.map_or("–".to_owned(), |it| {
                figures::figure(it.median, &loss.metric)
            })
        };
        let what = metric_heading(&loss.metric).to_lowercase();
        format!("{what} {} instead of {}", of(own), of(0))
    };
    let losses: Vec<String> = losses.iter().map(loss).collect();
    format!(" It finds less: {}.", losses.join(", "))
}

/// The answer to the question of an experiment, what weakens it, and what else there is to know of it.
pub(super) fn answer(subject: &Subject<'_>) -> Vec<Block> {
    let experiment = subject.experiment;
    let doubts = doubts(subject).into_iter();
    let doubts = doubts.map(|(badge, why)| Item::doubt(Some(badge), explained(&why)));
    let details = subject
        .finding
        .into_iter()
        .flat_map(|it| details(subject, it));
    let note = experiment.note.as_deref().map(Sentence::marked);
    let note = note.map(|note| Block::Paragraph(note, Role::Quote));
    [Block::Paragraph(answer_words(subject), Role::Answer)]
        .into_iter()
        .chain(Block::list(details.map(Item::new)))
        .chain(Block::list(doubts))
        .chain(note.map(|note| Block::full(vec![note])))
        .collect()
}

fn answer_words(subject: &Subject<'_>) -> Sentence {
    let names = &subject.names;
    match subject.experiment.answer(subject.finding) {
        Answer::Tiers(classes) => tiers(subject, &classes),
        Answer::Schedules {
            corrupting,
            variants,
        } => schedules(corrupting, variants),
        Answer::Finding(finding) => sentence(subject, finding),
        Answer::Range { best, worst } => range(subject, best, worst),
        Answer::NoBaseline(Some(why)) => {
            format!("No answer: the baseline was not measured ({why}).").into()
        }
        Answer::NoBaseline(None) => "No answer yet: nothing was measured.".into(),
        Answer::TooFewRounds => {
            Sentence::from("No answer yet: too few rounds to compare anything with ")
                .and(names.sentence(0))
                .words(".")
        }
        Answer::Unresolved(tied) => format!(
            "No answer yet: any of {} may be the best, and they look too different to choose one; more rounds may decide.",
            plural(tied, "variant", "variants")
        )
        .into(),
        Answer::OnlyBaseline => match subject.median(0) {
            Some(median) => (names.sentence(0).words(": ").figure(median))
                .words(". There is nothing to compare it with."),
            None => "There is nothing to compare.".into(),
        },
        Answer::Unconfirmed(variant) => unconfirmed(subject, variant),
        Answer::NothingBetter(compared) => nothing_better(subject, compared),
    }
}

/// That nothing is chosen before the baseline, and how the others compare with it.
fn nothing_better(subject: &Subject<'_>, compared: Compared) -> Sentence {
    let baseline = subject.names.sentence(0);
    let Compared {
        better,
        worse,
        same,
        lost_in_correction: lost,
        unknown,
    } = compared;
    if better + worse + lost + unknown == 0 {
        let detectable = subject.experiment.detectable.map(figures::percent);
        let detectable = detectable.map(|it| format!(" (detectable difference {it})"));
        return Sentence::from("No detectable difference from ")
            .and(baseline)
            .and(explained(&format!("{}.", detectable.unwrap_or_default())));
    }
    if better + same + lost + unknown == 0 {
        let all = if worse == 1 {
            "the other variant"
        } else {
            "every other variant"
        };
        return Sentence::from("Nothing beats the baseline ")
            .and(baseline)
            .words(format!(": {all} is worse."));
    }
    let parts = [
        (better, "better, but too little to be chosen every time"),
        (worse, "worse"),
        (same, "without a detectable difference"),
        (
            lost,
            "different only before the correction for the number of comparisons",
        ),
        (unknown, "not compared"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, what)| format!("{} {what}", figures::count(count)))
        .collect();
    Sentence::from("No variant is chosen before the baseline ")
        .and(baseline)
        .words(format!(". Of the others: {}.", parts.join(", ")))
}

/// The best of many, and what its confirmation run shows.
fn unconfirmed(subject: &Subject<'_>, index: usize) -> Sentence {
    let variant = &subject.experiment.variants[index];
    let estimate = variant.confirmation.as_ref();
    let ratio = estimate.map(|it| figures::ratio(it.centre, it.interval));
    Sentence::from("No variant was confirmed to be better than the baseline ")
        .and(subject.names.sentence(0))
        .words(". The best of many was ")
        .and(subject.names.sentence(index))
        .and(explained(", but its confirmation run shows "))
        .figure(ratio.unwrap_or_default())
        .words(".")
}

fn tiers(subject: &Subject<'_>, classes: &[(Class, usize)]) -> Sentence {
    let variants = subject.experiment.variants.len();
    let classes = classes.iter().map(|(class, n)| {
        let words = match class.uncrashed {
            true => UNCRASHED.to_owned(),
            false => Accident::ALL
                .map(|accident| loss_short(class.loss(accident)))
                .join(" / "),
        };
        format!("{words}: {}", figures::count(*n))
    });
    format!(
        "Of {}, within what SQLite assumes of hardware, so many lose when the process dies / in a power cut: {}.",
        plural(variants, "variant", "variants"),
        classes.collect::<Vec<_>>().join("; ")
    )
    .into()
}

/// How many variants two connections corrupted without a crash.
fn schedules(corrupting: usize, variants: usize) -> Sentence {
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

/// What there is to know of a finding besides.
fn details(subject: &Subject<'_>, finding: &Finding) -> Vec<Sentence> {
    let safety = safety_detail(finding);
    let faster = finding.faster.as_ref().map(|it| faster(subject, it));
    let choice = (finding.chosen_from >= MANY).then(|| explained(&choice(finding)));
    let all = [
        tied(subject, finding),
        passed_over(subject, finding),
        choice,
        safety,
        faster,
    ];
    all.into_iter().flatten().collect()
}

/// The variants that are not distinguishable from the best one.
fn tied(subject: &Subject<'_>, finding: &Finding) -> Option<Sentence> {
    let variants = subject.experiment.variants.iter().enumerate();
    let tied = variants.filter(|(_, it)| finding.tied.contains(&it.label));
    let tied: Vec<usize> = tied.map(|(index, _)| index).collect();
    let names = subject.names.list(&tied, NAMED);
    let sentence = Sentence::from("Not distinguishable from it: ").and(names);
    (!tied.is_empty()).then(|| sentence.words("."))
}

/// The variants that looked better, and why none of them was chosen.
fn passed_over(subject: &Subject<'_>, finding: &Finding) -> Option<Sentence> {
    let names = subject.names.list(&finding.passed_over, NAMED);
    let sentence = names.words(
        " looked better here, but not so clearly that every run would choose the same; of such variants, \
         the one that changes the least is chosen.",
    );
    (!finding.passed_over.is_empty()).then_some(sentence)
}

/// What there is to say of the gain where the variant was chosen out of many.
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
    let sentence = match (finding.safety_change(), &finding.tiers) {
        (SafetyChange::None, _) => return None,
        (SafetyChange::NotMeasured(why), _) => {
            let why = why.map_or(String::new(), |why| format!(" ({why})"));
            return Some(
                Sentence::from("What a crash can destroy with this ")
                    .and_code(finding.crash_relevant.join(", "))
                    .words(format!(" was not measured{why}.")),
            );
        }
        (_, Some(tiers)) => {
            format!(
                "Lost in these images: {}. The baseline: {}.",
                tier_words(&tiers.own),
                tier_words(&tiers.baseline)
            )
        }
        (_, None) => return None,
    };
    Some(sentence.into())
}

/// The next step in a line: what is better still, and what it loses.
fn step(subject: &Subject<'_>, faster: &Faster) -> Sentence {
    let class = faster.tier.as_ref().map(Tier::class);
    let lost = match (class, faster.survives) {
        (Some(class), _) if class.is_measured() => {
            loses(class, |it| takes_anything(class, it), |_| String::new())
        }
        (_, Some(survives)) => format!("What survives: {survives}"),
        _ => "What a crash takes was not measured".to_owned(),
    };
    better_still(subject, faster)
        .words(". ")
        .and(explained(&format!("{lost}.")))
}

/// The same with the counts of its tier.
fn faster(subject: &Subject<'_>, faster: &Faster) -> Sentence {
    let tier = faster.tier.as_ref().map(tier_words);
    let tier = tier.or_else(|| faster.survives.map(|class| class.words().to_owned()));
    let tier = tier.unwrap_or_else(|| "what a crash takes was not measured".to_owned());
    better_still(subject, faster)
        .words("; ")
        .and(explained(&format!("{tier}.")))
}

/// Which variant is better still than that of the finding, and how much better than the baseline.
fn better_still(subject: &Subject<'_>, faster: &Faster) -> Sentence {
    let experiment = subject.experiment;
    let safety = match experiment.is_less_safe(&experiment.variants[faster.variant]) {
        true => "but less safe",
        false => "but with unknown safety",
    };
    Sentence::from(format!("Better still, {safety}: "))
        .and(named(faster.name.as_ref(), &faster.levels))
        .words(", ")
        .figure(format!(
            "{} times",
            figures::times(faster.gain, faster.interval)
        ))
        .words(format!(" {} the baseline", gain_words(subject.metric())))
}

/// What weakens one experiment, a short word and a sentence each.
fn doubts(subject: &Subject<'_>) -> Vec<(&'static str, String)> {
    let experiment = subject.experiment;
    let unfinished = experiment.stop.is_none();
    let unfinished = unfinished.then(|| ("unfinished", "it did not complete".to_owned()));
    let preliminary = experiment.preliminary.then(|| {
        let rounds = plural(experiment.rounds as usize, "round gives", "rounds give");
        ("preliminary", format!("{rounds} a first answer only"))
    });
    let aa_check = experiment.aa_check.as_ref();
    let alarm = aa_check.filter(|_| experiment.aa_check_alarm()).map(|it| {
        let ratio = figures::ratio(it.centre, it.interval);
        (
            "A/A check alarm",
            format!("the baseline differs from itself ({ratio}), so do not trust small effects"),
        )
    });
    [unfinished, preliminary, alarm]
        .into_iter()
        .flatten()
        .collect()
}
