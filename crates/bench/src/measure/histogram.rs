//! Latencies of single operations in an HdrHistogram of three digits, from 1 ns to a day: from 1 µs
//! on the fast operations of an in-memory journal would be lost, and up to 60 s the full-text queries
//! that take minutes on the published tables.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use lab::trial::Latency;

use crate::error::TrialError;

/// The longest latency reported apart: one day, in nanoseconds. Longer ones count as this. A histogram then
/// takes 311 kB; one that ends at a minute takes 221 kB.
const LONGEST_NS: u64 = 24 * 60 * 60 * 1_000_000_000;

/// Operations from which on a 99th percentile is given, and a 99.9th.
const P99_FROM: u64 = 1_000;
const P999_FROM: u64 = 10_000;

/// A histogram of latencies in nanoseconds.
pub(crate) struct LatencyHistogram(Histogram<u64>);

impl LatencyHistogram {
    pub(crate) fn new() -> Result<LatencyHistogram, TrialError> {
        Histogram::new_with_bounds(1, LONGEST_NS, 3)
            .map(LatencyHistogram)
            .map_err(measuring)
    }

    #[inline]
    pub(crate) fn record(&mut self, latency: Duration) {
        self.0.saturating_record(latency.as_nanos() as u64);
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.len()
    }

    /// Percentiles as metrics in microseconds, as far as the number of operations bears them.
    pub(crate) fn metrics(&self) -> BTreeMap<String, f64> {
        self.metrics_of(self.count())
    }

    /// As [`LatencyHistogram::metrics`], named for a phase.
    pub(crate) fn metrics_of_phase(&self, phase: &str) -> impl Iterator<Item = (String, f64)> {
        let metrics = self.metrics().into_iter();
        metrics.map(move |(name, value)| (format!("{name}.{phase}"), value))
    }

    /// As [`LatencyHistogram::metrics`] where so many operations stand behind the latencies, some of which
    /// were recorded more than once.
    pub(crate) fn metrics_of(&self, operations: u64) -> BTreeMap<String, f64> {
        let enough = [
            ("p50_us", 0.5, 1),
            ("p90_us", 0.9, 10),
            ("p99_us", 0.99, P99_FROM),
            ("p999_us", 0.999, P999_FROM),
        ];
        let mut metrics: BTreeMap<String, f64> = enough
            .into_iter()
            .filter(|(_, _, from)| operations >= *from)
            .map(|(name, quantile, _)| {
                (
                    name.to_owned(),
                    self.0.value_at_quantile(quantile) as f64 / 1e3,
                )
            })
            .collect();
        if self.count() > 0 {
            metrics.insert("max_us".to_owned(), self.0.max() as f64 / 1e3);
        }
        metrics
    }

    /// Adds everything that another histogram holds.
    pub(crate) fn add(&mut self, other: &LatencyHistogram) -> Result<(), TrialError> {
        self.0.add(&other.0).map_err(measuring)
    }

    /// The latency that so much of the operations (0 to 1) had at most, in microseconds.
    pub(crate) fn quantile_us(&self, quantile: f64) -> f64 {
        self.0.value_at_quantile(quantile) as f64 / 1e3
    }

    /// The share of the operations that took longer than this, in percent, to the three digits that are kept of each
    /// latency; 0 of none.
    pub(crate) fn percent_above(&self, limit: Duration) -> f64 {
        let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        let above = self.0.count_between(limit.saturating_add(1), u64::MAX);
        100.0 * above as f64 / self.count().max(1) as f64
    }

    /// The mean in microseconds.
    pub(crate) fn mean_us(&self) -> f64 {
        self.0.mean() / 1e3
    }

    /// Reads the interchange form.
    pub(crate) fn read(latency: &Latency) -> Result<LatencyHistogram, TrialError> {
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(&latency.histogram)
            .map_err(measuring)?;
        Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map(LatencyHistogram)
            .map_err(measuring)
    }

    /// The histogram in its interchange form.
    pub(crate) fn latency(&self) -> Result<Latency, TrialError> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.0, &mut bytes)
            .map_err(measuring)?;
        let histogram = base64::engine::general_purpose::STANDARD.encode(bytes);
        Ok(Latency {
            count: self.count(),
            histogram,
        })
    }
}

fn measuring(error: impl std::fmt::Display) -> TrialError {
    TrialError::Measuring(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_given_only_where_there_are_enough_operations() {
        let mut histogram = LatencyHistogram::new().unwrap();
        for micros in 1..=999 {
            histogram.record(Duration::from_micros(micros));
        }
        assert!(!histogram.metrics().contains_key("p99_us"));
        histogram.record(Duration::from_micros(1_000));
        let metrics = histogram.metrics();
        assert!((metrics["p50_us"] - 500.0).abs() < 2.0, "{metrics:?}");
        assert!((metrics["p99_us"] - 990.0).abs() < 2.0, "{metrics:?}");
        assert!((metrics["max_us"] - 1000.0).abs() < 2.0, "{metrics:?}");
        assert!(!metrics.contains_key("p999_us"));
    }

    #[test]
    fn latencies_are_told_apart_up_to_a_day() {
        let mut histogram = LatencyHistogram::new().unwrap();
        for (seconds, reported) in [(1_410, 1_410.0), (1_000_000, 86_400.0)] {
            histogram.record(Duration::from_secs(seconds));
            let longest = histogram.metrics()["max_us"] / 1e6;
            assert!(
                (longest / reported - 1.0).abs() < 1e-3,
                "{seconds}: {longest}"
            );
        }
    }

    #[test]
    fn the_stored_form_can_be_read_by_any_hdrhistogram() {
        let mut histogram = LatencyHistogram::new().unwrap();
        histogram.record(Duration::from_millis(3));
        histogram.record(Duration::from_secs(3600));
        let stored = histogram.latency().unwrap();
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(stored.histogram)
            .unwrap();
        let read: Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .unwrap();
        assert_eq!(read.len(), stored.count);
        assert_eq!(read.count_between(2_900_000, 3_100_000), 1);
        let hour = 3_600_000_000_000_u64;
        assert!(read.max().abs_diff(hour) < hour / 1_000);
    }

    #[test]
    fn histograms_of_several_workers_become_one() {
        let mut one = LatencyHistogram::new().unwrap();
        let mut other = LatencyHistogram::new().unwrap();
        one.record(Duration::from_micros(10));
        other.record(Duration::from_micros(1_000));
        one.add(&LatencyHistogram::read(&other.latency().unwrap()).unwrap())
            .unwrap();
        assert_eq!(one.count(), 2);
        assert!((one.quantile_us(1.0) - 1_000.0).abs() < 2.0);
        assert!((one.mean_us() - 505.0).abs() < 2.0);
        let junk = Latency {
            count: 1,
            histogram: "junk".to_owned(),
        };
        assert!(LatencyHistogram::read(&junk).is_err());
    }

    #[test]
    fn the_share_above_a_limit_is_that_of_longer_latencies() {
        let mut histogram = LatencyHistogram::new().unwrap();
        assert_eq!(histogram.percent_above(Duration::ZERO), 0.0);
        for microseconds in 1..=100 {
            histogram.record(Duration::from_micros(10 * microseconds));
        }
        assert_eq!(histogram.percent_above(Duration::from_micros(905)), 10.0);
        assert_eq!(histogram.percent_above(Duration::from_secs(1)), 0.0);
        assert_eq!(histogram.percent_above(Duration::from_micros(5)), 100.0);
    }
}
