//! What is said of single variants: their rows, their names, their letters, the notes on them.

use lab::analysis::{AgainstStronger, ComparisonResult, UNTESTED, VariantAnalysis};
use lab::stats::Interval;
use lab::target;
use pragmark_report as report;
use report::document::Row;

use crate::agreement::plan::{NEVER_REPORTED, PRAGMAS};
use crate::agreement::reading::Chapter;

pub fn faults(chapter: &Chapter<'_>) -> Vec<String> {
    let checks = [rows, names, letters, undetected, bounds, secondary, durability];
    checks.into_iter().flat_map(|check| check(chapter)).collect()
}

fn comparison_result(chapter: &Chapter<'_>, variant: usize) -> ComparisonResult {
    let experiment = chapter.experiment;
    experiment.variants[variant].compared(&experiment.metric)
}

fn differs(standing: ComparisonResult) -> bool {
    matches!(standing, ComparisonResult::Better | ComparisonResult::Worse)
}

/// A ratio with its sign and its interval stands in the row of its variant.
fn rows(chapter: &Chapter<'_>) -> Vec<String> {
    let rows = chapter.rows().into_iter();
    rows.filter_map(|(variant, row)| {
        let of = &chapter.experiment.variants[variant];
        let text = row.cells.iter().map(|cell| cell.text.plain()).collect::<Vec<_>>().join(" | ");
        let fault = sign(chapter, variant, row).or_else(|| ratio(of, &text));
        Some(format!("{} in: {text}", fault?))
    })
    .collect()
}

/// What is better than the baseline is so with its whole interval.
fn sign(chapter: &Chapter<'_>, variant: usize, row: &Row) -> Option<&'static str> {
    let experiment = chapter.experiment;
    let better = if lab::metric::higher_is_better(&experiment.metric) {
        ComparisonResult::Better
    } else {
        ComparisonResult::Worse
    };
    let standing = comparison_result(chapter, variant);
    let effect = experiment.variants[variant].effect.as_ref();
    let interval = effect.map(|effect| effect.estimate.interval);
    let agrees = match (standing, interval) {
        (ComparisonResult::Better | ComparisonResult::Worse, None) => false,
        (ComparisonResult::Better | ComparisonResult::Worse, Some(it)) if standing == better => {
            it.low > 1.0
        }
        (ComparisonResult::Better | ComparisonResult::Worse, Some(it)) => it.high < 1.0,
        _ => true,
    };
    let signs: Vec<&str> = row.cells.iter().filter_map(|cell| cell.sign).collect();
    let expected = match standing {
        ComparisonResult::Better => "▲",
        ComparisonResult::Worse => "▼",
        ComparisonResult::Baseline => "◆",
        ComparisonResult::Same => "≈",
        ComparisonResult::Uncompared | ComparisonResult::NoRatio => "·",
        ComparisonResult::Unmeasured => "–",
    };
    match (agrees, signs.first() == Some(&expected)) {
        (false, _) => Some("the interval does not show the difference"),
        (_, false) => Some("another sign"),
        (true, true) => None,
    }
}

fn ratio(variant: &VariantAnalysis, text: &str) -> Option<&'static str> {
    /// A tenfold difference.
    const LARGEST_DETECTABLE: f64 = 9.0;
    let effect = variant.effect.as_ref()?;
    let estimate = &effect.estimate;
    let ratio = report::figures::ratio(estimate.centre, estimate.interval);
    let holds_one = |((low, _), (high, _)): ((f64, f64), (f64, f64))| low <= 1.0 && high >= 1.0;
    if !text.contains(&ratio) {
        Some("the ratio is missing")
    } else if effect.is_found() && printed(&ratio).is_none_or(holds_one) {
        Some("a difference whose interval reads as if it held 1")
    } else if !is_as_judged(&ratio, estimate.interval) {
        Some("another interval than the one that was judged")
    } else if estimate.detectable > LARGEST_DETECTABLE {
        Some("a detectable difference beyond sense")
    } else {
        None
    }
}

/// Whether the ends of a printed interval are those that were judged, but for rounding.
fn is_as_judged(ratio: &str, judged: Interval) -> bool {
    let near = |(printed, unit): (f64, f64), end: f64| {
        printed == end || (printed - end).abs() <= (0.06 * end).max(0.51 * unit)
    };
    printed(ratio).is_some_and(|(low, high)| near(low, judged.low) && near(high, judged.high))
}

/// The ends of a printed interval, each with the unit of its last digit.
fn printed(ratio: &str) -> Option<((f64, f64), (f64, f64))> {
    let inside = ratio.split_once('[')?.1.strip_suffix(']')?;
    let (low, high) = inside.split_once(", ")?;
    let end = |text: &str| match text {
        "∞" => Some((f64::INFINITY, 0.0)),
        text => {
            let digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
            Some((text.replace(',', "").parse().ok()?, 0.1_f64.powi(digits as i32)))
        }
    };
    Some((end(low)?, end(high)?))
}

/// No two variants have one name, and only SQLite has PRAGMAs.
fn names(chapter: &Chapter<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut names = chapter.names();
    for (variant, name) in &names {
        let of = &chapter.experiment.variants[*variant];
        let labels = [name, &of.label];
        let has_pragma = |pragma: &&str| labels.iter().any(|label| label.contains(*pragma));
        if !target::is_sqlite(&of.settings) && PRAGMAS.iter().any(has_pragma) {
            faults.push(format!("a PRAGMA of {}: {name}", target::of(&of.settings)));
        }
    }
    names.sort_by(|one, other| one.1.cmp(&other.1));
    let twice = names.windows(2).filter(|two| two[0].1 == two[1].1);
    faults.extend(twice.map(|two| format!("two variants are called {}", two[0].1)));
    faults
}

/// Variants share a letter with the baseline where they do not differ from it, and only there; one of two that were not tested has
/// none.
fn letters(chapter: &Chapter<'_>) -> Vec<String> {
    let variants = &chapter.experiment.variants;
    let shares = |one: usize, other: usize| {
        let letters = |it: usize| letters_of(&variants[it].groups);
        letters(one).iter().any(|letter| letter != UNTESTED && letters(other).contains(letter))
    };
    let is_untested = |it: usize| variants[it].groups == UNTESTED || variants[0].groups == UNTESTED;
    let wrong = (1..variants.len()).filter(|it| match variants[*it].effect {
        Some(_) if is_untested(*it) => shares(*it, 0),
        Some(_) => shares(*it, 0) == differs(comparison_result(chapter, *it)),
        None => !variants[*it].has_zero && !variants[*it].groups.is_empty() && !is_untested(*it),
    });
    wrong
        .map(|wrong| {
            format!("{} and the letters of {}", variants[wrong].groups, variants[wrong].label)
        })
        .collect()
}

fn letters_of(groups: &str) -> Vec<String> {
    let mut letters: Vec<String> = Vec::new();
    for letter in groups.chars() {
        match letters.last_mut().filter(|letter| letter.starts_with('(') && !letter.ends_with(')'))
        {
            Some(number) => number.push(letter),
            None => letters.push(letter.to_string()),
        }
    }
    letters
}

/// What is said not to differ does not.
fn undetected(chapter: &Chapter<'_>) -> Vec<String> {
    let Some(note) = chapter.sentence("≈ no detectable difference: ") else {
        return Vec::new();
    };
    let variants = &chapter.experiment.variants;
    let holds_one = |variant: &usize| {
        let effect = variants[*variant].effect.as_ref();
        effect.is_some_and(|effect| !effect.is_found() && effect.estimate.interval.contains(1.0))
    };
    let wrong = chapter.mentioned(&note).into_iter().filter(|mentioned| !holds_one(mentioned));
    wrong.map(|wrong| format!("{} differs: {note}", variants[wrong].label)).collect()
}

/// A variant that exceeds an upper bound is named.
fn bounds(chapter: &Chapter<'_>) -> Vec<String> {
    let experiment = chapter.experiment;
    let exceeded = experiment.upper_bounds.iter().filter(|bound| {
        let best = experiment.ranking.first().map(|ranking| &experiment.variants[*ranking]);
        let best = best.and_then(|best| best.summaries.get(&experiment.metric));
        best.zip(bound.summary).is_some_and(|(best, bound)| {
            if lab::metric::higher_is_better(&experiment.metric) {
                best.median > bound.median
            } else {
                best.median < bound.median
            }
        })
    });
    let unsaid = exceeded.filter(|exceeded| {
        let beginning = format!("better median than the upper bound {}: ", exceeded.name);
        chapter.sentence(&beginning).is_none()
    });
    unsaid.map(|unsaid| format!("{} is exceeded", unsaid.name)).collect()
}

/// A secondary metric is a column, or it is said that no variant has it.
fn secondary(chapter: &Chapter<'_>) -> Vec<String> {
    let measured = chapter.experiment.variants.iter().any(|variant| !variant.summaries.is_empty());
    let tables = chapter.tables("Secondary metrics");
    let has_column = |name: &str| {
        let mut columns = tables.iter().flat_map(|table| &table.columns);
        columns.any(|column| column.about.as_deref() == Some(name))
    };
    let sentences = chapter.sentences();
    let is_missed = |name: &str| {
        let mut missed =
            sentences.iter().filter(|sentence| sentence.contains(": no trial has this metric"));
        missed.any(|missed| missed.contains(name))
    };
    let has_table = !tables.is_empty() && measured;
    let names = ["cpu_user_s", "syncs", NEVER_REPORTED];
    let unsaid =
        names.into_iter().filter(|name| has_table && !has_column(name) && !is_missed(name));
    unsaid.map(|unsaid| format!("nothing is said of {unsaid}")).collect()
}

/// What giving up durability brings agrees with the rows of the variants.
fn durability(chapter: &Chapter<'_>) -> Vec<String> {
    let classes = &chapter.experiment.by_durability;
    let compared = classes.iter().filter_map(|class| {
        let best = *class.variants.first()?;
        Some((best, class.against_stronger?))
    });
    let is_wrong = |(best, against): &(usize, AgainstStronger)| {
        let own = comparison_result(chapter, *best);
        match against {
            AgainstStronger::Same(0) => differs(own),
            AgainstStronger::Worse(0) => own == ComparisonResult::Better,
            _ => false,
        }
    };
    let wrong = compared.filter(is_wrong);
    wrong.map(|wrong| format!("durability says otherwise: {wrong:?}")).collect()
}
