//! Metrics that drivers declare for workloads of their own.
//!
//! A metric is looked up by its name wherever a figure is written, so declared metrics are known to the whole
//! process, like those of [`METRICS`](crate::metric::METRICS). A name means the same as long as the process runs:
//! declaring it again with another unit or direction is an error. The plan of a run holds the metrics of its
//! workloads, so a run's folder is enough for its report.

use std::sync::{PoisonError, RwLock};

use serde::{Deserialize, Serialize};

use crate::metric::{self, Better, Metric, Unit};

/// A metric as a driver declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnMetric {
    /// Name in experiment files and records: lower-case letters, digits and underscores.
    pub name: String,
    /// Name as a heading.
    pub heading: String,
    /// Unit of the figure.
    pub unit: Unit,
    /// Whether higher or lower is better.
    pub better: Better,
    /// What it means.
    pub about: String,
}

/// Every metric declared so far. They stay as long as the process, which reads a few manifests and plans.
static DECLARED: RwLock<Vec<&'static Metric>> = RwLock::new(Vec::new());

impl OwnMetric {
    /// Whether the name can be that of a declared metric.
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
        match metric::METRICS.iter().any(|known| known.name == name) {
            true => Err(format!(
                "`{name}` is a metric of pragmark's own; report it without declaring it"
            )),
            false => Ok(()),
        }
    }

    fn is_like(&self, known: &Metric) -> bool {
        (self.unit, self.better) == (known.unit, known.better)
            && (self.heading.as_str(), self.about.as_str()) == (known.heading, known.about)
    }

    /// The same for as long as the process runs.
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
pub fn declare(metrics: &[OwnMetric]) -> Result<(), String> {
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

/// The declared metric of this name, without a phase.
pub fn find(name: &str) -> Option<&'static Metric> {
    let declared = DECLARED.read().unwrap_or_else(PoisonError::into_inner);
    declared.iter().find(|known| known.name == name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(name: &str, better: Better) -> OwnMetric {
        OwnMetric {
            name: name.to_owned(),
            heading: "Parcels sent per second".to_owned(),
            unit: Unit::OpsPerSecond,
            better,
            about: "parcels sent per second".to_owned(),
        }
    }

    #[test]
    fn a_declared_metric_is_found_like_any_other_and_keeps_its_meaning() {
        assert!(metric::find("parcels_per_s").is_none());
        let parcels = metric("parcels_per_s", Better::Higher);
        declare(std::slice::from_ref(&parcels)).unwrap();
        declare(&[parcels]).unwrap();
        assert_eq!(metric::find("parcels_per_s").unwrap().unit, Unit::OpsPerSecond);
        assert!(metric::higher_is_better("parcels_per_s"));
        let other = declare(&[metric("parcels_per_s", Better::Lower)]).unwrap_err();
        assert!(other.contains("declared twice"), "{other}");
        assert!(metric::higher_is_better("parcels_per_s"));
    }

    #[test]
    fn names_of_pragmark_s_own_metrics_and_names_that_are_none_are_refused() {
        for name in ["seconds", "", "a.b", "Parcels", "1st"] {
            assert!(declare(&[metric(name, Better::Higher)]).is_err(), "{name}");
        }
    }
}
