//! The curve of an experiment along a numeric factor, and where its lines bend.

use lab::analysis::curve::{Bend as Model, Curve, Series};
use lab::metric::Unit;
use lab::stats::Interval;
use lab::stats::curve::{CacheKnee, VolumeCost};

use super::subject::Subject;
use crate::document::{Bend, Block, Chart, Item, Line, Plot, Point, Sentence, blocks, joined};
use crate::figures;
use crate::names::listed;
use crate::words::metric_axis;

/// Lines that are drawn; more could not be distinguished.
const LINES: usize = 4;
/// Points at which the curve of a model is drawn.
const STEPS: usize = 48;

/// The chart, and a sentence for each line that bends.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let Some(curve) = &subject.experiment.curve else { return Vec::new() };
    let bent = curve.series.iter().filter_map(|series| Some((series, series.bend?)));
    let bends = bent.map(|(series, bend)| match bend {
        Model::Cache(knee) => cache_words(curve, series, &knee),
        Model::Volume(cost) => volume_words(curve, series, &cost),
    });
    let bends = Block::list(bends.map(Item::new));
    // Of hundreds of lines, the few that can be drawn say nothing.
    let chart = (!subject.has_effects_first()).then(|| Block::full(vec![chart(subject, curve)]));
    blocks![chart, bends]
}

/// Whether every variant is on a curve that is drawn.
pub(super) fn has_everything(subject: &Subject<'_>) -> bool {
    let curve = subject.experiment.curve.as_ref();
    !subject.has_effects_first() && curve.is_some_and(|curve| drawable(curve).count() <= LINES)
}

fn drawable(curve: &Curve) -> impl Iterator<Item = &Series> {
    curve.series.iter().filter(|series| !series.points.is_empty())
}

fn chart(subject: &Subject<'_>, curve: &Curve) -> Block {
    let metric = subject.metric();
    let by = joined(curve.by.iter().map(Sentence::code), ", ");
    let by = if by.is_empty() { by } else { Sentence::from(", a line for each ").and(by) };
    let left_out: Vec<Sentence> =
        drawable(curve).skip(LINES).map(|line| line.label.as_str().into()).collect();
    let note = (!left_out.is_empty()).then(|| {
        Sentence::from("Not drawn: ")
            .and(listed(left_out, LINES))
            .words("; the chart of variants has them.")
    });
    let caption = Sentence::from(format!("{}, along ", metric_axis(metric)));
    let lines = drawable(curve).take(LINES).map(|one| line(one, metric));
    let plot = Plot::Curve(crate::document::Curve {
        metric: metric.to_owned(),
        factor: curve.factor.clone(),
        lines: lines.collect(),
    });
    Block::chart(Chart {
        notes: note.into_iter().collect(),
        ..Chart::new(caption.and_code(&curve.factor).and(by), plot)
    })
}

fn line(series: &Series, metric: &str) -> Line {
    let name = match series.label.as_str() {
        "" => String::new(),
        label => format!("{label}, "),
    };
    let points = series.points.iter().map(|point| {
        let (low, high) = (point.low, point.high);
        let range = Interval { low, high };
        Point {
            x: point.x,
            y: point.median,
            range,
            words: format!(
                "{name}{}: median {}, trials {}",
                figures::level(point.x),
                figures::figure(point.median, metric),
                figures::range(range, metric)
            ),
        }
    });
    Line {
        label: series.label.clone(),
        points: points.collect(),
        bend: series.bend.as_ref().map(|model| bend(model, series)),
    }
}

/// The model speaks of time per row, the chart shows rows a second.
fn bend(model: &Model, series: &Series) -> Bend {
    let at = |rows: f64| (rows, 1.0 / model.seconds_per_row(rows));
    let ends = series.points.first().zip(series.points.last());
    let (first, last) = ends.map_or((model.at(), model.at()), |(one, other)| (one.x, other.x));
    let step = |step: usize| first * (last / first).powf(step as f64 / STEPS as f64);
    Bend {
        course: (0..=STEPS).map(step).map(at).collect(),
        at: at(model.at()),
        label: figures::about(model.at()),
    }
}

/// The beginning of a sentence on one line of a curve.
fn from_about(curve: &Curve, series: &Series) -> Sentence {
    let name = match (&curve.by[..], series.label.as_str()) {
        (_, "") => return "From about ".into(),
        ([only], label) => format!("{only}={label}"),
        (_, label) => label.to_owned(),
    };
    Sentence::code(name).words(": from about ")
}

fn time(seconds: f64) -> String {
    together(&figures::about_with_unit(seconds, Unit::Seconds))
}

fn volume_words(curve: &Curve, series: &Series, cost: &VolumeCost) -> Sentence {
    /// Bytes of a MiB: the factor counts characters of one byte.
    const MIB: f64 = 1_048_576.0;
    let crossover = format!("{} {}", figures::about(cost.crossover()), curve.factor);
    let most = figures::about_with_unit(1.0 / cost.unit / MIB, Unit::MebibytesPerSecond);
    from_about(curve, series)
        .figure(together(&crossover))
        .words(" on, the bytes of a row cost more than the row itself: ")
        .figure(time(cost.row))
        .words(format!(
            " a row and {} per hundred characters, so at most {} however long the rows are (fitted model, {}).",
            time(100.0 * cost.unit),
            together(&most),
            explained(cost.r_squared)
        ))
}

fn cache_words(curve: &Curve, series: &Series, knee: &CacheKnee) -> Sentence {
    let capacity = format!("{} {}", figures::about(knee.capacity), curve.factor);
    from_about(curve, series)
        .figure(together(&capacity))
        .words(" on, pages often miss the cache; each miss costs ")
        .figure(time(knee.miss))
        .words(format!(
            " on top of {} a row (fitted model, {}).",
            time(knee.base),
            explained(knee.r_squared)
        ))
}

/// How well a model explains the data, never as if it did so wholly.
fn explained(r_squared: f64) -> String {
    const NEARLY_ALL: f64 = 0.9995;
    if r_squared >= NEARLY_ALL {
        "R² above 0.999".to_owned()
    } else {
        format!("R² {r_squared:.3}")
    }
}

/// A number that stays on one line with its unit.
fn together(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_at_which_bytes_cost_most_comes_with_both_costs_and_the_highest_rate() {
        let series = Series { label: String::new(), points: Vec::new(), bend: None };
        let curve = Curve { factor: "characters".to_owned(), by: Vec::new(), series: Vec::new() };
        let cost = VolumeCost { row: 2.1e-7, unit: 1e-9, r_squared: 0.997 };
        let sentence = volume_words(&curve, &series, &cost).plain().replace('\u{a0}', " ");
        assert_eq!(
            sentence,
            "From about 210 characters on, the bytes of a row cost more than the row itself: 210 ns a row and 100 ns per hundred characters, so at most 950 MiB/s however long the rows are (fitted model, R² 0.997)."
        );
    }
}
