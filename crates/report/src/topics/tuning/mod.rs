//! What a search for the fastest settings has come to: what each setting contributes, which do not matter, and how the
//! search went. What is recommended, its gain and its safety are those of the rounds, like in any experiment.

mod changes;
mod constraints;
mod interactions;
mod trade_off;

pub(super) use self::changes::in_application;

use lab::level::{Level, Settings, label};
use lab::stats::Interval;
use tuning::{Contribution, Unchanged};
use tuning::{SearchStep, TuningAnalysis};

use super::{Subject, settings};
use crate::document::{
    Block, Cell, Chart, Column, Curve, Item, Line, Plot, Point, Row, Sentence, Table,
};
use crate::figures;
use crate::words::{metric_axis, plural};

/// Everything on the search of an experiment that was tuned.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let tuning = subject.analysis.tuning.as_ref();
    let Some(tuning) = tuning.filter(|tuning| tuning.experiment == subject.experiment.key) else {
        return Vec::new();
    };
    let parts = [
        settings::sought(subject),
        changes::brief(tuning),
        moved(tuning),
        constraints::blocks(tuning),
        contributions(tuning),
        interactions::blocks(tuning),
        changes::advice(tuning),
        unchanged(tuning),
        trade_off::blocks(tuning),
        left_out(tuning),
        course(subject, tuning),
    ];
    parts.into_iter().flatten().collect()
}

/// Whether the optimum has moved since an earlier search.
fn moved(tuning: &TuningAnalysis) -> Vec<Block> {
    let Some(moved) = &tuning.moved else {
        return Vec::new();
    };
    let end = match moved.gain {
        _ if moved.is_same => ", and so does this one: the optimum has not moved.".to_owned(),
        None => ". What this one recommends was not compared with it.".to_owned(),
        Some((ratio, interval)) => {
            let gain = figures::ratio(ratio, interval);
            let judgement = match (interval.low > 1.0, interval.high < 1.0) {
                (true, _) => "the optimum has moved",
                (_, true) => "the earlier recommendation is better",
                _ => "they cannot be distinguished",
            };
            format!(". What this one recommends is {gain} as good: {judgement}.")
        }
    };
    let lead = Sentence::from("The earlier search recommended ");
    let sentence = lead.and_code(label(&moved.earlier)).words(end);
    vec![Block::Paragraph(sentence, crate::document::Role::Body)]
}

/// What each setting contributes.
fn contributions(tuning: &TuningAnalysis) -> Vec<Block> {
    if let Some(needed_s) = tuning.needed_s {
        let short = format!(
            "The time limit was too short for the first 18 configurations, so the search recommends nothing. It needs at least \
             {}; several times as much finds more.",
            figures::duration(needed_s.ceil())
        );
        return vec![Block::paragraph(short)];
    }
    if !tuning.is_screened {
        return vec![Block::paragraph(NOT_SCREENED)];
    }
    let is_current = tuning.recommended == tuning.current;
    if is_current && tuning.contributions.is_empty() {
        let none =
            "The search recommends the current settings: no others are expected to be better.";
        return vec![Block::paragraph(none)];
    }
    let heading = Block::Heading("What each setting contributes".to_owned());
    if tuning.contributions.is_empty() {
        return vec![heading, Block::paragraph(TOGETHER)];
    }
    let none_contributes = is_current.then(|| Block::paragraph(NONE_CONTRIBUTES));
    let columns = [
        Column::left("setting"),
        Column::left("instead of"),
        Column::right("contributes"),
        Column::left("judgement").prose(),
    ];
    let rows = tuning.contributions.iter().map(contribution);
    let table = Table::new("What each setting contributes", columns, rows);
    let rounds =
        tuning.contributions.iter().map(|contribution| contribution.rounds).max().unwrap_or(0);
    let how = format!(
        "What the search chose compared with the same without one of these settings, in {} of their own; intervals are \
         corrected for the number of settings (Holm).",
        plural(rounds, "round", "rounds")
    );
    let missing = (!tuning.not_measured.is_empty()).then(|| {
        let names = tuning.not_measured.iter().map(Sentence::code);
        let lead =
            Sentence::from("Not measured apart, for lack of time or because trials failed: ");
        Block::Paragraph(
            lead.and(crate::document::joined(names, ", ")),
            crate::document::Role::Body,
        )
    });
    let blocks = [heading, Block::table(table), Block::small(how)];
    let blocks = none_contributes.into_iter().chain(blocks);
    blocks.chain(missing).collect()
}

fn not_distinguishable(detectable: f64) -> String {
    format!(
        "not distinguishable from none; a difference of {} would have been detected",
        figures::percent(detectable)
    )
}

/// What is said of a search that was stopped, or could not measure the current settings.
const NOT_SCREENED: &str = "The search recommends nothing: it ended before the current settings and its first 18 configurations were measured.";

/// What is said where no setting of the choice has a gain of its own.
const NONE_CONTRIBUTES: &str = "The search recommends the current settings: others were expected to be better, and their own rounds show no gain.";

/// What is said of a part of the run that there was no time for.
const NO_TIME: &str = "Not measured: no time was left.";

/// What is said where settings were measured together only.
const TOGETHER: &str = "Not measured: no time was left. The gain is that of all recommended settings together, and some of them \
                        may bring nothing; a longer --time-limit measures each of them and leaves out what has no gain.";

/// The judgement of figures from one or two rounds.
const TOO_FEW: &str = "too few rounds";

fn contribution(it: &Contribution) -> Row {
    let names = || it.settings.split(" and ");
    let own = names().map(|name| format!("{name}={}", level_words(it.levels.get(name))));
    let instead = names().map(|name| level_words(it.without.levels.get(name)));
    let judgement = if !it.detectable.is_finite() {
        TOO_FEW.to_owned()
    } else if it.is_left_out() {
        "no gain here: left as it is".to_owned()
    } else if it.is_found() {
        "better".to_owned()
    } else {
        not_distinguishable(it.detectable)
    };
    Row::new([
        Cell::code(own.collect::<Vec<_>>().join(" ")),
        Cell::code(instead.collect::<Vec<_>>().join(" ")),
        Cell::number(Some(figures::ratio(it.ratio, it.interval))),
        Cell::new(judgement),
    ])
}

/// A level, or that it is the default.
fn level_words(level: Option<&Level>) -> String {
    level.map_or("default".to_owned(), Level::to_string)
}

/// The settings that were varied and stay as they are.
fn unchanged(tuning: &TuningAnalysis) -> Vec<Block> {
    if tuning.unchanged.is_empty() {
        return Vec::new();
    }
    let columns = [
        Column::left("setting, as it is"),
        Column::left("best other level"),
        Column::right("expected of it"),
    ];
    let row = |unchanged: &Unchanged| {
        let own = level_words(tuning.recommended.get(&unchanged.setting));
        Row::new([
            Cell::code(format!("{}={own}", unchanged.setting)),
            Cell::code(unchanged.other.to_string()),
            Cell::number(Some(figures::ratio(unchanged.ratio, unchanged.range))),
        ])
    };
    let table =
        Table::new("Settings that stay as they are", columns, tuning.unchanged.iter().map(row));
    let how = "Expected by the model of all trials of the search, with the range that agrees with it at 95 %: smaller \
               differences than the ends of the range may exist.";
    vec![
        Block::Heading("Settings that were tried and stay as they are".to_owned()),
        Block::table(table),
        Block::small(how),
    ]
}

/// What was never tried, or failed.
fn left_out(tuning: &TuningAnalysis) -> Vec<Block> {
    let excluded = tuning
        .excluded
        .iter()
        .map(|(why, levels)| Item::new(Sentence::from(format!("{why}: ")).and(listed(levels))));
    let excluded = Block::list(excluded);
    let unusable = (!tuning.unusable.is_empty()).then(|| {
        let lead = Sentence::from("Failed, or answered differently, and not recommended: ");
        Block::Paragraph(lead.and(listed(&tuning.unusable)), crate::document::Role::Body)
    });
    let idle = (!tuning.idle.is_empty()).then(|| {
        let names = tuning.idle.iter().map(Sentence::code);
        let lead = Sentence::from(
            "Not varied, because by SQLite's plans no statement uses what they are about: ",
        );
        Block::Paragraph(
            lead.and(crate::document::joined(names, ", ")),
            crate::document::Role::Body,
        )
    });
    // Dozens of combinations that nobody needs to see first.
    let title = "Never tried: it may lose more than is accepted, or what it loses is not known";
    let excluded = excluded.map(|list| Block::fold(title, vec![list]));
    let blocks: Vec<Block> = excluded.into_iter().chain(unusable).chain(idle).collect();
    vec![Block::full(blocks)]
}

fn listed(all: &[Settings]) -> Sentence {
    crate::document::joined(all.iter().map(|settings| Sentence::code(label(settings))), ", ")
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
    let space = format!(
        "{} among {} combinations of levels.{noise}",
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
        let remark =
            "The best of a block is fast by luck as well; the gain above is measured afresh.";
        Block::full(vec![Block::chart(Chart::new(caption, plot).with_remark(remark))])
    });
    let heading = Block::Heading("The search".to_owned());
    [heading, Block::paragraph(space)].into_iter().chain(chart).collect()
}

fn point(name: &str, step: &SearchStep, figure: f64, metric: &str) -> Point {
    Point {
        x: step.trials as f64,
        y: figure,
        range: Interval { low: figure, high: figure },
        words: format!("{name}, after {} trials: {}", step.trials, figures::figure(figure, metric)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Document, Kind, Section};
    use lab::design::Variant;
    use lab::tier::MayLose;
    use lab::tuning_plan::Advice;
    use tuning::{Advised, Gain};

    use super::changes::advice;

    fn contribution_of(settings: &str, low: f64, ratio: f64, high: f64) -> Contribution {
        Contribution {
            settings: settings.to_owned(),
            levels: [(settings.to_owned(), "wal".into())].into(),
            without: Variant::default(),
            ratio,
            interval: Interval { low, high },
            detectable: 0.05,
            rounds: 7,
        }
    }

    pub(super) fn text(blocks: Vec<Block>) -> String {
        crate::render::markdown(&Document {
            sections: vec![Section::new("x", Kind::Chapter, "x", blocks)],
            ..Document::default()
        })
    }

    pub(super) fn analysis(contributions: Vec<Contribution>) -> TuningAnalysis {
        let wal = Settings::from([("journal_mode".to_owned(), Level::from("wal"))]);
        TuningAnalysis {
            experiment: "tune".to_owned(),
            may_lose: MayLose::Recent,
            recommended: wal.clone(),
            chosen: wal,
            is_screened: true,
            contributions,
            configurations: 96.0,
            ..TuningAnalysis::default()
        }
    }

    #[test]
    fn a_contribution_is_judged_by_what_its_own_rounds_show() {
        let mut short = contribution_of("temp_store", 0.0, 1.4, f64::INFINITY);
        short.detectable = f64::INFINITY;
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
            advice: Advice { change: name.to_owned(), sql: None, settings: Settings::new() },
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
        let brief = text(super::changes::brief(&tuning));
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
        stopped.is_screened = false;
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
}
