//! The trade-off between goals: configurations that no other one beats in every metric.

use lab::level::label;
use lab::stats::Interval;
use tuning::TuningAnalysis;
use tuning::{Compromise, CompromiseFigure};

use crate::document::{Block, Cell, Chart, Column, Curve, Line, Plot, Point, Row, Sentence, Table};
use crate::figures;
use crate::words::{metric_axis, metric_heading, plural};

/// Configurations of a line that is drawn.
const DRAWN: usize = 3;

/// A table and a chart; nothing where one configuration is the best in every metric.
pub(super) fn blocks(tuning: &TuningAnalysis) -> Vec<Block> {
    let trade_off = &tuning.trade_off;
    if trade_off.metrics.len() < 2 || trade_off.compromises.len() < 2 {
        return Vec::new();
    }
    let column = |metric: &String| Column {
        about: Some(metric.clone()),
        ..Column::right(metric_heading(metric))
    };
    let columns = std::iter::once(Column::left("settings"))
        .chain(trade_off.metrics.iter().map(column))
        .chain([Column::left("measured in").prose()]);
    let rows = trade_off.compromises.iter().map(|compromise| row(tuning, compromise));
    let table = Table::new("Configurations that no other one beats in every metric", columns, rows);
    let how = "Medians, and how many times better they are than the current settings in the same blocks (above ×1 is better). What was \
               measured in the search alone was chosen from many trials, so luck has a hand in it: measure it again before it is used.";
    let blocks = [
        Block::Heading("The trade-off between goals".to_owned()),
        Block::table(table),
        Block::small(how),
    ];
    let chart = (trade_off.compromises.len() >= DRAWN).then(|| Block::full(vec![chart(tuning)]));
    blocks.into_iter().chain(chart).collect()
}

fn row(tuning: &TuningAnalysis, it: &Compromise) -> Row {
    let is_current = it.settings == label(&tuning.current);
    let name =
        if is_current { Cell::new("the current settings") } else { Cell::code(&it.settings) };
    let figures = it.figures.iter().zip(&tuning.trade_off.metrics);
    let figures = figures.map(|(figure, metric)| {
        let median = Cell::number(Some(figures::figure(figure.median, metric)));
        if is_current { median } else { median.with_below(gain(figure)) }
    });
    let part = if it.by_rounds {
        plural(it.trials, "round", "rounds")
    } else {
        format!("the search, {}", plural(it.trials, "trial", "trials"))
    };
    Row::new(std::iter::once(name).chain(figures).chain([Cell::new(part)]))
}

fn gain(figure: &CompromiseFigure) -> String {
    match figure.interval {
        Some(interval) => figures::ratio(figure.gain, interval),
        None => figures::ratio_without_interval(figure.gain),
    }
}

/// The first two metrics of each configuration.
fn chart(tuning: &TuningAnalysis) -> Block {
    let metrics = &tuning.trade_off.metrics;
    let line = |name: &str, by_rounds: bool| {
        let all = tuning.trade_off.compromises.iter();
        let own = all.filter(|compromise| compromise.by_rounds == by_rounds);
        let mut points: Vec<Point> = own.map(|compromise| point(compromise, metrics)).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Line { label: name.to_owned(), points, bend: None }
    };
    let lines = [line("measured in rounds", true), line("in the search alone", false)];
    let plot = Plot::Curve(Curve {
        metric: metrics[1].clone(),
        factor: metrics[0].clone(),
        lines: lines.into_iter().filter(|line| !line.points.is_empty()).collect(),
    });
    let caption = Sentence::from(format!("{}, along ", metric_axis(&metrics[1])));
    Block::chart(Chart::new(caption.and_code(&metrics[0]), plot))
}

fn point(it: &Compromise, metrics: &[String]) -> Point {
    let [x, y] = [0, 1].map(|index| it.figures[index].median);
    let words = [0, 1].map(|index| figures::figure(it.figures[index].median, &metrics[index]));
    Point {
        x,
        y,
        range: Interval { low: y, high: y },
        words: format!("{}: {}", it.settings, words.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{analysis, text};
    use super::*;
    use tuning::TradeOff;

    fn compromise(settings: &str, gains: [f64; 2], by_rounds: bool) -> Compromise {
        let figure = |gain: f64| CompromiseFigure {
            median: 100.0 * gain,
            gain,
            interval: by_rounds.then_some(Interval { low: gain * 0.9, high: gain * 1.1 }),
        };
        Compromise {
            settings: settings.to_owned(),
            by_rounds,
            trials: if by_rounds { 7 } else { 1 },
            figures: gains.map(figure).into(),
        }
    }

    #[test]
    fn what_the_search_alone_has_measured_is_marked_as_such() {
        let mut tuning = analysis(Vec::new());
        assert!(blocks(&tuning).is_empty());
        tuning.trade_off = TradeOff {
            metrics: vec!["txns_per_s".to_owned(), "p99_us".to_owned()],
            compromises: vec![
                compromise("journal_mode=wal", [2.0, 0.8], true),
                compromise("", [1.0, 1.0], true),
                compromise("cache_size=-16384", [1.2, 1.1], false),
            ],
        };
        let text = text(blocks(&tuning));
        let row = |name: &str| text.lines().find(|line| line.contains(name)).unwrap();
        assert!(row("journal_mode=wal").contains("×2.0 \\[1.8, 2.2"), "{text}");
        assert!(row("journal_mode=wal").contains("7 rounds"));
        assert!(row("the current settings").contains("7 rounds"), "{text}");
        let searched = row("cache_size=-16384");
        assert!(searched.contains("the search, 1 trial") && searched.contains("×1.2"), "{text}");
        tuning.trade_off.compromises.truncate(1);
        assert!(blocks(&tuning).is_empty());
    }
}
