//! Whether the syncs that SQLite requests can have taken place: a device has a price for each, which is probed, and a rate
//! beyond it shows that something on the way swallows them. This holds whatever VFS an application, a preloaded library or
//! an engine brings.

use super::VariantAnalysis;
use crate::environment::FsyncLatency;

/// How many times as fast as the quickest probe syncs may seem. Several syncs of a commit may find nothing left to write, and
/// a probe may meet a busy moment.
const TOLERATED: f64 = 4.0;
/// The fewest probes by which the price is known.
const FEWEST_PROBES: usize = 5;
/// How many times as long as the quickest probe the slowest may take: where other work disturbs them, every probe may have
/// met it and none shows what the device can do.
const STEADY: u64 = 3;

/// Returns why the syncs of a variant cannot have reached the disk; `None` if they can have, or where it is not known how
/// many there were or what one takes. Syncs of several connections may be carried out together.
pub(super) fn why_impossible(
    variant: &VariantAnalysis,
    fsync: Option<FsyncLatency>,
) -> Option<String> {
    let per_txn = *variant.counts.get("syncs_per_txn")?;
    let txns_per_s = variant.summaries.get("txns_per_s")?.median;
    let fsync = fsync.filter(is_known)?;
    let low_s = fsync.low_ns as f64 / 1e9;
    let together = variant.connections.len().max(1) as f64;
    let rate = per_txn * txns_per_s / together;
    (rate * low_s > TOLERATED).then(|| {
        format!(
            "it requested {rate:.0} syncs per second, but an fsync took at least {:.2} ms here, which allows {:.0}",
            low_s * 1e3,
            1.0 / low_s
        )
    })
}

/// Returns whether the probes show what an fsync takes.
fn is_known(fsync: &FsyncLatency) -> bool {
    fsync.probes >= FEWEST_PROBES && fsync.high_ns <= fsync.low_ns.saturating_mul(STEADY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Summary;
    use crate::stats::Interval;
    use crate::trial::ReadBack;

    fn connection(number: usize) -> ReadBack {
        ReadBack { connection: format!("writer {number}"), pragmas: Default::default() }
    }

    fn variant(per_txn: f64, txns_per_s: f64, connections: usize) -> VariantAnalysis {
        let summary = Summary {
            median: txns_per_s,
            range: Interval { low: txns_per_s, high: txns_per_s },
            sd: None,
            p95: txns_per_s,
            p99: txns_per_s,
            n: 3,
        };
        VariantAnalysis {
            counts: [("syncs_per_txn".to_owned(), per_txn)].into(),
            summaries: [("txns_per_s".to_owned(), summary)].into(),
            connections: (0..connections).map(connection).collect(),
            ..VariantAnalysis::default()
        }
    }

    #[test]
    fn syncs_that_are_quicker_than_the_device_did_not_reach_it() {
        // An fsync takes 2 ms, so a device does 500 a second.
        let fsync = FsyncLatency::of(vec![2_000_000, 3_000_000, 2_000_000, 3_000_000, 2_000_000]);
        let why = |it: &VariantAnalysis| why_impossible(it, fsync);
        assert_eq!(why(&variant(2.0, 240.0, 1)), None);
        assert_eq!(why(&variant(0.0, 90_000.0, 1)), None);
        let swallowed = why(&variant(1.0, 9_000.0, 1)).unwrap();
        assert!(swallowed.contains("9000 syncs per second"), "{swallowed}");
        assert!(swallowed.contains("2.00 ms") && swallowed.contains("500"));
        // Eight connections may share what one device does.
        assert_eq!(why(&variant(1.0, 9_000.0, 8)), None);
    }

    #[test]
    fn nothing_is_said_where_syncs_or_their_price_are_not_known() {
        let quick = variant(1.0, 90_000.0, 1);
        assert_eq!(why_impossible(&quick, None), None);
        let uncounted = VariantAnalysis { counts: Default::default(), ..quick };
        let steady = FsyncLatency::of(vec![2_000_000; 5]);
        assert_eq!(why_impossible(&uncounted, steady), None);
        let quick = variant(1.0, 90_000.0, 1);
        assert!(why_impossible(&quick, steady).is_some());
        // Too few probes, and probes that met other work.
        assert_eq!(why_impossible(&quick, FsyncLatency::of(vec![2_000_000; 4])), None);
        let disturbed =
            FsyncLatency::of(vec![1_000_000, 9_000_000, 2_000_000, 3_000_000, 1_000_000]);
        assert_eq!(why_impossible(&quick, disturbed), None);
    }
}
