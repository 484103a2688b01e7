//! Price of safety: speed against safety tier, and the best variant at each tier.

use lab::analysis::{AgainstStronger, BestAtTier, ExperimentAnalysis, Tiered, VariantAnalysis};
use lab::measures::Measures;
use lab::tier::{Accident, Class, Loss, Losses, Tier};

use super::subject::{Subject, ratio_cell};
use crate::document::{
    Band, BandDot, Bands, Block, Cell, Chart, Column, Item, Mark, Plot, Row, Sentence, Table,
    blocks,
};
use crate::figures;
use crate::glossary::explained;
use crate::words::{
    UNCRASHED, by_rank, capital, class_mark, class_words, count, grouped, loss_mark, loss_short,
    mark, metric_axis, metric_heading, plural, rare_words, standing_words, tier_legend, tier_words,
};

/// Variants that are named where several have the same settings.
const NAMED: usize = 3;

/// The chart with the best variant at each tier, and why tiers are missing.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let experiment = subject.experiment;
    let legend = (experiment.tiered() == Tiered::Each).then(|| {
        Block::brief(vec![Block::small(format!(
            "What is lost when the process dies, and in a power cut: {}.",
            tier_legend()
        ))])
    });
    let gaps = Block::list(gaps(subject).into_iter().chain(precautions(experiment)).map(Item::new));
    let has_choice = experiment.best_at_tiers.len() > 1 && !experiment.tries_crashes();
    let chart = has_choice.then(|| Block::chart(chart(subject)));
    blocks![legend, chart, gaps]
}

fn chart(subject: &Subject<'_>) -> Chart {
    let experiment = subject.experiment;
    let best = &experiment.best_at_tiers;
    let remarks = best.iter().filter_map(|best| {
        let name = subject.names.sentence(best.variant);
        Some(name.words(format!(": {}.", remark(subject.experiment, best)?)))
    });
    let classes = experiment.classes().into_iter();
    let bands: Vec<Band> = classes.filter_map(|class| band(subject, class)).collect();
    let drawn: usize = bands.iter().map(|band| band.dots.len()).sum();
    let left_out = experiment.variants.len() - drawn;
    let left_out = (left_out > 0).then(|| {
        let variants = plural(left_out, "variant is", "variants are");
        format!(
            "{variants} not drawn: without a figure, or under other conditions than the baseline."
        )
        .into()
    });
    let caption = format!("What safety costs: {}", metric_axis(subject.metric()));
    let metric = subject.metric().to_owned();
    Chart {
        figures: Some(table(subject)),
        notes: remarks.chain(left_out).collect(),
        ..Chart::new(caption, Plot::Bands(Bands { metric, bands })).with_remark(
            "a dot per variant; filled and joined: the Pareto set; diamond: the baseline",
        )
    }
}

/// Returns the band of a tier with the variants that could be chosen and have a figure, if any.
fn band(subject: &Subject<'_>, class: Class) -> Option<Band> {
    let experiment = subject.experiment;
    let variants = experiment.variants.iter().enumerate();
    let own = variants.filter(|(_, it)| it.class() == class && experiment.is_alternative(it));
    let dots: Vec<BandDot> = own.filter_map(|(index, it)| dot(subject, index, it)).collect();
    let best = experiment.best_at_tiers.iter().find(|best| best.class == class);
    let (sign, tone) = class_mark(class);
    (!dots.is_empty()).then(|| Band {
        tone,
        sign,
        name: class_words(class),
        detail: best.map_or_else(Sentence::default, |best| {
            let figure = subject.median(best.variant).unwrap_or_default();
            let name = Sentence::from("best: ").and(subject.names.sentence(best.variant));
            name.words(", ").and(Sentence::number(figure))
        }),
        dots,
    })
}

fn dot(subject: &Subject<'_>, index: usize, variant: &VariantAnalysis) -> Option<BandDot> {
    let metric = subject.metric();
    let value = variant.median(metric)?;
    let tier = variant.safety.as_ref().map(|safety| tier_words(&safety.tier));
    let mut best = subject.experiment.best_at_tiers.iter();
    Some(BandDot {
        value,
        joined: best.any(|best| best.variant == index && best.pareto),
        mark: if variant.baseline { Mark::Diamond } else { Mark::Circle },
        words: format!(
            "{}{}: {}, {}",
            subject.names.plain(index),
            if variant.baseline { " (baseline)" } else { "" },
            figures::figure(value, metric),
            tier.as_deref().unwrap_or("no safety tier")
        ),
    })
}

/// The best variant at each tier, the safest first.
fn table(subject: &Subject<'_>) -> Table {
    let row = |best: &BestAtTier| {
        let variant = &subject.experiment.variants[best.variant];
        let standing = variant.compared(subject.metric());
        let ratio = variant.estimate();
        let ratio = ratio.map(|estimate| ratio_cell(estimate.centre, estimate.interval));
        let ratio = Cell::new(ratio.unwrap_or_else(|| standing_words(standing).into()));
        let losses = Accident::ALL.map(|accident| class_cell(best.class, accident));
        let others = [
            Cell { strong: best.pareto, ..subject.names.full_cell(best.variant) },
            Cell::number(subject.median(best.variant)),
            ratio.signed(mark(standing)),
        ];
        Row::new(losses.into_iter().chain(others))
    };
    Table::new(
        "Best variant at each safety tier (bold: the Pareto set)",
        columns().into_iter().chain([
            Column::left("best variant"),
            Column::right(metric_heading(subject.metric()).to_lowercase()),
            Column::left("to the baseline").full_only(),
        ]),
        subject.experiment.best_at_tiers.iter().map(row),
    )
}

/// Returns a remark on the best variant at a tier.
fn remark(experiment: &ExperimentAnalysis, best: &BestAtTier) -> Option<String> {
    let too_few = |other: usize| experiment.has_too_few_rounds(best.variant, other);
    let beaten = match best.against_safer {
        None | Some(AgainstStronger::Better) => None,
        Some(AgainstStronger::Same(safer)) if too_few(safer) => {
            Some("too few rounds to say whether it is faster than a safer one".to_owned())
        }
        Some(AgainstStronger::Same(_)) => Some("a safer variant is not distinguishable".to_owned()),
        Some(AgainstStronger::Worse(_)) => Some("a safer variant is better".to_owned()),
    };
    let tied = best.tied.len();
    let tied = (tied > 0).then(|| {
        let others = plural(tied, "other variant", "other variants");
        match best.tied.iter().any(|other| too_few(*other)) {
            true => format!("too few rounds to tell it from {others} of the tier"),
            false => format!("not distinguishable from {others} of the tier"),
        }
    });
    let remarks: Vec<String> = beaten.into_iter().chain(tied).collect();
    (!remarks.is_empty()).then(|| remarks.join("; "))
}

/// The columns of a tier: what each accident takes.
pub(super) fn columns() -> [Column; 2] {
    Accident::ALL.map(|accident| Column {
        below: Some("loses".to_owned()),
        ..Column::left(explained(&accident.to_string()))
    })
}

/// The cells of a tier under these columns: signs and a word or two, the counts, and below the power cut
/// what happens on rare occasions alone.
pub(super) fn cells(tier: Option<&Tier>) -> [Cell; 2] {
    let class = tier.map_or(Class::default(), Tier::class);
    Accident::ALL.map(|accident| {
        let losses = tier.map(|tier| tier.losses(accident));
        let counts = losses.and_then(|losses| losses.counts());
        let damaged = counts.map(|counts| {
            let images = plural(counts.images as usize, "image", "images");
            format!("{} of {images}", count(counts.damaged()))
        });
        let rare = tier.into_iter().flat_map(|tier| &tier.occasions);
        let rare = rare.filter(|rare| rare.accident == accident).map(rare_words);
        let cell = Cell {
            title: losses.and_then(Losses::why_not).map(str::to_owned),
            ..class_cell(class, accident)
        };
        damaged.into_iter().chain(rare).fold(cell, Cell::with_below)
    })
}

/// Returns the loss of variants of a class in an accident.
pub(super) fn class_cell(class: Class, accident: Accident) -> Cell {
    if class.uncrashed {
        return Cell::new(UNCRASHED).signed(loss_mark(Some(Loss::Corruption)));
    }
    let loss = class.loss(accident);
    Cell::new(loss_short(loss)).signed(loss_mark(loss))
}

/// Returns precautions of an application against losses on rare occasions, once for each occasion.
fn precautions(experiment: &ExperimentAnalysis) -> Vec<Sentence> {
    const PRECAUTIONS: [(&str, &str); 2] = [
        (
            "a change of the journal mode",
            "change the journal mode once, with the application stopped, and while `synchronous` is FULL or EXTRA.",
        ),
        ("shrinking the database file", "copy the database before VACUUM."),
    ];
    let safeties = experiment.variants.iter().filter_map(|variant| variant.safety.as_ref());
    let seen: Vec<&str> = safeties
        .flat_map(|safety| &safety.tier.occasions)
        .map(|rare| rare.occasion.as_str())
        .collect();
    let seen = |occasion: &str| seen.iter().any(|known| known.starts_with(occasion));
    let given = PRECAUTIONS.into_iter().filter(|(occasion, _)| seen(occasion));
    given
        .map(|(occasion, precaution)| {
            Sentence::from(format!("A crash lost more only on {occasion}. To avoid that: "))
                .and(Sentence::marked(precaution))
        })
        .collect()
}

/// Why tiers were not measured, variants with the same reason together.
fn gaps(subject: &Subject<'_>) -> Vec<Sentence> {
    let variants = &subject.experiment.variants;
    // Schedules of connections crash nothing.
    if subject.experiment.measures() == Measures::Schedules {
        return Vec::new();
    }
    let ranked = by_rank(subject.experiment).into_iter();
    let gaps = grouped(
        ranked.filter_map(|index| Some((variants[index].safety.as_ref()?.tier.why_not()?, index))),
    );
    let gap = |(why, of_reason): (&str, Vec<usize>)| {
        if of_reason.len() == variants.len() {
            let tiers = || variants.iter().filter_map(|variant| variant.safety.as_ref());
            let is_unmeasured = |accident: &Accident| {
                tiers().all(|safety| safety.tier.losses(*accident).why_not().is_some())
            };
            let lead = match Accident::ALL.into_iter().filter(is_unmeasured).collect::<Vec<_>>()[..]
            {
                [only] => match only {
                    Accident::Process => "the loss when the process dies was not measured",
                    Accident::Power => "the loss in a power cut was not measured",
                }
                .to_owned(),
                _ => "no safety tier was measured".to_owned(),
            };
            capital(&format!("{lead}: {why}")).into()
        } else {
            Sentence::from("No safety tier of ")
                .and(subject.names.list(&of_reason, NAMED))
                .words(format!(": {why}"))
        }
    };
    gaps.into_iter().map(gap).collect()
}
