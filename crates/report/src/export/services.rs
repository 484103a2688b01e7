//! Figures in the formats of services and tools that follow benchmarks over time.
//!
//! Each variant of each experiment is one benchmark; its figures are the metric of its experiment and the secondary ones,
//! in the base unit of the metric. Variants that were not measured are left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use lab::analysis::{ExperimentAnalysis, Summary, VariantAnalysis};
use lab::metric::{self, Unit};
use lab::record::{RunPlan, TrialRecord};
use lab::seed::Seed;
use lab::text::is_active;
use lab::trial::Outcome;
use serde_json::{Value, json};
use tuning::Analysis;

use crate::Result;

/// Whether larger or smaller figures are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Larger ones.
    Bigger,
    /// Smaller ones.
    Smaller,
}

/// Bencher Metric Format (documented at <https://bencher.dev>): the median of each metric, with the
/// smallest and the largest trial as its lower and upper value.
///
/// # Errors
/// When JSON cannot be written.
pub fn bencher(analysis: &Analysis) -> Result<String> {
    let mut all: BTreeMap<String, Value> = BTreeMap::new();
    for (name, variant, metrics) in benchmarks(analysis) {
        let measures = metrics.iter().filter_map(|metric| {
            let Summary { median, range, .. } = variant.summaries.get(metric)?;
            let value =
                json!({"value": median, "lower_value": range.low, "upper_value": range.high});
            Some((shortened(metric, MOST_OF_MEASURE), value))
        });
        let measures: serde_json::Map<String, Value> = measures.collect();
        if !measures.is_empty() {
            let name = shortened(&name, MOST_OF_BENCHMARK);
            all.insert(name, Value::Object(measures));
        }
    }
    Ok(escaped_json(&serde_json::to_string_pretty(&all)?) + "\n")
}

/// The longest name of a benchmark that Bencher accepts, in bytes.
const MOST_OF_BENCHMARK: usize = 1_024;
/// The longest name of a measure that it accepts.
const MOST_OF_MEASURE: usize = 64;

/// Shortens a name to at most `most` bytes: a longer one ends in a checksum of the whole, which is the same in every run.
fn shortened(name: &str, most: usize) -> String {
    if name.len() <= most {
        return name.to_owned();
    }
    let checksum = format!("~{:016x}", Seed(0).child(name).0);
    let mut ends = (0..=most - checksum.len()).rev();
    let end = ends.find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    format!("{}{checksum}", &name[..end])
}

/// The custom format of github-action-benchmark (`customBiggerIsBetter`, `customSmallerIsBetter`): the metrics with this
/// direction.
///
/// # Errors
/// When JSON cannot be written.
pub fn github_benchmark(analysis: &Analysis, direction: Direction) -> Result<String> {
    let mut entries = Vec::new();
    for (name, variant, metrics) in benchmarks(analysis) {
        let wanted = metrics
            .iter()
            .filter(|metric| metric::higher_is_better(metric) == (direction == Direction::Bigger));
        for metric in wanted {
            if let Some(summary) = variant.summaries.get(metric) {
                entries.push(entry(&name, metric, summary));
            }
        }
    }
    Ok(escaped_json(&serde_json::to_string_pretty(&entries)?) + "\n")
}

fn entry(name: &str, metric: &str, summary: &Summary) -> Value {
    json!({
        "name": format!("{name}, {metric}"),
        "unit": unit(metric),
        "value": summary.median,
        "range": format!("{} to {}", summary.range.low, summary.range.high),
        "extra": format!("median of {} trials", summary.n),
    })
}

/// The name of each benchmark with its metrics.
fn benchmarks(
    analysis: &Analysis,
) -> impl Iterator<Item = (String, &VariantAnalysis, Vec<String>)> {
    analysis.experiments.iter().flat_map(|experiment| {
        let metrics = metrics(analysis, experiment);
        experiment.variants.iter().map(move |variant| {
            let name = format!("{}: {}", experiment.key, variant.label);
            (name, variant, metrics.clone())
        })
    })
}

/// The metric of an experiment and its secondary ones.
fn metrics(analysis: &Analysis, experiment: &ExperimentAnalysis) -> Vec<String> {
    let planned = analysis.plan.experiments.iter();
    let planned = planned.filter(|planned| planned.key == experiment.key);
    let secondary =
        planned.flat_map(|planned| planned.experiment.secondary_metrics.iter().cloned());
    let mut metrics = vec![experiment.metric.clone()];
    metrics.extend(secondary.filter(|metric| *metric != experiment.metric));
    metrics
}

fn unit(metric: &str) -> &'static str {
    match metric::find(metric).map(|metric| metric.unit) {
        Some(Unit::RowsPerSecond) => "rows/s",
        Some(Unit::OpsPerSecond) => "ops/s",
        Some(Unit::Seconds) => "s",
        Some(Unit::Microseconds) => "µs",
        Some(Unit::Nanoseconds) => "ns",
        Some(Unit::Bytes) => "B",
        Some(Unit::BytesPerRow) => "B/row",
        Some(Unit::MebibytesPerSecond) => "MiB/s",
        Some(Unit::Percent) => "%",
        Some(Unit::Count | Unit::Share) | None => "",
    }
}

/// Go's benchmark format (<https://go.dev/design/14313-benchmark-format>) for `benchstat`: a line for each timed trial, so
/// that benchstat computes its own statistics. The rounds of a run are paired; benchstat does not know that.
pub struct Benchstat {
    text: String,
    metrics: BTreeMap<String, String>,
}

impl Benchstat {
    /// For the trials of this run.
    pub fn new(plan: &RunPlan) -> Benchstat {
        let planned = plan.experiments.iter();
        let metrics: BTreeMap<String, String> = planned
            .map(|planned| (planned.key.clone(), planned.experiment.metric.clone()))
            .collect();
        // Without keys such as the run's id: benchstat compares only what has the same ones.
        let mut text = String::new();
        let names: std::collections::BTreeSet<&String> = metrics.values().collect();
        for metric in names {
            let better = if metric::higher_is_better(metric) { "higher" } else { "lower" };
            let _ = writeln!(text, "Unit {metric} better={better}");
        }
        Benchstat { text, metrics }
    }

    /// Adds a trial, if it was measured and timed.
    pub fn add(&mut self, record: &TrialRecord) {
        use lab::design::Role;
        use lab::record::Purpose;
        let is_timed = matches!(record.role, Role::Baseline | Role::AaCheck | Role::Variant);
        let (Outcome::Measured(measured), true, Purpose::Rounds) =
            (&record.outcome, is_timed, record.purpose)
        else {
            return;
        };
        let metric = self.metrics.get(&record.experiment);
        let value = metric.and_then(|metric| Some((metric, measured.metrics.get(metric)?)));
        if let Some((metric, value)) = value {
            let name = word(&format!("{}/{}", record.experiment, record.variant));
            let _ = writeln!(self.text, "Benchmark{name} 1 {value} {metric}");
        }
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}

/// A name as one word that begins with a capital letter or a mark, as Go requires.
fn word(name: &str) -> String {
    let plain = name.chars().map(|c| match c {
        c if c.is_whitespace() || is_active(c) => '_',
        c => c,
    });
    let plain: String = plain.collect();
    match plain.chars().next() {
        Some(first) if first.is_lowercase() => {
            first.to_uppercase().chain(plain.chars().skip(1)).collect()
        }
        _ => plain,
    }
}

/// Escapes every active character in the strings of JSON; outside of strings there are line feeds only.
pub(super) fn escaped_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if character != '\n' && is_active(character) {
            let units = character.encode_utf16(&mut [0; 2]).to_vec();
            escaped.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            escaped.push(character);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_shortened_and_differ_still() {
        let long = |end: &str| format!("p99_us.{}{end}", "é".repeat(40));
        let [one, other] = ["a", "b"].map(|end| shortened(&long(end), MOST_OF_MEASURE));
        assert!(one.len() <= 64 && one.len() > 60, "{one}");
        assert_ne!(one, other);
        assert_eq!(one, shortened(&long("a"), MOST_OF_MEASURE));
        assert_eq!(shortened("p99_us.find", MOST_OF_MEASURE), "p99_us.find");
    }

    #[test]
    fn names_are_words_for_go() {
        assert_eq!(word("measure/cache_size=-2000"), "Measure/cache_size=-2000");
        assert_eq!(word("a b\tc"), "A_b_c");
    }
}
