//! Result of a search for the fastest settings: the contribution of each setting, those that do not matter, and how the
//! search went. The recommendation, its gain and its safety come from the rounds, as in any experiment.

use lab::level::{Level, label};
use lab::stats::Interval;
use lab::tuning_plan::Bound;
use tuning::{
    Advised, Compromise, CompromiseFigure, Constrained, Contribution, Extent, Gain, SearchStep,
    TuningAnalysis,
};

use super::settings;
use super::subject::Subject;
use crate::document::{
    Block, Cell, Chart, Column, Curve, Item, Line, Plot, Point, Row, Sentence, Table, blocks,
    joined, led,
};
use crate::figures;
use crate::words::{gain_words, metric_axis, metric_column, plural};

/// Everything on the search of an experiment that was tuned.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let Some(tuning) = subject.tuning() else { return Vec::new() };
    let mut parts = [blocks![contributions(tuning), interactions(tuning)], advice(tuning)];
    if leads(tuning, subject.finding.map_or(1.0, |finding| finding.gain)).is_some() {
        parts.reverse();
    }
    blocks![
        settings::sought(subject),
        moved(tuning),
        constraints(tuning),
        parts.into_iter().flatten().collect::<Vec<_>>(),
        settings::for_programs(subject),
        unchanged(tuning),
        trade_off(tuning),
        left_out(tuning),
        course(subject, tuning),
    ]
}

/// Whether the optimum has moved since an earlier search.
fn moved(tuning: &TuningAnalysis) -> Vec<Block> {
    let Some(moved) = &tuning.moved else { return Vec::new() };
    let end = match moved.gain {
        _ if moved.is_same => ", and so does this one: the optimum has not moved.".to_owned(),
        None => ". This search's recommendation was not compared with it.".to_owned(),
        Some((ratio, interval)) => {
            let gain = figures::ratio(ratio, interval);
            let judgement = match (interval.low > 1.0, interval.high < 1.0) {
                (true, _) => "the optimum has moved",
                (_, true) => "the earlier recommendation is better",
                _ => "they cannot be distinguished",
            };
            format!(". This search's recommendation is {gain} as good: {judgement}.")
        }
    };
    let lead = Sentence::from("The earlier search recommended ");
    vec![Block::paragraph(lead.and_code(label(&moved.earlier)).words(end))]
}

/// Returns the contribution of each setting.
fn contributions(tuning: &TuningAnalysis) -> Vec<Block> {
    if tuning.extent == Extent::Nothing {
        return vec![Block::paragraph(NOTHING_MEASURED)];
    }
    let is_current = tuning.recommended == tuning.current;
    if is_current && tuning.contributions.is_empty() && tuning.not_measured.is_empty() {
        let none = match tuning.extent {
            Extent::Screened => {
                "The search recommends the current settings: no others are expected to be better."
            }
            _ => "The search recommends the current settings: none of those tried was faster.",
        };
        return vec![Block::paragraph(none)];
    }
    let heading = "What each setting contributes";
    if tuning.contributions.is_empty() {
        return vec![Block::heading(heading), Block::paragraph(TOGETHER)];
    }
    let none_contributes = is_current.then(|| Block::paragraph(NONE_CONTRIBUTES));
    let table = Table::of(
        heading,
        &tuning.contributions,
        &[
            (Column::left("setting"), &|gain| {
                let own = gain.settings.split(" and ");
                let own = own.map(|name| format!("{name}={}", level_words(gain.levels.get(name))));
                Cell::code(own.collect::<Vec<_>>().join(" "))
            }),
            (Column::left("instead of"), &|gain| {
                let names = gain.settings.split(" and ");
                let instead = names.map(|name| level_words(gain.without.levels.get(name)));
                Cell::code(instead.collect::<Vec<_>>().join(" "))
            }),
            (Column::right("contributes"), &|gain| Cell::number(Some(times(&gain.gain)))),
            (Column::left("judgement").prose(), &|gain| Cell::new(judgement_of_setting(gain))),
        ],
    );
    let rounds = tuning.contributions.iter().map(|own| own.gain.rounds).max().unwrap_or(0);
    let how = format!(
        "The choice of the search compared with the same settings without one of these, in {} of their own; intervals are \
         corrected for the number of settings (Holm).",
        plural(rounds, "round", "rounds")
    );
    let missing = named(
        "Not recommended, because their own contributions were not measured: ",
        &tuning.not_measured,
    );
    blocks![none_contributes, Block::explained(heading, table, how), missing]
}

fn times(gain: &Gain) -> String {
    figures::ratio(gain.ratio, gain.interval)
}

fn not_distinguishable(gain: &Gain) -> String {
    format!(
        "not distinguishable from none; a difference of {} would have been detected",
        figures::percent(gain.detectable)
    )
}

/// Words for a search that was stopped, or could not measure the current settings.
const NOTHING_MEASURED: &str = "The search recommends nothing: it ended before the current settings and those known to be good elsewhere were measured.";

/// Words for a choice in which no setting has a gain of its own.
const NONE_CONTRIBUTES: &str = "The search recommends the current settings: others were expected to be better, and their own rounds show no gain.";

/// Words for a part of the run that there was no time for.
const NO_TIME: &str = "Not measured: no time was left.";

/// Words for settings that were measured together only.
const TOGETHER: &str = "Not measured: no time was left. A setting with an expected gain is recommended only after rounds of its own: use a longer --time-limit.";

/// The judgement of figures from one or two rounds.
const TOO_FEW: &str = "too few rounds";

fn judgement_of_setting(it: &Contribution) -> String {
    if it.brings_nothing() {
        "no gain here: left as it is".to_owned()
    } else if it.gain.is_certain() && it.is_left_out() {
        format!("left as it is: {}", not_distinguishable(&it.gain))
    } else {
        judgement_of_gain(&it.gain)
    }
}

/// A level, or that it is the default.
fn level_words(level: Option<&Level>) -> String {
    level.map_or("default".to_owned(), Level::to_string)
}

/// The settings that were varied and stay as they are.
fn unchanged(tuning: &TuningAnalysis) -> Vec<Block> {
    let table = Table::of(
        "Settings that stay as they are",
        &tuning.unchanged,
        &[
            (Column::left("setting, as it is"), &|unchanged| {
                let own = level_words(tuning.recommended.get(&unchanged.setting));
                Cell::code(format!("{}={own}", unchanged.setting))
            }),
            (Column::left("best other level"), &|unchanged| {
                Cell::code(unchanged.other.to_string())
            }),
            (Column::right("expected of it"), &|unchanged| {
                Cell::number(Some(figures::ratio(unchanged.ratio, unchanged.range)))
            }),
        ],
    );
    let how = "Expected by the model of all trials of the search, with its range at 95 %: differences within the range may exist.";
    Block::explained("Settings that were tried and stay as they are", table, how)
}

/// Returns the settings that were never tried, or failed.
fn left_out(tuning: &TuningAnalysis) -> Vec<Block> {
    let excluded = Block::list(tuning.excluded.iter().map(|(why, levels)| {
        let levels = levels.iter().map(|levels| Sentence::code(label(levels)));
        Item::new(Sentence::from(format!("{why}: ")).and(joined(levels, ", ")))
    }));
    let unusable = tuning.unusable.iter().map(label).collect::<Vec<_>>();
    let unusable =
        named("Not recommended, because they failed or answered differently: ", &unusable);
    let idle = "Not varied, because no statement uses them in SQLite's plans: ";
    let idle = named(idle, &tuning.idle);
    // Dozens of combinations that nobody needs to see first.
    let title = "Never tried: it may lose more than you accept, or its loss is not known";
    vec![Block::full(blocks![excluded.map(|list| Block::fold(title, vec![list])), unusable, idle])]
}

/// Returns a paragraph that lists names; none without a name.
fn named(lead: &str, names: &[String]) -> Option<Block> {
    let listed = joined(names.iter().map(Sentence::code), ", ");
    (!names.is_empty()).then(|| Block::paragraph(Sentence::from(lead).and(listed)))
}

/// How the search went.
fn course(subject: &Subject<'_>, tuning: &TuningAnalysis) -> Vec<Block> {
    let trials = tuning.steps.last().map_or(0, |step| step.trials);
    let noise = tuning.noise.map_or(String::new(), |noise| {
        format!(
            " By the model of the search, trials of the same settings differ by {} (one standard deviation).",
            figures::percent(noise)
        )
    });
    let early = match tuning.extent {
        Extent::Known => " It ended before every level of every setting was tried.",
        Extent::Nothing | Extent::Screened => "",
    };
    let space = format!(
        "{} among {} combinations of levels.{early}{noise}",
        plural(trials, "trial", "trials"),
        figures::count(tuning.configurations as usize)
    );
    let metric = subject.metric();
    let line = |name: &str, of: fn(&SearchStep) -> Option<f64>| Line {
        label: name.to_owned(),
        points: tuning
            .steps
            .iter()
            .filter_map(|step| Some(point(name, step, of(step)?, metric)))
            .collect(),
        bend: None,
    };
    let plot = Plot::Curve(Curve {
        metric: metric.to_owned(),
        factor: "trials".to_owned(),
        lines: vec![
            line("best of the block", |step| Some(step.best)),
            line("median of the block", |step| Some(step.median)),
            line("current settings", |step| step.current),
        ],
    });
    let caption = format!("{}, block by block of the search", metric_axis(metric));
    let chart = (tuning.steps.len() > 1).then(|| {
        let remark = "the best of a block is partly luck; new rounds measured the gain above";
        Block::full(vec![Block::chart(Chart::new(caption, plot).with_remark(remark))])
    });
    blocks![Block::heading("The search"), Block::paragraph(space), chart]
}

fn point(name: &str, step: &SearchStep, figure: f64, metric: &str) -> Point {
    Point {
        x: step.trials as f64,
        y: figure,
        range: Interval { low: figure, high: figure },
        words: format!("{name}, after {} trials: {}", step.trials, figures::figure(figure, metric)),
    }
}

/// Returns the gains of changes of the application, which are not settings.
fn advice(tuning: &TuningAnalysis) -> Vec<Block> {
    if tuning.advised.is_empty() {
        return Vec::new();
    }
    let heading = "Changes of your application, apart from settings";
    if tuning.advised.iter().all(|advised| advised.gain.is_none()) {
        return blocks![Block::heading(heading), Block::paragraph(NO_TIME), better_by_sql(tuning)];
    }
    let table = Table::of(
        "Gains from application changes",
        &tuning.advised,
        &[
            (Column::left("change"), &|advised| Cell::new(advised.advice.change.as_str())),
            (Column::right("brings"), &|advised| Cell::number(advised.gain.as_ref().map(times))),
            (Column::left("judgement").prose(), &|advised| {
                let judgement = advised.gain.as_ref().map(judgement_of_gain);
                Cell::new(judgement.unwrap_or("not measured".to_owned()))
            }),
        ],
    );
    let how = "The recommended settings with one change compared with the same settings without it, on the whole workload. So the cost for other statements is included. Intervals are corrected for the number of changes (Holm).";
    blocks![Block::explained(heading, table, how), better_by_sql(tuning)]
}

/// Returns what to change in the application, or why that is not known, for the first screen; none if no change was to be
/// measured.
pub(super) fn in_application(tuning: &TuningAnalysis, metric: &str) -> Option<String> {
    let is_measured = tuning.advised.iter().any(|advised| advised.gain.is_some());
    let otherwise = if is_measured {
        let tried = tuning.advised.iter().filter(|advised| advised.gain.is_some());
        let tried = plural(tried.count(), "change", "changes");
        format!("{tried} of the application tried, none found to be better.")
    } else {
        "The gains from application changes were not timed: no time was left.".to_owned()
    };
    to_change(tuning, metric).or((!tuning.advised.is_empty()).then_some(otherwise))
}

/// Returns what to change in the application; none if nothing is known to help.
pub(super) fn to_change(tuning: &TuningAnalysis, metric: &str) -> Option<String> {
    better_in_words(tuning, metric).or_else(|| counted_in_words(tuning))
}

/// Returns the gain of the best SQL change, such as an index, if it exceeds the gain of the settings.
pub(super) fn leads(tuning: &TuningAnalysis, gain: f64) -> Option<&Gain> {
    let (first, own) = better(tuning).into_iter().next()?;
    (first.advice.sql.is_some() && own.ratio > gain).then_some(own)
}

/// Returns the changes that are better: SQL first, which costs nothing in a crash, then the one that brings most.
fn better(tuning: &TuningAnalysis) -> Vec<(&Advised, &Gain)> {
    let better = tuning.advised.iter().filter(is_better);
    let mut better: Vec<_> = better.filter_map(|own| Some((own, own.gain.as_ref()?))).collect();
    better.sort_by(|(one, a), (other, b)| {
        let by_sql = one.advice.sql.is_none().cmp(&other.advice.sql.is_none());
        by_sql.then(b.ratio.total_cmp(&a.ratio))
    });
    better
}

fn better_in_words(tuning: &TuningAnalysis, metric: &str) -> Option<String> {
    let words = gain_words(metric).trim_end_matches(" as");
    let named = better(tuning).into_iter().map(|(change, gain)| {
        let times = figures::times(gain.ratio, gain.interval);
        format!("{}, {times} times {words}", change.advice.change)
    });
    let named = named.collect::<Vec<_>>().join("; ");
    (!named.is_empty()).then(|| format!("To change in the application: {named}."))
}

/// Changes that counts show to help, if they were not timed.
fn is_only_counted(it: &&Advised) -> bool {
    it.gain.is_none() && it.advice.counted.is_some()
}

fn counted_in_words(tuning: &TuningAnalysis) -> Option<String> {
    let counted = tuning.advised.iter().filter(is_only_counted).filter_map(|change| {
        Some(format!("{} ({})", change.advice.change, change.advice.counted.as_ref()?))
    });
    let counted = counted.collect::<Vec<_>>().join("; ");
    (!counted.is_empty())
        .then(|| format!("To change in the application (counted on a copy, not timed): {counted}."))
}

fn is_better(it: &&Advised) -> bool {
    it.gain.is_some_and(|gain| gain.is_certain() && gain.interval.low > 1.0)
}

/// The SQL of the changes that are better, to paste.
fn better_by_sql(tuning: &TuningAnalysis) -> Option<Block> {
    let helps = |change: &&Advised| is_better(change) || is_only_counted(change);
    let sql = tuning.advised.iter().filter(helps).filter_map(|change| change.advice.sql.clone());
    let text = sql.collect::<Vec<_>>().join("\n");
    (!text.is_empty()).then(|| Block::code("sql", text))
}

fn judgement_of_gain(gain: &Gain) -> String {
    match gain.interval {
        _ if !gain.is_certain() => TOO_FEW.to_owned(),
        interval if interval.low > 1.0 => "better".to_owned(),
        interval if interval.high < 1.0 => "worse".to_owned(),
        _ => not_distinguishable(gain),
    }
}

/// Whether what is recommended keeps the constraints.
fn constraints(tuning: &TuningAnalysis) -> Vec<Block> {
    let table = Table::of(
        "Constraints",
        &tuning.constraints,
        &[
            (Column::left("constraint"), &|limit| Cell::code(limit.constraint.to_string())),
            (Column::right("measured"), &|limit| {
                let figure = limit.measured.and_then(|measured| measured.figure);
                Cell::number(figure.map(|(figure, interval)| match limit.constraint.bound {
                    Bound::Ratio(_) => figures::ratio(figure, interval),
                    Bound::Figure(_) => figures::figure(figure, &limit.constraint.metric),
                }))
            }),
            (Column::left("judgement").prose(), &|limit| Cell::new(judgement_of_constraint(limit))),
        ],
    );
    let how = "Measured in the rounds of the recommendation. A bound without a unit is a ratio to the current settings.";
    Block::explained("Constraints", table, how)
}

fn judgement_of_constraint(it: &Constrained) -> String {
    let Some(measured) = it.measured else { return "not measured".to_owned() };
    if measured.figure.is_some() {
        let judgement = match measured.is_kept {
            Some(true) => "kept",
            Some(false) => "not kept",
            None => "not certain: the interval holds the bound",
        };
        return judgement.to_owned();
    }
    let which = match measured.is_kept {
        Some(true) => "kept in each of",
        Some(false) => "not kept in any of",
        None => "not certain: kept in some of",
    };
    let rounds = plural(measured.rounds, "round", "rounds");
    format!("{which} {rounds}; a figure is 0, so there is no ratio")
}

/// The pairs that the model of the search knows; nothing where it knows none.
fn interactions(tuning: &TuningAnalysis) -> Vec<Block> {
    let recommended = |name: &String| {
        let level = level_words(tuning.recommended.get(name));
        Cell::code(format!("{name}={level}"))
    };
    let table = Table::of(
        "Settings whose gains depend on each other",
        &tuning.interactions,
        &[
            (Column::left("setting"), &|interaction| recommended(&interaction.settings[0])),
            (Column::left("with"), &|interaction| recommended(&interaction.settings[1])),
            (Column::right("together ÷ product of the single effects"), &|interaction| {
                Cell::number(Some(figures::ratio(interaction.ratio, interaction.range)))
            }),
        ],
    );
    let how = "By the model of all trials of the search, compared with the current settings: above ×1, one setting gains more with the other. Pairs are listed whose range excludes ×1, at 95 % for all pairs together; others may exist.";
    Block::explained("Settings whose gains depend on each other", table, how)
}

/// Configurations of a line that is drawn.
const DRAWN: usize = 3;

/// A table and a chart; nothing where one configuration is the best in every metric.
fn trade_off(tuning: &TuningAnalysis) -> Vec<Block> {
    let goals = &tuning.trade_off;
    if goals.metrics.len() < 2 || goals.compromises.len() < 2 {
        return Vec::new();
    }
    let metrics = goals.metrics.iter().map(|metric| metric_column(metric));
    let columns = led(Column::left("settings"), metrics);
    let columns = columns.chain([Column::left("measured in").prose()]);
    let rows = goals.compromises.iter().map(|compromise| compromise_row(tuning, compromise));
    let table = Table::new("Configurations that no other one beats in every metric", columns, rows);
    let how = "Medians; the page adds their ratios to the current settings in the same blocks (above ×1 is better). A configuration measured in the search alone was chosen from many trials, so luck plays a part: measure it again before you use it.";
    let chart =
        (goals.compromises.len() >= DRAWN).then(|| Block::full(vec![trade_off_chart(tuning)]));
    blocks![Block::explained("The trade-off between goals", table, how), chart]
}

fn compromise_row(tuning: &TuningAnalysis, it: &Compromise) -> Row {
    let is_current = it.settings == label(&tuning.current);
    let name =
        if is_current { Cell::new("the current settings") } else { Cell::code(&it.settings) };
    let figures = it.figures.iter().zip(&tuning.trade_off.metrics).map(|(figure, metric)| {
        let median = Cell::number(Some(figures::figure(figure.median, metric)));
        if is_current { median } else { median.with_below(compromise_gain(figure)) }
    });
    let part = if it.by_rounds {
        plural(it.trials, "round", "rounds")
    } else {
        format!("the search, {}", plural(it.trials, "trial", "trials"))
    };
    Row::led(name, figures.chain([Cell::new(part)]))
}

fn compromise_gain(figure: &CompromiseFigure) -> String {
    match figure.interval {
        Some(interval) => figures::ratio(figure.gain, interval),
        None => figures::ratio_without_interval(figure.gain),
    }
}

/// The first two metrics of each configuration.
fn trade_off_chart(tuning: &TuningAnalysis) -> Block {
    let metrics = &tuning.trade_off.metrics;
    let line = |name: &str, by_rounds: bool| {
        let all = tuning.trade_off.compromises.iter();
        let own = all.filter(|compromise| compromise.by_rounds == by_rounds);
        let mut points: Vec<Point> =
            own.map(|compromise| compromise_point(compromise, metrics)).collect();
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

fn compromise_point(it: &Compromise, metrics: &[String]) -> Point {
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
    use super::*;
    use crate::document::{Document, Kind, Section};
    use lab::design::Variant;
    use lab::level::Settings;
    use lab::tier::MayLose;
    use lab::tuning_plan::Advice;
    use lab::tuning_plan::Constraint;
    use tuning::Interaction;
    use tuning::{Measured, TradeOff};

    fn contribution_of(settings: &str, low: f64, ratio: f64, high: f64) -> Contribution {
        Contribution {
            settings: settings.to_owned(),
            levels: [(settings.to_owned(), "wal".into())].into(),
            without: Variant::default(),
            gain: Gain { ratio, interval: Interval { low, high }, detectable: 0.05, rounds: 7 },
        }
    }

    fn text(blocks: Vec<Block>) -> String {
        crate::render::markdown(&Document {
            sections: vec![Section::new("x", Kind::Chapter, "x", blocks)],
            ..Document::default()
        })
    }

    fn analysis(contributions: Vec<Contribution>) -> TuningAnalysis {
        let wal = Settings::from([("journal_mode".to_owned(), Level::from("wal"))]);
        TuningAnalysis {
            experiment: "tune".to_owned(),
            may_lose: MayLose::Recent,
            recommended: wal.clone(),
            chosen: wal,
            extent: Extent::Screened,
            contributions,
            configurations: 96.0,
            ..TuningAnalysis::default()
        }
    }

    #[test]
    fn a_contribution_is_judged_by_what_its_own_rounds_show() {
        let mut short = contribution_of("temp_store", 0.0, 1.4, f64::INFINITY);
        short.gain.detectable = f64::INFINITY;
        let text = text(contributions(&analysis(vec![
            contribution_of("journal_mode", 1.9, 2.1, 2.3),
            contribution_of("mmap_size", 0.97, 1.02, 1.07),
            contribution_of("threads", 0.8, 0.85, 0.9),
            contribution_of("cache_size", 0.995, 1.0, 1.005),
            short,
        ])));
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).skip(2).collect();
        let judgements = [
            "better",
            "5 % would have been detected",
            "no gain here: left as it is",
            "no gain here: left as it is",
            "too few rounds",
        ];
        for (row, judgement) in rows.iter().zip(judgements) {
            assert!(row.contains(judgement), "{row}");
        }
        assert_eq!(rows.len(), judgements.len());
        assert!(rows[0].contains("journal_mode=wal"), "{}", rows[0]);
    }

    #[test]
    fn a_change_of_the_application_is_judged_by_its_interval_and_stands_apart() {
        let change = |name: &str, interval: Option<(f64, f64)>| Advised {
            advice: Advice {
                change: name.to_owned(),
                sql: None,
                counted: None,
                settings: Settings::new(),
            },
            gain: interval.map(|(low, high)| Gain {
                ratio: f64::midpoint(low, high),
                interval: Interval { low, high },
                detectable: 0.05,
                rounds: 7,
            }),
        };
        let mut tuning = analysis(Vec::new());
        assert!(advice(&tuning).is_empty());
        tuning.advised = vec![change("x", None)];
        assert!(text(advice(&tuning)).contains("Not measured"));
        tuning.advised = vec![
            change("10 in one", Some((3.0, 4.0))),
            change("prepared each time", Some((0.5, 0.6))),
            change("VACUUM once", Some((0.9, 1.1))),
            change("4 connections", None),
        ];
        tuning.advised[0].advice.sql = Some("CREATE INDEX a ON t(b);".to_owned());
        tuning.advised[2].advice.sql = Some("VACUUM;".to_owned());
        // An index comes before settings that bring less, and before changes that bring more but cost safety.
        let leading = |tuning: &TuningAnalysis, gain| leads(tuning, gain).map(|gain| gain.ratio);
        assert_eq!([1.8, 4.0].map(|gain| leading(&tuning, gain)), [Some(3.5), None]);
        tuning.advised.insert(0, change("100 in one", Some((6.0, 7.0))));
        assert_eq!(leading(&tuning, 1.8), Some(3.5));
        tuning.advised.remove(0);
        let brief = better_in_words(&tuning, "txns_per_s").unwrap_or_default();
        assert!(brief.contains("10 in one") && !brief.contains("VACUUM"), "{brief}");
        let text = text(advice(&tuning));
        assert!(text.contains("CREATE INDEX a ON t(b);") && !text.contains("VACUUM;"), "{text}");
        let rows = text.lines().filter(|line| line.starts_with('|')).skip(2);
        let judgements = ["better", "worse", "5 % would have been detected", "not measured"];
        for (row, judgement) in rows.zip(judgements) {
            assert!(row.contains(judgement), "{row}");
        }
    }

    #[test]
    fn without_time_nothing_is_said_of_contributions() {
        let none = text(contributions(&analysis(Vec::new())));
        assert!(none.contains("Not measured"), "{none}");
        let mut same = analysis(Vec::new());
        same.recommended.clear();
        let unchanged = text(contributions(&same));
        assert!(unchanged.contains("no others are expected to be better"), "{unchanged}");
    }

    #[test]
    fn a_search_recommends_nothing_before_it_has_tried_anything() {
        let mut stopped = analysis(Vec::new());
        stopped.recommended.clear();
        stopped.extent = Extent::Nothing;
        let text = text(contributions(&stopped));
        assert!(text.contains("recommends nothing"), "{text}");
        assert!(!text.contains("current settings:"), "{text}");
    }

    #[test]
    fn what_was_measured_of_settings_is_shown_though_none_of_them_is_recommended() {
        let mut none = analysis(vec![contribution_of("journal_mode", 0.9, 0.95, 1.0)]);
        none.recommended.clear();
        let text = text(contributions(&none));
        assert!(text.contains("their own rounds show no gain"), "{text}");
        let row = text.lines().find(|line| line.contains("left as it is"));
        assert!(row.unwrap().contains("journal_mode=wal"), "{text}");
    }

    #[test]
    fn a_constraint_is_judged_by_its_interval_or_round_by_round() {
        let judged = |figure: Option<(f64, Interval)>, is_kept| Constrained {
            constraint: Constraint::parsed("busy_errors <= 1").unwrap(),
            measured: Some(Measured { figure, is_kept, rounds: 7 }),
        };
        let near = Some((1.0, Interval { low: 0.9, high: 1.1 }));
        let mut tuning = analysis(Vec::new());
        tuning.constraints = vec![
            judged(near, None),
            judged(None, Some(true)),
            judged(None, Some(false)),
            judged(None, None),
        ];
        tuning.constraints.push(Constrained { measured: None, ..tuning.constraints[0].clone() });
        let text = text(constraints(&tuning));
        let rows = text.lines().filter(|line| line.starts_with('|')).skip(2);
        let judgements = [
            "the interval holds the bound",
            "| kept in each of 7 rounds; a figure is 0",
            "not kept in any of 7 rounds",
            "not certain: kept in some of 7 rounds",
            "not measured",
        ];
        assert_eq!(rows.clone().count(), judgements.len());
        for (row, judgement) in rows.zip(judgements) {
            assert!(row.contains(judgement), "{row}");
        }
    }

    #[test]
    fn pairs_are_listed_with_their_levels_and_ranges() {
        let mut tuning = analysis(Vec::new());
        assert!(interactions(&tuning).is_empty());
        tuning.interactions = vec![Interaction {
            settings: ["journal_mode".to_owned(), "cache_size".to_owned()],
            ratio: 1.5,
            range: Interval { low: 1.2, high: 1.9 },
        }];
        let text = text(interactions(&tuning));
        let row = text.lines().find(|line| line.contains("journal_mode=wal"));
        assert!(row.unwrap().contains("×1.5 \\[1.2, 1.9"), "{text}");
    }

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
        assert!(trade_off(&tuning).is_empty());
        tuning.trade_off = TradeOff {
            metrics: vec!["txns_per_s".to_owned(), "p99_us".to_owned()],
            compromises: vec![
                compromise("journal_mode=wal", [2.0, 0.8], true),
                compromise("", [1.0, 1.0], true),
                compromise("cache_size=-16384", [1.2, 1.1], false),
            ],
        };
        let text = text(trade_off(&tuning));
        let row = |name: &str| text.lines().find(|line| line.contains(name)).unwrap();
        assert!(row("journal_mode=wal").contains("×2.0 \\[1.8, 2.2"), "{text}");
        assert!(row("journal_mode=wal").contains("7 rounds"));
        assert!(row("the current settings").contains("7 rounds"), "{text}");
        let searched = row("cache_size=-16384");
        assert!(searched.contains("the search, 1 trial") && searched.contains("×1.2"), "{text}");
        tuning.trade_off.compromises.truncate(1);
        assert!(trade_off(&tuning).is_empty());
    }
}
