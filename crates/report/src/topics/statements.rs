//! The user's own statements: how long each takes, what it does, and how SQLite executes it.

use std::collections::BTreeSet;

use lab::analysis::{ComparisonResult, Effect, VariantAnalysis};
use lab::level::Level;
use lab::measures::Measures;
use lab::metric::higher_is_better;
use lab::stats::Interval;
use lab::trial::StatementRecord;

use super::subject::Subject;
use crate::comparisons::differing_rows;
use crate::document::{Block, Cell, Column, Item, Row, Sentence, Table, blocks, led};
use crate::figures;
use crate::names::listed;
use crate::sql::shortened;
use crate::words::{grouped, mark, metric_cell, metric_column, plural};

/// Statements that one sentence names.
const NAMED: usize = 4;

/// Variants from which on only the baseline is shown: more rows cannot be read.
const VARIANTS_FROM: usize = 6;

/// Metrics of each statement besides its median.
const METRICS: [&str; 8] = [
    "p50_us", "p99_us", "executions", "rows_per_call", "vm_steps", "scan_steps", "sorts",
    "auto_index_rows",
];

/// The headings of the ratio of the median to the baseline's, and of its inverse, which has the direction of a rate.
const TIME: &str = "time to the baseline's";
const SPEED: &str = "speed to the baseline's";

/// The heading of the smallest and the largest median of a trial.
const RANGE: &str = "smallest–largest";

/// The table of statements, whether answers are equal, and the plans; nothing where the work is not the user's SQL.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let Some(baseline) = subject.experiment.variants.first() else { return Vec::new() };
    if baseline.statements.is_empty() || baseline.unmeasured() {
        return Vec::new();
    }
    let statements = executed(subject);
    blocks![
        Block::heading("Statements"),
        Block::table(table(subject, &statements)),
        unsigned(subject),
        scans(subject, &statements),
        answers(subject),
        plans(subject, &statements),
    ]
}

/// A statement, with the variants that executed it and were measured.
struct Executed<'a> {
    statement: &'a StatementRecord,
    variants: Vec<usize>,
}

/// Returns the statements of all variants by their names: those of the baseline first.
fn executed<'a>(subject: &Subject<'a>) -> Vec<Executed<'a>> {
    let mut all: Vec<Executed<'a>> = Vec::new();
    let variants = subject.experiment.variants.iter().enumerate();
    for (index, variant) in variants.filter(|(_, variant)| !variant.unmeasured()) {
        for statement in &variant.statements {
            match all.iter_mut().find(|known| known.statement.name == statement.name) {
                Some(known) => known.variants.push(index),
                None => all.push(Executed { statement, variants: vec![index] }),
            }
        }
    }
    all
}

/// Returns the median time of each statement of the only variant; none if there are several variants or no statements.
pub(super) fn medians(subject: &Subject<'_>) -> Option<Sentence> {
    let [only] = subject.experiment.variants.as_slice() else { return None };
    let medians = only.statements.iter().filter_map(|statement| {
        let median = median(only, METRICS[0], &statement.name)?;
        Some(Sentence::code(&statement.name).words(" ").figure(figures::figure(median, METRICS[0])))
    });
    let medians: Vec<Sentence> = medians.collect();
    (!medians.is_empty()).then(|| listed(medians, NAMED))
}

/// Returns whether each transaction of a measurement is one statement, whose figures say the same.
pub(super) fn are_transactions(subject: &Subject<'_>) -> bool {
    let Some(baseline) = subject.experiment.variants.first() else { return false };
    let statements = baseline.statements.iter();
    let executions =
        statements.filter_map(|statement| median(baseline, "executions", &statement.name));
    let transactions = baseline.median("txns_per_s").zip(baseline.median("seconds"));
    let transactions = transactions.map_or(0.0, |(rate, seconds)| rate * seconds);
    // With two statements in a transaction there would be twice as many. Of few executions the medians are rough.
    executions.sum::<f64>() < 1.5 * transactions + 3.0
}

/// A row for each statement and variant, with medians over trials.
fn table(subject: &Subject<'_>, statements: &[Executed<'_>]) -> Table {
    let variants = &subject.experiment.variants;
    let measured = variants.iter().filter(|variant| !variant.unmeasured()).count();
    let rows: Vec<(&StatementRecord, usize)> = statements
        .iter()
        .flat_map(|executed| {
            let most = if measured < VARIANTS_FROM { measured } else { 1 };
            executed.variants.iter().take(most).map(|variant| (executed.statement, *variant))
        })
        .collect();
    let several = rows.iter().any(|(_, variant)| *variant > 0);
    let has = |metric: &&&str| {
        rows.iter().any(|(statement, variant)| {
            median(&variants[*variant], metric, &statement.name).is_some_and(|value| value > 0.0)
        })
    };
    let mut metrics: Vec<&str> = METRICS.iter().filter(has).copied().collect();
    let median_at = metrics.iter().position(|metric| *metric == METRICS[0]);
    if let Some((at, heading)) = median_at.zip(next_to_median(subject, several)) {
        metrics.insert(at + 1, heading);
    }
    let row = |(statement, variant): &(&StatementRecord, usize)| {
        let cells = metrics.iter().map(|metric| cell(&variants[*variant], metric, &statement.name));
        let own = variants[*variant].statements.iter().find(|own| own.name == statement.name);
        let sql = own.map(|own| own.sql.as_str());
        let is_said = *variant > 0
            && variants[0]
                .statements
                .iter()
                .any(|known| known.name == statement.name && Some(known.sql.as_str()) == sql);
        let name = Cell::code(&statement.name);
        let name = match sql.filter(|_| !is_said) {
            Some(sql) => name.with_below(one_line(sql)),
            None => name,
        };
        let variant = several.then(|| subject.names.cell(*variant));
        Row::led(name, variant.into_iter().chain(cells))
    };
    let variant = several.then(|| Column::left("variant"));
    let columns = variant.into_iter().chain(metrics.iter().map(|metric| match *metric {
        TIME | SPEED | RANGE => Column::right(*metric),
        // How often a statement was executed says on how much the other figures rest.
        "executions" => {
            Column { heading: "Executions in a trial".into(), ..metric_column("executions") }
        }
        metric => metric_column(metric),
    }));
    Table::new(
        "Statements, medians of trials",
        led(Column::left("statement"), columns),
        rows.iter().map(row),
    )
    .sortable()
    .dense()
    .data()
}

/// Returns the heading of the column next to the median, if there is one.
fn next_to_median(subject: &Subject<'_>, several: bool) -> Option<&'static str> {
    let mut variants = subject.experiment.variants.iter();
    let heading = if has_rate(subject) { SPEED } else { TIME };
    let has_ratios = variants.any(|variant| !variant.statement_effects.is_empty());
    if several { has_ratios.then_some(heading) } else { Some(RANGE) }
}

/// The figure of a statement in a column of this name.
fn cell(variant: &VariantAnalysis, column: &str, statement: &str) -> Cell {
    match column {
        TIME | SPEED => ratio(variant, statement, column == SPEED),
        RANGE => {
            let summary = variant.summaries.get(&format!("{}.{statement}", METRICS[0]));
            Cell::number(summary.map(|summary| figures::range(summary.range, METRICS[0])))
        }
        _ => metric_cell(median(variant, column, statement), &format!("{column}.{statement}")),
    }
}

/// Returns the median of a metric of a statement over trials.
fn median(variant: &VariantAnalysis, metric: &str, statement: &str) -> Option<f64> {
    variant.median(&format!("{metric}.{statement}"))
}

/// Returns whether variants are compared by a rate, so that single statements are, too: in one answer, above ×1 is better or worse
/// everywhere.
fn has_rate(subject: &Subject<'_>) -> bool {
    higher_is_better(subject.metric())
}

/// Returns a ratio of times, or of the speeds that they mean, with its interval.
fn directed(centre: f64, interval: Interval, is_speed: bool) -> (f64, Interval) {
    if is_speed { (1.0 / centre, interval.inverse()) } else { (centre, interval) }
}

/// The time or the speed of a statement compared with the baseline's.
fn ratio(variant: &VariantAnalysis, statement: &str, is_speed: bool) -> Cell {
    let Some(effect) = variant.statement_effects.get(statement) else { return Cell::number(None) };
    let estimate = &effect.estimate;
    let (value, interval) = directed(estimate.centre, estimate.interval, is_speed);
    let cell = Cell::figure(Some(value), |value| figures::ratio(value, interval));
    let standing = match (effect.is_found(), estimate.centre < 1.0) {
        (false, _) if is_lost_in_correction(effect) => return cell,
        (false, _) => ComparisonResult::Same,
        (true, true) => ComparisonResult::Better,
        (true, false) => ComparisonResult::Worse,
    };
    cell.signed(mark(standing))
}

/// Whether the interval excludes no difference, and the correction for the number of comparisons decides against it.
fn is_lost_in_correction(effect: &Effect) -> bool {
    !effect.is_found() && !effect.estimate.interval.contains(1.0)
}

/// Returns the meaning of a ratio without a sign, if there is one.
fn unsigned(subject: &Subject<'_>) -> Option<Block> {
    let variants = &subject.experiment.variants;
    let mut effects = variants.iter().flat_map(|variant| variant.statement_effects.values());
    let words = "A ratio without a sign excludes ×1 by its interval, but not after the correction for the number of statements \
                 and variants.";
    let is_shown = variants.len() < VARIANTS_FROM;
    (is_shown && effects.any(is_lost_in_correction)).then(|| Block::small(words))
}

/// Returns the effects of the variants on single statements: the rate of the mix may hide them.
pub(super) fn in_the_mix(subject: &Subject<'_>) -> Vec<Sentence> {
    let variants = &subject.experiment.variants;
    let differing = |variant: &usize| !variants[*variant].differing_statements().is_empty();
    let differing: Vec<usize> = (1..variants.len()).filter(differing).collect();
    let is_a_mix = variants.first().is_some_and(|variant| variant.statements.len() > 1);
    if !is_a_mix || differing.is_empty() || variants.len() >= VARIANTS_FROM {
        return Vec::new();
    }
    let longest = variants[0].longest_statement().filter(|(_, share)| *share > 0.5);
    let longest = longest.map(|(name, share)| {
        Sentence::code(name)
            .words(" takes ")
            .figure(figures::percent(share))
            .words(" of the time, by its executions and their median: the figures of the whole may be mostly its own.")
    });
    differing.into_iter().map(|variant| times(subject, variant)).chain(longest).collect()
}

/// The statements whose time differs with a variant.
fn times(subject: &Subject<'_>, variant: usize) -> Sentence {
    let (is_speed, variant_of) = (has_rate(subject), &subject.experiment.variants[variant]);
    let differing = variant_of.differing_statements();
    let statements = differing.iter().map(|(name, effect)| {
        let estimate = &effect.estimate;
        let (centre, interval) = directed(estimate.centre, estimate.interval, is_speed);
        Sentence::code(*name).words(" ").figure(figures::ratio(centre, interval))
    });
    let lead = if is_speed { "Speed" } else { "Time" };
    Sentence::from(format!("{lead} of single statements with "))
        .and(subject.names.sentence(variant))
        .words(", compared with the baseline: ")
        .and(listed(statements.collect(), NAMED))
        .words(".")
}

/// The statements that read many rows by full scans and return few.
fn scans(subject: &Subject<'_>, statements: &[Executed<'_>]) -> Vec<Block> {
    /// Fewest rows of a scan, in all and for each row that is returned.
    const ROWS: f64 = 1_000.0;
    const FOR_EACH: f64 = 10.0;
    let of = |variant: usize, statement: &StatementRecord| {
        let variant = &subject.experiment.variants[variant];
        let scanned = median(variant, "scan_steps", &statement.name)?;
        let returned = median(variant, "rows_per_call", &statement.name)?;
        Some(scanned >= ROWS && scanned >= FOR_EACH * returned)
    };
    let scanning = statements.iter().filter(|Executed { statement, variants }| {
        // A variant that does not scan, such as one with an index, is the answer. An engine without counters says nothing.
        let is_answer = |variant: &usize| of(*variant, statement) == Some(false);
        variants.first().is_some_and(|first| of(*first, statement) == Some(true))
            && !variants.iter().any(is_answer)
    });
    let names = scanning.map(|executed| Sentence::code(&executed.statement.name));
    let names: Vec<Sentence> = names.collect();
    if names.is_empty() {
        return Vec::new();
    }
    let (reads, returns) = match names.len() {
        1 => (" reads", "it returns"),
        _ => (" read", "they return"),
    };
    let words =
        format!("{reads} at least {FOR_EACH} times as many rows in full scans as {returns}. ");
    let advice = Sentence::code(explain_command(subject)).words(" says which index would help.");
    let text = listed(names, usize::MAX - 1).words(words).and(advice);
    vec![Block::heading("Statements that deserve a look"), Block::paragraph(text)]
}

/// Returns the path that is this setting of a variant, if it can be pasted.
fn path_of<'s>(subject: &'s Subject<'_>, variant: usize, setting: &str) -> Option<&'s str> {
    let is_plain = |path: &&str| path.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c));
    let settings = &subject.experiment.variants[variant].settings;
    settings.get(setting).and_then(Level::as_text).filter(is_plain)
}

/// Returns the command that advises indexes, with the database and the file of the baseline if these can be pasted.
fn explain_command(subject: &Subject<'_>) -> String {
    match (path_of(subject, 0, "database"), path_of(subject, 0, "scripts")) {
        (Some(database), Some(scripts)) => format!("pragmark explain --db {database} {scripts}"),
        _ => "pragmark explain".to_owned(),
    }
}

/// Says that the answers of other statements were not compared, with the command that compares them.
fn other_statements(subject: &Subject<'_>) -> Block {
    let files = (0..subject.experiment.variants.len()).map(|one| path_of(subject, one, "scripts"));
    let files = files.collect::<Option<Vec<&str>>>().map(|files| files.join(" "));
    let command = match (path_of(subject, 0, "database"), files) {
        (Some(database), Some(files)) => format!("pragmark compare --db {database} {files}"),
        _ => "pragmark compare".to_owned(),
    };
    let words = "The variants are different statements, so their answers were not compared; ";
    Block::small(Sentence::from(words).and_code(command).words(" says whether they are the same."))
}

/// The beginning of a statement, without line breaks.
fn one_line(sql: &str) -> String {
    const LENGTH: usize = 80;
    let words: Vec<&str> = sql.split_whitespace().collect();
    shortened(&words.join(" "), LENGTH)
}

/// In how many trials answers were compared, and which ones SQL leaves open. A variant with another answer has failed.
fn answers(subject: &Subject<'_>) -> Vec<Block> {
    let variants = subject.experiment.variants.iter().skip(1);
    let equal: Vec<_> = variants.filter(|variant| !variant.unmeasured()).collect();
    let compared: usize = equal.iter().map(|variant| variant.answers_compared).sum();
    let open: BTreeSet<&String> = equal.iter().flat_map(|variant| &variant.open_answers).collect();
    if compared == 0 {
        let [baseline, others @ ..] = &subject.experiment.variants[..] else { return Vec::new() };
        let asks = |name| {
            move |variant: &VariantAnalysis| {
                variant.settings.get(name) != baseline.settings.get(name)
            }
        };
        let has_others = others.iter().any(asks("scripts")) || others.iter().any(asks("sql"));
        let words = (has_others && subject.experiment.is_measured_by_command())
            .then(|| other_statements(subject));
        return words.into_iter().chain(rows_of_others(subject)).collect();
    }
    let variants = &subject.experiment.variants;
    let compared = variants.iter().map(|variant| variant.answers_compared).sum();
    let differ = (0..variants.len()).filter(|index| variants[*index].answers_differ);
    let differ: Vec<usize> = differ.collect();
    let text = Sentence::from(format!(
        "The answers of other variants, and the tables that they wrote, were compared with the baseline's in {}. ",
        plural(compared, "trial", "trials")
    ));
    let text = match &differ[..] {
        [] => text.words("They are equal"),
        differ => text
            .words("Those of ")
            .and(subject.names.list(differ, NAMED))
            .words(" differ; the others are equal"),
    };
    let text = text.words(if open.is_empty() { "." } else { " in all that SQL determines." });
    let open = open.into_iter().map(|words| Item::new(Sentence::marked(&format!("{words}."))));
    blocks![Block::small(text), Block::list(open), rows_of_others(subject)]
}

/// Returns the rows that differ, or what shows them, if the answers of a variant do.
fn rows_of_others(subject: &Subject<'_>) -> Vec<Block> {
    let variants = subject.experiment.variants.iter().enumerate();
    let rows = variants.flat_map(|(index, variant)| {
        let name = subject.names.sentence(index).plain();
        let rows = variant.differing_rows.iter();
        rows.map(move |(of, rows)| (format!("{of} with {name}"), rows))
    });
    let rows = differing_rows(rows);
    if !rows.is_empty() {
        return blocks![Block::heading("Rows that differ"), rows];
    }
    let mut variants = subject.experiment.variants.iter();
    let differ = variants.any(|variant| variant.answers_differ);
    let words = Sentence::code("pragmark compare").words(
        ", with the same statements, databases, engines and settings, shows rows that differ.",
    );
    let is_command = subject.experiment.is_measured_by_command();
    (differ && is_command).then(|| Block::small(words)).into_iter().collect()
}

/// Returns the plan of each statement, and the plans of variants that differ.
fn plans(subject: &Subject<'_>, statements: &[Executed<'_>]) -> Vec<Block> {
    let all = statements.iter().map(|executed| executed.statement);
    let (differing, same): (Vec<_>, Vec<_>) = all
        .map(|statement| (statement, plans_of(subject, &statement.name)))
        .filter(|(_, plans)| plans.iter().any(|(plan, _)| !plan.is_empty()))
        .partition(|(_, plans)| plans.len() > 1);
    let mut blocks = Vec::new();
    if !differing.is_empty() {
        blocks.push(Block::heading("Query plans that differ"));
    }
    for (statement, plans) in differing {
        for (plan, variants) in plans {
            let names = variants.iter().map(|variant| subject.names.sentence(*variant));
            let lead = Sentence::code(&statement.name).words(": ");
            blocks.push(Block::small(lead.and(listed(names.collect(), usize::MAX - 1))));
            blocks.push(Block::code("text", plan.join("\n")));
        }
    }
    let items = same.into_iter().map(|(statement, plans)| {
        let plan = plans.into_iter().next().map_or(&[][..], |(plan, _)| plan);
        let nodes: Vec<&str> = plan.iter().map(|node| node.trim_start()).collect();
        let name = Sentence::code(&statement.name);
        // Names of recorded statements are made up; other names are the user's.
        let name = if subject.experiment.measures() == Measures::Replay {
            name.words(", ").and_code(one_line(&statement.sql))
        } else {
            name
        };
        Item::new(name.words(": ").words(nodes.join("; ")))
    });
    if let Some(list) = Block::list(items) {
        blocks.extend([Block::heading("Query plans"), list]);
    }
    blocks
}

/// The plans of a statement with the variants that have them.
fn plans_of<'a>(subject: &Subject<'a>, name: &str) -> Vec<(&'a [String], Vec<usize>)> {
    let plans = subject.experiment.variants.iter().enumerate().flat_map(|(index, variant)| {
        let own = variant.statements.iter().filter(|statement| statement.name == name);
        own.map(move |statement| (statement.plan.as_slice(), index))
    });
    grouped(plans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topics::subject::of_one;
    use lab::analysis::ExperimentAnalysis;

    #[test]
    fn answers_are_not_called_equal_beside_variants_that_differ() {
        let mut variants: [VariantAnalysis; 3] = Default::default();
        (variants[1].answers_compared, variants[1].trials.measured) = (3, 3);
        (variants[2].answers_compared, variants[2].answers_differ) = (3, true);
        let experiment = ExperimentAnalysis { variants: variants.into(), ..Default::default() };
        let analysis = of_one(experiment);
        let subject = Subject::of(&analysis, 0);
        let words = format!("{:?}", answers(&subject));
        assert!(
            !words.contains("They are equal") && words.contains("the others are equal"),
            "{words}"
        );
        assert!(words.contains("6 trials"), "{words}");
    }

    #[test]
    fn a_speed_is_the_inverse_of_a_time_with_its_interval() {
        let interval = Interval { low: 0.4, high: 0.8 };
        assert_eq!(directed(0.5, interval, false), (0.5, interval));
        assert_eq!(directed(0.5, interval, true), (2.0, Interval { low: 1.25, high: 2.5 }));
    }

    #[test]
    fn a_statement_is_shortened_to_one_line() {
        assert_eq!(one_line("SELECT 1\n  FROM t"), "SELECT 1 FROM t");
        let long = one_line(&"ä".repeat(200));
        assert_eq!(long.chars().count(), 81);
    }
}
