//! The catalogue of metrics: what a trial may report, in which unit, and whether higher or lower is better.
//!
//! A metric may be reported for one phase of a trial by a suffix: `seconds.index` is the time of
//! the phase `index`. The suffix changes neither unit nor direction.
//!
//! Drivers declare metrics for workloads of their own. A metric is looked up by its name wherever a figure is written, so declared metrics are known to the whole
//! process, like the names in [`METRICS`]. A name means the same as long as the process runs:
//! declaring it again with another unit or direction is an error. The plan of a run holds the metrics of its
//! workloads, so a run's folder is enough for its report.

use std::sync::{LazyLock, PoisonError, RwLock};

use serde::de::value::{self, BorrowedStrDeserializer};
use serde::{Deserialize, Serialize};

/// Whether higher or lower values are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Larger values are better (rates).
    Higher,
    /// Smaller values are better (times, sizes).
    Lower,
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Seconds of wall-clock or CPU time.
    Seconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// Bytes per row.
    BytesPerRow,
    /// Rows per second.
    RowsPerSecond,
    /// Operations (transactions, queries) per second.
    OpsPerSecond,
    /// Mebibytes (2^20 bytes) per second.
    MebibytesPerSecond,
    /// A count.
    Count,
    /// Hundredths of a whole.
    Percent,
    /// A part of a whole, from 0 to 1.
    Share,
}

impl Unit {
    /// Returns whether figures are times or rates, so that a better one is a faster one.
    pub fn is_speed(self) -> bool {
        let times = [Unit::Seconds, Unit::Microseconds, Unit::Nanoseconds];
        let rates = [Unit::RowsPerSecond, Unit::OpsPerSecond, Unit::MebibytesPerSecond];
        times.contains(&self) || rates.contains(&self)
    }
}

/// One metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// Name in experiment files and records, without a phase.
    pub name: &'static str,
    /// Name as a heading, without a phase: `Rows per second`.
    pub heading: &'static str,
    /// Unit of the figure.
    pub unit: Unit,
    /// Whether higher or lower is better.
    pub better: Better,
    /// Its meaning and how it is measured.
    pub about: &'static str,
    /// Whether it comes from the counting trial, which is not timed. Suffixes of these metrics
    /// name kinds of files: `database`, `journal`, `wal`, `temporary`, `super_journal`.
    pub counted: bool,
}

/// A row for each metric: name, heading, unit, direction, the trial that it comes from, and its meaning.
const TABLE: &str = include_str!("../templates/metrics.txt");

/// Every metric that a trial may report.
pub static METRICS: LazyLock<Vec<Metric>> =
    LazyLock::new(|| TABLE.lines().map(|line| row(line).expect("a row of the table")).collect());

fn row(line: &'static str) -> Option<Metric> {
    let mut cells = line.splitn(6, " | ");
    let mut next = || cells.next();
    Some(Metric {
        name: next()?,
        heading: next()?,
        unit: named(next()?)?,
        better: named(next()?)?,
        counted: next()? == "counted",
        about: next()?,
    })
}

/// Returns the value that records name like this.
fn named<T: Deserialize<'static>>(name: &'static str) -> Option<T> {
    T::deserialize(BorrowedStrDeserializer::<value::Error>::new(name)).ok()
}

/// Returns the metric of this name, built in or declared by a driver; a phase suffix after a dot is allowed.
pub fn find(name: &str) -> Option<&'static Metric> {
    let base = name.split_once('.').map_or(name, |(base, _)| base);
    METRICS.iter().find(|metric| metric.name == base).or_else(|| find_declared(base))
}

/// Returns whether larger figures of the metric are better; so is a metric that is not in the catalogue.
pub fn higher_is_better(name: &str) -> bool {
    find(name).is_none_or(|metric| metric.better == Better::Higher)
}

/// A metric as a driver declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredMetric {
    /// Name in experiment files and records: lower-case letters, digits and underscores.
    pub name: String,
    /// Name as a heading.
    pub heading: String,
    /// Unit of the figure.
    pub unit: Unit,
    /// Whether higher or lower is better.
    pub better: Better,
    /// Its meaning.
    pub about: String,
}

/// Every metric declared so far. They stay as long as the process, which reads a few manifests and plans.
static DECLARED: RwLock<Vec<&'static Metric>> = RwLock::new(Vec::new());

impl DeclaredMetric {
    /// Returns whether the name can be a declared metric's.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self) -> Result<(), String> {
        let name = &self.name;
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_plain) {
            return Err(format!(
                "`{name}` cannot be the name of a metric: a name begins with a lower-case letter and has lower-case letters, digits and underscores"
            ));
        }
        if METRICS.iter().any(|known| known.name == name) {
            Err(format!("`{name}` is a metric of pragmark's own; report it without declaring it"))
        } else {
            Ok(())
        }
    }

    fn is_like(&self, known: &Metric) -> bool {
        (self.unit, self.better) == (known.unit, known.better)
            && (self.heading.as_str(), self.about.as_str()) == (known.heading, known.about)
    }

    /// Returns the same for as long as the process runs.
    fn kept(&self) -> &'static Metric {
        let text = |text: &String| -> &'static str { text.clone().leak() };
        Box::leak(Box::new(Metric {
            name: text(&self.name),
            heading: text(&self.heading),
            unit: self.unit,
            better: self.better,
            about: text(&self.about),
            counted: false,
        }))
    }
}

/// Makes metrics known under their names.
///
/// # Errors
/// A name is not allowed, or means something else already.
pub fn declare(metrics: &[DeclaredMetric]) -> Result<(), String> {
    let mut declared = DECLARED.write().unwrap_or_else(PoisonError::into_inner);
    for metric in metrics {
        metric.check()?;
        match declared.iter().find(|known| known.name == metric.name) {
            None => declared.push(metric.kept()),
            Some(known) if metric.is_like(known) => {}
            Some(_) => {
                return Err(format!(
                    "the metric `{}` is declared twice, with different units, directions or meanings",
                    metric.name
                ));
            }
        }
    }
    Ok(())
}

/// Returns the declared metric of this name, without a phase.
pub fn find_declared(name: &str) -> Option<&'static Metric> {
    let declared = DECLARED.read().unwrap_or_else(PoisonError::into_inner);
    declared.iter().find(|known| known.name == name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_metrics_with_and_without_a_phase() {
        assert_eq!(find("seconds").unwrap().unit, Unit::Seconds);
        assert_eq!(find("seconds.index").unwrap().better, Better::Lower);
        assert!(find("second").is_none());
    }

    #[test]
    fn names_and_headings_are_unique_and_names_have_no_dots() {
        for (index, metric) in METRICS.iter().enumerate() {
            assert!(!metric.name.contains('.'));
            assert!(!metric.heading.contains(['.', '_']) || metric.heading.contains("p99.9"));
            for other in &METRICS[..index] {
                assert!(other.name != metric.name, "{}", metric.name);
                assert!(other.heading != metric.heading, "{}", metric.heading);
            }
        }
    }

    fn metric(name: &str, better: Better) -> DeclaredMetric {
        DeclaredMetric {
            name: name.to_owned(),
            heading: "Parcels sent per second".to_owned(),
            unit: Unit::OpsPerSecond,
            better,
            about: "parcels sent per second".to_owned(),
        }
    }

    #[test]
    fn a_declared_metric_is_found_like_any_other_and_keeps_its_meaning() {
        assert!(find("parcels_per_s").is_none());
        let parcels = metric("parcels_per_s", Better::Higher);
        declare(std::slice::from_ref(&parcels)).unwrap();
        declare(&[parcels]).unwrap();
        assert_eq!(find("parcels_per_s").unwrap().unit, Unit::OpsPerSecond);
        assert!(higher_is_better("parcels_per_s"));
        let other = declare(&[metric("parcels_per_s", Better::Lower)]).unwrap_err();
        assert!(other.contains("declared twice"), "{other}");
        assert!(higher_is_better("parcels_per_s"));
    }

    #[test]
    fn names_of_pragmark_s_own_metrics_and_names_that_are_none_are_refused() {
        for name in ["seconds", "", "a.b", "Parcels", "1st"] {
            assert!(declare(&[metric(name, Better::Higher)]).is_err(), "{name}");
        }
    }
}
