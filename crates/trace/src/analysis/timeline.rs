//! Reads and writes over time.

use super::Event;

/// How many buckets a timeline has.
const BUCKETS: i64 = 60;

/// A part of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    /// Statements that started and did not commit.
    pub reads: u64,
    /// Commits of transactions that had written.
    pub commits: u64,
    /// The time of the statements that started, in nanoseconds.
    pub busy_ns: u64,
}

/// The buckets, being filled.
#[derive(Debug)]
pub struct Timeline {
    bucket_us: i64,
    buckets: Vec<Bucket>,
}

impl Timeline {
    pub fn new(duration_us: i64) -> Timeline {
        Timeline {
            bucket_us: duration_us.max(0) / BUCKETS + 1,
            buckets: vec![Bucket::default(); BUCKETS as usize],
        }
    }

    pub fn bucket_us(&self) -> i64 {
        self.bucket_us
    }

    pub fn take(&mut self, event: &Event) {
        let index = (event.start_us / self.bucket_us).clamp(0, BUCKETS - 1);
        let bucket = &mut self.buckets[index as usize];
        bucket.commits += u64::from(event.committed);
        bucket.reads += u64::from(!event.committed);
        bucket.busy_ns += super::unsigned(event.duration_ns.unwrap_or(0));
    }

    pub fn finish(self) -> Vec<Bucket> {
        self.buckets
    }
}
