//! The scatter of speed against safety tier, with the Pareto set drawn.
//!
//! A band for each tier that occurs, the safest above; along it every variant of that tier at its median.
//! A line joins the variants that no other variant beats in safety and in the metric at once. Bands, the
//! form of the dots and the names beside them carry everything; colour only repeats it.

use lab::analysis::ExperimentAnalysis;
use lab::tier::Class;

use super::{Axis, Percent, Tick};
use crate::figures;
use crate::names::Names;
use crate::tiers::{class_words, rows, short, sign, whole_words};
use crate::words::{direction, metric_heading};

/// Dots nearer to each other than this, in parts of a hundred of the width, stand on lanes of
/// their own.
const NEAR: f64 = 2.4;
/// Lanes of a band, from its middle outwards in turn; further dots share the middle one.
const LANES: [f64; 5] = [0.0, -1.0, 1.0, -2.0, 2.0];
/// Distance of lanes, as a part of the height of a band.
const LANE: f64 = 0.16;

/// A chart ready to be drawn.
pub(crate) struct TierChart {
    /// What lies along the axis: `Transactions a second, higher is better`.
    pub(crate) heading: String,
    /// What a reader must know of the axis.
    pub(crate) remark: Option<&'static str>,
    /// The marks of the axis.
    pub(crate) ticks: Vec<Tick>,
    /// The tiers, the safest first.
    pub(crate) bands: Vec<Band>,
    /// The line through the Pareto set: pairs of numbers from 0 to 100.
    pub(crate) front: String,
    /// Variants that are not drawn.
    pub(crate) left_out: Option<String>,
}

/// One tier.
pub(crate) struct Band {
    /// The class that gives it its colour.
    pub(crate) class: &'static str,
    /// Its sign.
    pub(crate) sign: &'static str,
    /// The tier in words.
    pub(crate) words: &'static str,
    /// The same in a word or two, for narrow screens.
    pub(crate) short: &'static str,
    /// Its best variant, where the tier was measured.
    pub(crate) best: Option<Best>,
    /// Where it begins, from above.
    pub(crate) top: Percent,
    /// The variants.
    pub(crate) dots: Vec<Dot>,
}

/// The best variant of a band.
pub(crate) struct Best {
    /// Its short name.
    pub(crate) name: String,
    /// Its median.
    pub(crate) figure: String,
    /// What a reader must know besides.
    pub(crate) remark: Option<String>,
}

/// One variant.
pub(crate) struct Dot {
    /// Along the axis.
    pub(crate) x: Percent,
    /// From above.
    pub(crate) y: Percent,
    /// Whether it belongs to the Pareto set.
    pub(crate) pareto: bool,
    /// Whether it is the baseline.
    pub(crate) baseline: bool,
    /// The dot in words.
    pub(crate) words: String,
}

/// The chart of an experiment; none where fewer than two tiers were measured.
pub(crate) fn chart(experiment: &ExperimentAnalysis) -> Option<TierChart> {
    let best = rows(experiment);
    if best.is_empty() {
        return None;
    }
    let drawn = drawn(experiment);
    let axis = Axis::over(drawn.iter().map(|variant| variant.value))?;
    let classes = Class::ALL.into_iter().map(Some).chain([None]);
    let occurring: Vec<Option<Class>> = classes
        .filter(|class| drawn.iter().any(|variant| variant.class == *class))
        .collect();
    let height = 100.0 / occurring.len() as f64;
    let names = Names::of(experiment);
    let pareto: Vec<usize> = best
        .iter()
        .filter(|row| row.pareto)
        .map(|row| row.variant)
        .collect();
    let bands: Vec<Band> = occurring
        .iter()
        .enumerate()
        .map(|(number, class)| {
            let top = number as f64 * height;
            let own: Vec<&Drawn> = drawn
                .iter()
                .filter(|variant| variant.class == *class)
                .collect();
            let row = best.iter().find(|row| Some(row.class) == *class);
            Band {
                class: css_class(*class),
                sign: sign(*class),
                words: class_words(*class),
                short: short(*class),
                best: row.map(|row| Best {
                    name: row.name.clone(),
                    figure: row.figure.clone(),
                    remark: row.remark.clone(),
                }),
                top: Percent(top),
                dots: dots(experiment, &own, axis, top, height, &pareto, &names),
            }
        })
        .collect();
    let left_out = experiment.variants.len() - drawn.len();
    Some(TierChart {
        heading: format!(
            "{}, {}",
            metric_heading(&experiment.metric),
            direction(&experiment.metric)
        ),
        remark: match (axis.is_log(), axis.is_cut()) {
            (true, _) => Some("logarithmic scale"),
            (_, true) => Some("the scale does not begin at zero"),
            _ => None,
        },
        ticks: axis.ticks(&experiment.metric),
        front: front(&bands),
        bands,
        left_out: (left_out > 0).then(|| {
            let variants = crate::words::plural(left_out, "variant is", "variants are");
            format!("{variants} not drawn, without a figure or run under other conditions than the baseline.")
        }),
    })
}

fn css_class(class: Option<Class>) -> &'static str {
    match class {
        Some(Class::NoViolation) => "t-none",
        Some(Class::LosesCommits) => "t-loses",
        Some(Class::CanCorrupt | Class::CorruptsUncrashed) => "t-corrupts",
        None => "t-unknown",
    }
}

/// A variant that can be drawn.
struct Drawn {
    variant: usize,
    value: f64,
    class: Option<Class>,
}

/// The variants that could be chosen and have a figure, along the axis.
fn drawn(experiment: &ExperimentAnalysis) -> Vec<Drawn> {
    let variants = experiment.variants.iter().enumerate();
    let mut drawn: Vec<Drawn> = variants
        .filter(|(_, variant)| experiment.is_alternative(variant))
        .filter_map(|(index, variant)| {
            Some(Drawn {
                variant: index,
                value: variant.summaries.get(&experiment.metric)?.median,
                class: variant.class(),
            })
        })
        .collect();
    drawn.sort_by(|one, other| one.value.total_cmp(&other.value));
    drawn
}

fn dots(
    experiment: &ExperimentAnalysis,
    own: &[&Drawn],
    axis: Axis,
    top: f64,
    height: f64,
    pareto: &[usize],
    names: &Names,
) -> Vec<Dot> {
    // The best variant keeps the middle of its band, because the line goes through it.
    let mut order: Vec<&&Drawn> = own.iter().collect();
    order.sort_by_key(|drawn| !pareto.contains(&drawn.variant));
    let mut lanes: [Vec<f64>; LANES.len()] = Default::default();
    let dot = |drawn: &&Drawn| {
        let x = axis.place(drawn.value);
        let is_free = |taken: &Vec<f64>| taken.iter().all(|other| (other - x.0).abs() >= NEAR);
        let lane = lanes.iter().position(is_free).unwrap_or(0);
        lanes[lane].push(x.0);
        let variant = &experiment.variants[drawn.variant];
        let tier = variant.safety.as_ref().map(whole_words);
        Dot {
            x,
            y: Percent(top + height * (0.5 + LANE * LANES[lane])),
            pareto: pareto.contains(&drawn.variant),
            baseline: variant.baseline,
            words: format!(
                "{}{}: {}, {}",
                names.get(drawn.variant),
                if variant.baseline { " (baseline)" } else { "" },
                figures::figure(drawn.value, &experiment.metric),
                tier.as_deref().unwrap_or("no safety tier")
            ),
        }
    };
    order.into_iter().map(dot).collect()
}

/// Steps from the safest of the set to the least safe: down to the next tier, then along it.
fn front(bands: &[Band]) -> String {
    let dots = bands.iter().flat_map(|band| &band.dots);
    let mut course: Vec<(f64, f64)> = Vec::new();
    for dot in dots.filter(|dot| dot.pareto) {
        if let Some((x, _)) = course.last() {
            course.push((*x, dot.y.0));
        }
        course.push((dot.x.0, dot.y.0));
    }
    let pairs: Vec<String> = course
        .iter()
        .map(|(x, y)| format!("{x:.2},{y:.2}"))
        .collect();
    pairs.join(" ")
}
