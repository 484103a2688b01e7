//! Safety tiers in words, signs and tables: what all views share.
//!
//! A sign never stands without its words somewhere near. No tier is called safe: the words say what
//! was found, and that nothing was found proves nothing.

use lab::analysis::{ExperimentAnalysis, Finding, Recommendation, TierChange, VariantAnalysis};
use lab::level::label;
use lab::tier::{Class, ModelSafety, Narrowed, Promise, Safety, Schedules, Tier, tries_accidents};

use crate::answer::{Piece, Sentence};
use crate::durability;
use crate::figures;
use crate::names::Names;
use crate::words::{Standing, by_rank, gain_words, named, plural};

/// Storage models that a sentence names.
const MODELS: usize = 5;

/// Variants that are named where several have the same settings.
const NAMED: usize = 3;

/// A tier with its counts.
pub(crate) fn words(tier: &Tier) -> String {
    tier.words(count)
}

/// On which occasions alone a tier holds, and what holds otherwise.
pub(crate) fn narrowed_words(narrowed: &Narrowed) -> String {
    format!(
        "only {}; otherwise {}",
        narrowed.only.join(" or "),
        words(&narrowed.otherwise)
    )
}

/// A tier with its counts, and with the occasions on which alone it holds.
pub(crate) fn whole_words(safety: &Safety) -> String {
    told_whole(&safety.tier, safety.narrowed.as_ref())
}

fn told_whole(tier: &Tier, narrowed: Option<&Narrowed>) -> String {
    match narrowed {
        Some(narrowed) => format!("{}, {}", words(tier), narrowed_words(narrowed)),
        None => words(tier),
    }
}

fn count(value: u64) -> String {
    figures::count(usize::try_from(value).unwrap_or(usize::MAX))
}

/// A tier without its counts.
pub(crate) fn class_words(class: Option<Class>) -> &'static str {
    class.map_or("not measured", Class::words)
}

/// The same in a word or two, for narrow columns.
pub(crate) fn short(class: Option<Class>) -> &'static str {
    match class {
        Some(Class::NoViolation) => "no violation",
        Some(Class::LosesCommits) => "loses commits",
        Some(Class::CanCorrupt) => "can corrupt",
        Some(Class::CorruptsUncrashed) => "corrupts uncrashed",
        None => "not measured",
    }
}

/// One sign: the emptier, the less safe.
pub(crate) fn sign(class: Option<Class>) -> &'static str {
    match class {
        Some(Class::NoViolation) => "●",
        Some(Class::LosesCommits) => "◐",
        Some(Class::CanCorrupt) => "○",
        Some(Class::CorruptsUncrashed) => "⊗",
        None => "–",
    }
}

/// What the signs mean, in a line.
pub(crate) fn legend() -> String {
    let classes = Class::ALL.into_iter().map(Some).chain([None]);
    let told: Vec<String> = classes
        .map(|class| format!("{} {}", sign(class), class_words(class)))
        .collect();
    told.join(", ")
}

/// What there is to say of the tiers of an experiment.
pub(crate) enum Told<'a> {
    /// Nothing: no variant names a setting that decides it.
    Nothing,
    /// All variants have this one.
    Same(&'a Safety),
    /// They differ.
    Each,
}

/// Whether the variants of an experiment have tiers, and whether these differ.
pub(crate) fn told(experiment: &ExperimentAnalysis) -> Told<'_> {
    let mut all = experiment
        .variants
        .iter()
        .map(|variant| variant.safety.as_ref());
    let is_same = |first: &Safety, other: Option<&Safety>| {
        other.is_some_and(|other| other.tier == first.tier && other.narrowed == first.narrowed)
    };
    match all.next() {
        Some(Some(first)) if all.all(|other| is_same(first, other)) => Told::Same(first),
        Some(_)
            if experiment
                .variants
                .iter()
                .any(|variant| variant.safety.is_some()) =>
        {
            Told::Each
        }
        _ => Told::Nothing,
    }
}

/// Whether the trials of an experiment try crashes: then what they find stands in the place of speeds,
/// which only say how long the looking took.
pub(crate) fn tries_crashes(experiment: &ExperimentAnalysis) -> bool {
    tries_accidents(&experiment.workload)
}

/// Whether variants are shown with a tier each.
pub(crate) fn has_column(experiment: &ExperimentAnalysis) -> bool {
    matches!(told(experiment), Told::Each)
}

/// The tier that all variants have, as a sentence of the small print.
pub(crate) fn footnote(experiment: &ExperimentAnalysis) -> Option<String> {
    match told(experiment) {
        Told::Same(safety) => Some(format!(
            "safety tier of every variant: {}",
            whole_words(safety)
        )),
        _ => None,
    }
}

/// What a finding says of safety, after its speed; nothing where no setting that decides it differs.
pub(crate) fn of_finding(finding: &Finding, metric: &str) -> Sentence {
    let mut sentence = match &finding.tiers {
        Some(change) => compared(finding, change),
        None if finding.crash_relevant.is_empty() => Sentence::new(),
        None => unknown(finding, None),
    };
    if let Some(change) = &finding.survives {
        sentence.push(plain(&durability::change(change)));
    }
    if let Some(faster) = &finding.faster {
        let class = faster.tier.as_ref().and_then(Tier::class);
        sentence.push(plain(match class {
            Some(_) => " Better still, but less safe: ",
            None => " Better still, but not known to be as safe: ",
        }));
        sentence.push(Piece::Code(label(&faster.levels)));
        sentence.push(plain(", "));
        let times = figures::times(faster.gain, faster.interval);
        sentence.push(Piece::Figure(format!("{times} times")));
        let tier = faster.tier.as_ref().map(words);
        let tier = tier.or_else(|| faster.survives.map(|class| class.words().to_owned()));
        sentence.push(plain(&format!(
            " {} the baseline: {}.",
            gain_words(metric),
            tier.as_deref().unwrap_or("not measured")
        )));
    }
    sentence
}

fn compared(finding: &Finding, change: &TierChange) -> Sentence {
    let (own, baseline) = (&change.own, &change.baseline);
    let own_words = told_whole(own, change.own_narrowed.as_ref());
    let against = format!(
        "{own_words} (baseline: {})",
        told_whole(baseline, change.baseline_narrowed.as_ref())
    );
    match &change.worse_under {
        Some(models) if !models.is_empty() => vec![plain(&format!(
            " Less safe than the baseline under {}: {against}.",
            named(models, MODELS)
        ))],
        Some(_) if own.class() > baseline.class() => {
            vec![plain(&format!(" Safer than the baseline: {against}."))]
        }
        _ if finding.crash_relevant.is_empty() => Sentence::new(),
        Some(_) => vec![plain(&format!(
            " The best at this tier, which is the baseline's: {own_words}."
        ))],
        None if own.class().is_none() => unknown(finding, Some(own)),
        None => unknown(finding, Some(baseline)),
    }
}

/// What a recommendation says of safety, after its speed.
pub(crate) fn of_recommendation(recommendation: &Recommendation) -> Sentence {
    match &recommendation.tiers {
        Some(change) if change.own.class().is_some() => vec![plain(&format!(
            " In a crash: {} (baseline: {}).",
            told_whole(&change.own, change.own_narrowed.as_ref()),
            told_whole(&change.baseline, change.baseline_narrowed.as_ref())
        ))],
        _ if recommendation.crash_relevant.is_empty() => Sentence::new(),
        _ => vec![
            plain(" What a crash can destroy with that "),
            Piece::Code(recommendation.crash_relevant.join(", ")),
            plain(" was not measured."),
        ],
    }
}

fn unknown(finding: &Finding, tier: Option<&Tier>) -> Sentence {
    let why = match tier {
        Some(Tier::NotMeasured { why }) => format!(" was not measured ({why})."),
        _ => " was not measured.".to_owned(),
    };
    vec![
        plain(" What a crash can destroy with that "),
        Piece::Code(finding.crash_relevant.join(", ")),
        plain(&why),
    ]
}

fn plain(text: &str) -> Piece {
    Piece::Words(text.to_owned())
}

/// The answer of an experiment that tries crashes: how many variants have which tier. None for others.
pub(crate) fn answer(experiment: &ExperimentAnalysis) -> Option<Sentence> {
    if !tries_crashes(experiment) {
        return None;
    }
    let of_class = |class| {
        let variants = experiment.variants.iter();
        variants.filter(|variant| variant.class() == class).count()
    };
    let told: Vec<String> = Class::ALL
        .into_iter()
        .map(Some)
        .chain([None])
        .map(|class| (class, of_class(class)))
        .filter(|(_, count)| *count > 0)
        .map(|(class, count)| format!("{}: {}", class_words(class), figures::count(count)))
        .collect();
    Some(vec![
        plain(&format!(
            "Of {}, within what SQLite assumes of hardware, ",
            plural(experiment.variants.len(), "variant", "variants")
        )),
        plain(&format!("{}.", told.join("; "))),
    ])
}

/// The best variant at one tier.
pub(crate) struct Row {
    /// The tier.
    pub(crate) class: Class,
    /// The variant's place in the experiment.
    pub(crate) variant: usize,
    /// Its short name.
    pub(crate) name: String,
    /// Its median with its unit.
    pub(crate) figure: String,
    /// How it stands to the baseline.
    pub(crate) ratio: String,
    /// What a reader must know besides.
    pub(crate) remark: Option<String>,
    /// Whether no safer variant is as good.
    pub(crate) pareto: bool,
}

/// The best variant at each tier, the safest first; empty where there is nothing to weigh: fewer than two
/// tiers, or no speed that matters.
pub(crate) fn rows(experiment: &ExperimentAnalysis) -> Vec<Row> {
    if experiment.best_at_tiers.len() < 2 || tries_crashes(experiment) {
        return Vec::new();
    }
    let names = Names::of(experiment);
    let row = |best: &lab::analysis::BestAtTier| {
        let variant = &experiment.variants[best.variant];
        let metric = &experiment.metric;
        let standing = Standing::of(variant, metric);
        let figure = variant.summaries.get(metric);
        let ratio = match &variant.effect {
            Some(effect) => figures::ratio(effect.estimate.centre, effect.estimate.interval),
            None => standing.words().to_owned(),
        };
        let tied = best.tied.len();
        let tied = (tied > 0).then(|| {
            let others = plural(tied, "other variant", "other variants");
            format!("not told apart from {others} of the tier")
        });
        let beaten = (!best.pareto).then(|| "a safer variant is as good".to_owned());
        let remarks: Vec<String> = beaten.into_iter().chain(tied).collect();
        Row {
            class: best.class,
            variant: best.variant,
            name: names.get(best.variant).to_owned(),
            figure: figure.map_or_else(
                || "–".to_owned(),
                |summary| figures::figure(summary.median, metric),
            ),
            ratio: format!("{} {ratio}", standing.sign()),
            remark: (!remarks.is_empty()).then(|| remarks.join("; ")),
            pareto: best.pareto,
        }
    };
    experiment.best_at_tiers.iter().map(row).collect()
}

/// What was found under each storage model, variants with the same findings together.
pub(crate) struct Models {
    /// Names of the models, and whether SQLite's assumptions about hardware cover them.
    pub(crate) columns: Vec<(String, bool)>,
    /// The variants and a cell for each model.
    pub(crate) rows: Vec<(Sentence, Vec<Cell>)>,
    /// Where what was found breaks what is documented, in words, with a witness and the cause.
    pub(crate) broken: Vec<String>,
    /// Where what was found is better than what is documented, by cause: under which models which variants.
    pub(crate) safer: Vec<String>,
}

/// What was found under one model.
pub(crate) struct Cell {
    /// The tier's sign.
    pub(crate) sign: &'static str,
    /// Its counts: `12 of 345`.
    pub(crate) counts: String,
    /// The occasions on which alone that holds.
    pub(crate) only: Option<String>,
    /// What the documentation promises.
    pub(crate) promise: Option<&'static str>,
    /// Whether what was found breaks that.
    pub(crate) broken: bool,
    /// All of it in words; nothing where nothing was found.
    pub(crate) words: String,
}

/// The findings by model; none where no model was tried.
pub(crate) fn models(experiment: &ExperimentAnalysis) -> Option<Models> {
    let mut columns: Vec<(String, bool)> = Vec::new();
    let mut rows: Vec<(&Safety, Vec<String>)> = Vec::new();
    let names = Names::of(experiment);
    let variants = experiment.variants.iter().enumerate();
    for (index, safety) in
        variants.filter_map(|(index, variant)| Some((index, variant.safety.as_ref()?)))
    {
        for model in &safety.models {
            if !columns.iter().any(|(name, _)| *name == model.model) {
                columns.push((model.model.clone(), model.assumed));
            }
        }
        let name = names.get(index).to_owned();
        match rows.iter_mut().find(|(known, _)| *known == safety) {
            Some((_, variants)) => variants.push(name),
            None => rows.push((safety, vec![name])),
        }
    }
    let broken = rows
        .iter()
        .flat_map(|(safety, variants)| broken(safety, variants));
    let broken = broken.collect();
    let safer = safer(&rows);
    let plays = rows.iter().any(|(safety, _)| safety.schedules.is_some());
    let cells = |safety: &Safety| -> Vec<Cell> {
        let of = |(name, _): &(String, bool)| {
            let found = safety.models.iter().find(|model| model.model == *name);
            found.map_or_else(|| Cell::missing(&safety.tier), Cell::of)
        };
        let played = plays.then(|| Cell::of_schedules(safety.schedules.as_ref()));
        columns.iter().map(of).chain(played).collect()
    };
    let rows: Vec<(Sentence, Vec<Cell>)> = rows
        .iter()
        .map(|(safety, variants)| (names_of(variants), cells(safety)))
        .collect();
    if columns.is_empty() {
        return None;
    }
    if plays {
        columns.push(("schedules".to_owned(), true));
    }
    Some(Models {
        columns,
        rows,
        broken,
        safer,
    })
}

/// The first of some variants, and how many more there are.
fn names_of(variants: &[String]) -> Sentence {
    let shown = if variants.len() <= NAMED + 1 {
        variants.len()
    } else {
        NAMED
    };
    let mut sentence = Sentence::new();
    for (index, name) in variants[..shown].iter().enumerate() {
        if index > 0 {
            sentence.push(plain(", "));
        }
        sentence.push(Piece::Code(name.clone()));
    }
    if variants.len() > shown {
        sentence.push(plain(&format!(" and {} more", variants.len() - shown)));
    }
    sentence
}

fn broken(safety: &Safety, variants: &[String]) -> Vec<String> {
    let told = |model: &ModelSafety| {
        let documented = model.documented.as_ref()?;
        let witness = model.witness.as_deref().unwrap_or("no witness was kept");
        let again = model.again.as_deref();
        let again = again.map_or(String::new(), |again| format!(" (again: {again})"));
        Some(format!(
            "{}, {}: {}; documented: {} ({}, {}); cause: {}; witness: {witness}{again}",
            named(variants, NAMED),
            model.model,
            told_whole(&model.tier, model.narrowed.as_ref()),
            documented.promise.words(),
            documented.says,
            documented.source.trim_start_matches("https://"),
            model.cause.as_deref().unwrap_or("not known")
        ))
    };
    let models = safety.models.iter();
    let broken = models.filter(|model| model.assumed && model.breaks_a_promise());
    let schedule = wrong_schedule(safety).map(|what| format!("{}, {what}", named(variants, NAMED)));
    broken.filter_map(told).chain(schedule).collect()
}

/// A schedule that went wrong, in words: nothing is documented to go wrong without a crash.
fn wrong_schedule(safety: &Safety) -> Option<String> {
    let Some(Schedules::Played {
        first: Some(first), ..
    }) = &safety.schedules
    else {
        return None;
    };
    Some(format!(
        "two connections: {}; documented: safe; witness: {} (again: {})",
        words(&safety.tier),
        first.what,
        first.again
    ))
}

/// Where the documentation allows more than was seen, by cause: which variants under which models.
fn safer(rows: &[(&Safety, Vec<String>)]) -> Vec<String> {
    let mut causes: Vec<(&str, Vec<Safer>)> = Vec::new();
    for (safety, variants) in rows {
        let all = safety.models.iter();
        let better: Vec<&ModelSafety> = all.filter(|it| it.is_safer_than_documented()).collect();
        for of_cause in better.chunk_by(|one, other| cause_of(one) == cause_of(other)) {
            let cause = cause_of(of_cause[0]);
            let place = match causes.iter().position(|(known, _)| *known == cause) {
                Some(place) => place,
                None => {
                    causes.push((cause, Vec::new()));
                    causes.len() - 1
                }
            };
            let models = of_cause.iter().map(|it| it.model.clone()).collect();
            Safer::add(&mut causes[place].1, models, variants);
        }
    }
    let told = |(cause, places): (&str, Vec<Safer>)| {
        let places: Vec<String> = places.iter().map(Safer::words).collect();
        format!("{cause}: {}", places.join("; "))
    };
    causes.into_iter().map(told).collect()
}

/// Variants that are safer than documented under the same models.
struct Safer {
    models: Vec<String>,
    variants: Vec<String>,
}

impl Safer {
    fn add(all: &mut Vec<Safer>, models: Vec<String>, variants: &[String]) {
        match all.iter_mut().find(|known| known.models == models) {
            Some(known) => known.variants.extend_from_slice(variants),
            None => all.push(Safer {
                models,
                variants: variants.to_vec(),
            }),
        }
    }

    fn words(&self) -> String {
        let variants = match self.variants.len() {
            1 => self.variants[0].clone(),
            many => format!(
                "{} ({})",
                plural(many, "variant", "variants"),
                named(&self.variants, NAMED)
            ),
        };
        format!("under {} {variants}", named(&self.models, MODELS))
    }
}

fn cause_of(model: &ModelSafety) -> &str {
    let unknown = "cause not known; it may be that these images did not show it";
    model.cause.as_deref().unwrap_or(unknown)
}

impl Cell {
    fn of(model: &ModelSafety) -> Cell {
        let promise = model.documented.as_ref().map(|it| it.promise.words());
        let tier = told_whole(&model.tier, model.narrowed.as_ref());
        let mut told = match (&model.tier, &model.witness) {
            (Tier::NoViolation { .. }, _) => String::new(),
            (_, Some(witness)) => format!("{tier}: {witness}"),
            (_, None) => tier,
        };
        if let Some(cause) = &model.cause {
            let gap = if told.is_empty() { "" } else { "; " };
            told.push_str(&format!("{gap}cause: {cause}"));
        }
        let only = model.narrowed.as_ref();
        Cell {
            sign: sign(model.tier.class()),
            counts: counts(&model.tier),
            only: only.map(|narrowed| format!("only {}", narrowed.only.join(" or "))),
            promise,
            broken: model.breaks_a_promise(),
            words: told,
        }
    }

    fn of_schedules(schedules: Option<&Schedules>) -> Cell {
        let unknown = |words: String| Cell {
            sign: sign(None),
            counts: String::new(),
            only: None,
            promise: None,
            broken: false,
            words,
        };
        match schedules {
            Some(Schedules::Played {
                played,
                wrong,
                first,
            }) => {
                let first = first.as_ref();
                Cell {
                    sign: sign(Some(match wrong {
                        0 => Class::NoViolation,
                        _ => Class::CorruptsUncrashed,
                    })),
                    counts: format!("{} of {}", count(*wrong), count(*played)),
                    only: None,
                    promise: Some(Promise::Safe.words()),
                    broken: *wrong > 0,
                    words: first.map_or(String::new(), |it| {
                        format!("{}: {}; {}", it.schedule, it.what, it.again)
                    }),
                }
            }
            Some(Schedules::NotMeasured { why }) => unknown(format!("not measured ({why})")),
            None => unknown("not measured".to_owned()),
        }
    }

    fn missing(tier: &Tier) -> Cell {
        Cell {
            sign: sign(None),
            counts: String::new(),
            only: None,
            promise: None,
            broken: false,
            words: match tier {
                Tier::NotMeasured { .. } => words(tier),
                _ => "not measured (the model was not tried)".to_owned(),
            },
        }
    }
}

/// The counts of a tier: bad or losing images of all.
pub(crate) fn counts(tier: &Tier) -> String {
    match tier {
        Tier::NoViolation { images } => format!("0 of {}", count(*images)),
        Tier::LosesCommits { losing, images, .. } => {
            format!("{} of {}", count(*losing), count(*images))
        }
        Tier::CanCorrupt { bad, images } => format!("{} of {}", count(*bad), count(*images)),
        Tier::CorruptsUncrashed { wrong, played, .. } => {
            format!("{} of {} schedules", count(*wrong), count(*played))
        }
        Tier::NotMeasured { .. } => String::new(),
    }
}

/// Why tiers were not measured, variants with the same reason together.
pub(crate) fn gaps(experiment: &ExperimentAnalysis) -> Vec<String> {
    let names = Names::of(experiment);
    let mut gaps: Vec<(&str, Vec<String>)> = Vec::new();
    for index in by_rank(experiment) {
        let variant: &VariantAnalysis = &experiment.variants[index];
        let Some(Tier::NotMeasured { why }) = variant.safety.as_ref().map(|safety| &safety.tier)
        else {
            continue;
        };
        let name = names.get(index).to_owned();
        match gaps.iter_mut().find(|(known, _)| known == why) {
            Some((_, variants)) => variants.push(name),
            None => gaps.push((why, vec![name])),
        }
    }
    let all = experiment.variants.len();
    gaps.into_iter()
        .map(|(why, variants)| match variants.len() == all {
            true => format!("no safety tier was measured: {why}"),
            false => format!("no safety tier of {}: {why}", named(&variants, NAMED)),
        })
        .collect()
}
