//! Latencies of single operations in an HdrHistogram of three digits, from 1 ns to a day: from 1 µs
//! on the fast operations of an in-memory journal would be lost, and up to 60 s the full-text queries
//! that take minutes on the published tables.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use base64::Engine;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{self, Serializer as _, V2DeflateSerializer};
use lab::trial::Latency;
use serde::{Deserialize, Serialize};

use crate::error::{Result, TrialError};

/// The longest latency reported apart: one day, in nanoseconds. Longer ones count as this. A histogram then
/// takes 311 kB; one that ends at a minute takes 221 kB.
const LONGEST_NS: u64 = 24 * 60 * 60 * 1_000_000_000;

/// Number of operations from which a 99th percentile is given, and a 99.9th.
const P99_FROM: u64 = 1_000;
const P999_FROM: u64 = 10_000;

/// Latencies that are told apart in a bucket: twice as many as three digits need.
const BUCKET: usize = 2_048;

/// A histogram of latencies in nanoseconds.
///
/// It counts in the cells of an HdrHistogram, and becomes one to be stored. Recording in that one takes tens of
/// nanoseconds, which are a share of a short statement.
pub(crate) struct LatencyHistogram(Vec<u64>);

/// Returns the cell of a latency. The first bucket has a cell for each nanosecond. Each further bucket is half as fine as the
/// previous one, and uses only its upper half, because the lower half belongs to the previous buckets.
#[inline]
fn cell(nanos: u64) -> usize {
    let nanos = nanos.min(LONGEST_NS);
    let bucket = (nanos | (BUCKET as u64 - 1)).ilog2() - (BUCKET.ilog2() - 1);
    bucket as usize * (BUCKET / 2) + (nanos >> bucket) as usize
}

/// Returns the least latency of a cell.
fn least(cell: usize) -> u64 {
    let bucket = (cell / (BUCKET / 2)).saturating_sub(1);
    ((cell - bucket * (BUCKET / 2)) as u64) << bucket
}

impl Default for LatencyHistogram {
    fn default() -> LatencyHistogram {
        LatencyHistogram(vec![0; cell(LONGEST_NS) + 1])
    }
}

impl LatencyHistogram {
    #[inline]
    pub(crate) fn record(&mut self, latency: Duration) {
        // Times beyond 64 bits of nanoseconds are beyond the longest anyway.
        let nanos = latency.as_nanos().min(u128::from(u64::MAX)) as u64;
        self.0[cell(nanos)] += 1;
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the same latencies as an HdrHistogram.
    fn stored(&self) -> Histogram<u64> {
        let mut stored = Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("valid bounds");
        for (cell, count) in self.0.iter().enumerate().filter(|(_, count)| **count > 0) {
            stored.record_n(least(cell), *count).expect("latencies within the bounds");
        }
        stored
    }

    /// Returns percentiles as metrics in microseconds, if there are enough operations.
    pub(crate) fn metrics(&self) -> BTreeMap<String, f64> {
        self.metrics_of(self.count())
    }

    /// As [`LatencyHistogram::metrics`], named for a phase.
    pub(crate) fn metrics_of_phase(&self, phase: &str) -> impl Iterator<Item = (String, f64)> {
        self.metrics().into_iter().map(move |(name, value)| (format!("{name}.{phase}"), value))
    }

    /// As [`LatencyHistogram::metrics`] for a number of operations, some of whose latencies were recorded more than once.
    pub(crate) fn metrics_of(&self, operations: u64) -> BTreeMap<String, f64> {
        let enough = [
            ("p50_us", 0.5, 1),
            ("p90_us", 0.9, 10),
            ("p99_us", 0.99, P99_FROM),
            ("p999_us", 0.999, P999_FROM),
        ];
        let stored = self.stored();
        let of = |quantile| stored.value_at_quantile(quantile) as f64 / 1e3;
        let enough = enough.into_iter().filter(|(_, _, from)| operations >= *from);
        let max = (!stored.is_empty()).then_some(("max_us", 1.0, 1));
        enough.chain(max).map(|(name, quantile, _)| (name.to_owned(), of(quantile))).collect()
    }

    /// Adds everything that another histogram holds.
    pub(crate) fn add(&mut self, other: &LatencyHistogram) {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own += other;
        }
    }

    /// Returns the latency that a share of the operations (0 to 1) had at most, in microseconds.
    pub(crate) fn quantile_us(&self, quantile: f64) -> f64 {
        self.stored().value_at_quantile(quantile) as f64 / 1e3
    }

    /// Returns the share of the operations that took longer than this, in percent, to the three digits that each latency is
    /// recorded with.
    pub(crate) fn percent_above(&self, limit: Duration) -> f64 {
        let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        let above: u64 = self.0[cell(limit.saturating_add(1))..].iter().sum();
        100.0 * above as f64 / self.count().max(1) as f64
    }

    /// Returns the mean in microseconds.
    pub(crate) fn mean_us(&self) -> f64 {
        self.stored().mean() / 1e3
    }

    /// Reads the interchange form.
    pub(crate) fn read(latency: &Latency) -> Result<LatencyHistogram> {
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(&latency.histogram)
            .map_err(TrialError::measuring)?;
        let stored: Histogram<u64> = serialization::Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(TrialError::measuring)?;
        let mut read = LatencyHistogram::default();
        for value in stored.iter_recorded() {
            read.0[cell(value.value_iterated_to())] += value.count_at_value();
        }
        Ok(read)
    }

    /// Returns the histogram in its interchange form.
    pub(crate) fn latency(&self) -> Result<Latency> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.stored(), &mut bytes)
            .map_err(TrialError::measuring)?;
        let histogram = base64::engine::general_purpose::STANDARD.encode(bytes);
        Ok(Latency { count: self.count(), histogram })
    }
}

impl fmt::Debug for LatencyHistogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LatencyHistogram of {}", self.count())
    }
}

impl Serialize for LatencyHistogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.latency().map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for LatencyHistogram {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> Result<LatencyHistogram, D::Error> {
        LatencyHistogram::read(&Latency::deserialize(deserializer)?)
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn figures_are_those_of_an_hdr_histogram(
            latencies in prop::collection::vec(
                prop_oneof![0..5_000_u64, 0..10_000_000_u64, 0..LONGEST_NS, Just(LONGEST_NS)],
                1..200,
            ),
            limit: u64,
        ) {
            let mut own = LatencyHistogram::default();
            let mut wanted = Histogram::<u64>::new_with_bounds(1, LONGEST_NS, 3).unwrap();
            for nanos in &latencies {
                own.record(Duration::from_nanos(*nanos));
                wanted.record(*nanos).unwrap();
            }
            prop_assert_eq!(own.count(), wanted.len());
            prop_assert_eq!(&own.stored(), &wanted);
            let above = wanted.count_between((limit % LONGEST_NS).saturating_add(1), u64::MAX);
            let percent = 100.0 * above as f64 / latencies.len() as f64;
            prop_assert_eq!(own.percent_above(Duration::from_nanos(limit % LONGEST_NS)), percent);
            let read = LatencyHistogram::read(&own.latency().unwrap()).unwrap();
            prop_assert_eq!(own.0, read.0);
        }
    }

    #[test]
    fn percentiles_are_given_only_where_there_are_enough_operations() {
        let mut histogram = LatencyHistogram::default();
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
        let mut histogram = LatencyHistogram::default();
        for (seconds, reported) in [(1_410, 1_410.0), (1_000_000, 86_400.0)] {
            histogram.record(Duration::from_secs(seconds));
            let longest = histogram.metrics()["max_us"] / 1e6;
            assert!((longest / reported - 1.0).abs() < 1e-3, "{seconds}: {longest}");
        }
    }

    #[test]
    fn the_stored_form_can_be_read_by_any_hdrhistogram() {
        let mut histogram = LatencyHistogram::default();
        histogram.record(Duration::from_millis(3));
        histogram.record(Duration::from_secs(3600));
        let stored = histogram.latency().unwrap();
        let bytes = base64::engine::general_purpose::STANDARD.decode(stored.histogram).unwrap();
        let read: Histogram<u64> =
            serialization::Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        assert_eq!(read.len(), stored.count);
        assert_eq!(read.count_between(2_900_000, 3_100_000), 1);
        let hour = 3_600_000_000_000_u64;
        assert!(read.max().abs_diff(hour) < hour / 1_000);
    }

    #[test]
    fn histograms_of_several_workers_become_one() {
        let mut one = LatencyHistogram::default();
        let mut other = LatencyHistogram::default();
        one.record(Duration::from_micros(10));
        other.record(Duration::from_micros(1_000));
        one.add(&LatencyHistogram::read(&other.latency().unwrap()).unwrap());
        assert_eq!(one.count(), 2);
        assert!((one.quantile_us(1.0) - 1_000.0).abs() < 2.0);
        assert!((one.mean_us() - 505.0).abs() < 2.0);
        let junk = Latency { count: 1, histogram: "junk".to_owned() };
        assert!(LatencyHistogram::read(&junk).is_err());
    }

    #[test]
    fn the_share_above_a_limit_is_that_of_longer_latencies() {
        let mut histogram = LatencyHistogram::default();
        assert_eq!(histogram.percent_above(Duration::ZERO), 0.0);
        for microseconds in 1..=100 {
            histogram.record(Duration::from_micros(10 * microseconds));
        }
        assert_eq!(histogram.percent_above(Duration::from_micros(905)), 10.0);
        assert_eq!(histogram.percent_above(Duration::from_secs(1)), 0.0);
        assert_eq!(histogram.percent_above(Duration::from_micros(5)), 100.0);
    }
}
