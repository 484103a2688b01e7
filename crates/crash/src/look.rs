//! Looking at the images of one variant under one model: counting, and keeping the best witness.

use crate::disk::State;
use crate::error::CrashError;
use crate::judge::{Judge, Judgement, Violation, hash};
use crate::model::Model;
use crate::occasion::{Occasion, Occasions, touched};
use crate::record::Recording;
use crate::states::{Candidate, Source, draw_one, minimise, prefix_files};
use crate::tally::{Tally, Witness};
use crate::trace::{File, Trace};
use lab::seed::SplitMix64;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// How often a witness is minimised in one cell: each time costs hundreds of recoveries.
const MINIMISED: u32 = 3;

/// How many crashes within one recovery are looked at.
const SECOND_CRASHES: usize = 2;

/// What was found at an image, over all the crashes that leave it.
struct Seen {
    /// The most commits that had been acknowledged.
    acknowledged: usize,
    /// A commit that left what it holds; `None` for a violation.
    committed: Option<usize>,
    /// The most acknowledged commits that are missing after one of these crashes.
    lost: u64,
    /// The occasions that it takes: none if one of these crashes touches none.
    touched: Occasions,
    /// The same of those crashes by which a commit is lost; `None` where none is.
    touched_losing: Option<Occasions>,
}

impl Seen {
    fn note(&mut self, recording: &Recording, acknowledged: usize, touched: Occasions) {
        self.acknowledged = self.acknowledged.max(acknowledged);
        self.touched = self.touched.of_either(touched);
        let lost = |number| acknowledged.saturating_sub(recording.held(number, acknowledged));
        let lost = self.committed.map_or(0, lost) as u64;
        if lost > 0 {
            self.lost = self.lost.max(lost);
            let before = self.touched_losing.unwrap_or(touched);
            self.touched_losing = Some(before.of_either(touched));
        }
    }
}

/// A crash: when, and what of it is missing.
struct Crash<'a> {
    cut: usize,
    acknowledged: usize,
    faults: usize,
    touched: Occasions,
    /// Where the image was drawn from; `None` for prefixes.
    source: Option<Source<'a>>,
}

impl Crash<'_> {
    /// The files it left, made once more.
    fn files(&self, trace: &Trace) -> Vec<File> {
        match &self.source {
            Some(source) => source.disk.files(source.units, source.state),
            None => prefix_files(trace, self.cut - self.faults),
        }
    }
}

/// Looks at images, one after another.
pub(crate) struct Look<'a, 'b> {
    recording: &'a Recording,
    judge: &'a mut Judge<'b>,
    model: Model,
    /// Whether commits are promised to be atomic over attached databases.
    splits_count: bool,
    seen: HashMap<u128, Seen>,
    tally: Tally,
    violation: Option<Witness>,
    loss: Option<Witness>,
    minimised: u32,
    /// Of every so many images the recovery is crashed as well, and which.
    second_crashes: (u64, SplitMix64),
    images: &'a AtomicU64,
}

impl<'a, 'b> Look<'a, 'b> {
    pub(crate) fn new(
        recording: &'a Recording,
        judge: &'a mut Judge<'b>,
        model: Model,
        splits_count: bool,
        second_crashes: (u64, SplitMix64),
        images: &'a AtomicU64,
    ) -> Look<'a, 'b> {
        Look {
            recording,
            judge,
            model,
            splits_count,
            seen: HashMap::new(),
            tally: Tally::default(),
            violation: None,
            loss: None,
            minimised: 0,
            second_crashes,
            images,
        }
    }

    /// Looks at one image.
    pub(crate) fn at(&mut self, candidate: Candidate<'_>) -> Result<(), CrashError> {
        let crash = Crash {
            cut: candidate.cut,
            acknowledged: self.recording.acknowledged(candidate.cut),
            faults: candidate.faults,
            touched: touched(
                &self.recording.marked,
                candidate.first_missing,
                candidate.cut,
            ),
            source: candidate.source,
        };
        let key = hash(&candidate.files);
        let is_new = match self.seen.get_mut(&key) {
            Some(seen) if seen.acknowledged >= crash.acknowledged => {
                seen.note(self.recording, crash.acknowledged, crash.touched);
                return Ok(());
            }
            before => before.is_none(),
        };
        let again = is_new && self.is_chosen_for_second_crash();
        let copy = again.then(|| candidate.files.clone());
        match self.judged(key, candidate.files, &crash)? {
            Judgement::Violated(violation) => self.keep_violation(&crash, violation),
            Judgement::Committed(committed) => {
                let held = self.recording.held(committed, crash.acknowledged);
                self.keep_loss(&crash, held);
                match copy {
                    Some(files) => self.crash_again(&crash, &files),
                    None => Ok(()),
                }
            }
        }
    }

    fn is_chosen_for_second_crash(&mut self) -> bool {
        let (every, random) = &mut self.second_crashes;
        *every > 0 && random.below(*every) == 0
    }

    /// Judges files and counts them, equal ones once.
    fn judged(
        &mut self,
        key: u128,
        files: Vec<File>,
        crash: &Crash<'_>,
    ) -> Result<Judgement, CrashError> {
        let mut judgement = self.judge.judge(self.recording, files)?;
        let is_new = !self.seen.contains_key(&key);
        if judgement == Judgement::Violated(Violation::Split) && !self.splits_count {
            self.tally.split_unpromised += u64::from(is_new);
            // Each database by itself is in order, and nothing was promised of them together.
            judgement = Judgement::Committed(crash.acknowledged);
        }
        let committed = match &judgement {
            Judgement::Committed(committed) => Some(*committed),
            Judgement::Violated(_) => None,
        };
        if is_new {
            self.tally.images += 1;
            self.images.fetch_add(1, Ordering::Relaxed);
            if let Judgement::Violated(violation) = &judgement {
                self.tally.count(violation);
            }
        }
        let seen = self.seen.entry(key).or_insert(Seen {
            acknowledged: crash.acknowledged,
            committed,
            lost: 0,
            touched: crash.touched,
            touched_losing: None,
        });
        // Of databases that do not belong together the latest crash tells what is held.
        seen.committed = committed;
        seen.note(self.recording, crash.acknowledged, crash.touched);
        Ok(judgement)
    }

    /// Whether a violation at this image would make a better witness than the one there is: one that
    /// befalls everyone is better than one that befalls few, then one crash better than two, then few
    /// faults better than many.
    fn is_better(&self, crash: &Crash<'_>) -> bool {
        let rank = (!crash.touched.is_empty(), false, crash.faults);
        let known = self.violation.as_ref();
        known.is_none_or(|witness| {
            rank < (
                !witness.occasions.is_empty(),
                witness.second_crash,
                witness.faults,
            )
        })
    }

    fn keep_violation(
        &mut self,
        crash: &Crash<'_>,
        violation: Violation,
    ) -> Result<(), CrashError> {
        if !self.is_better(crash) {
            return Ok(());
        }
        let (files, smallest) = self.smallest(crash)?;
        // The smallest image may show another violation than the one it was found by, touch fewer
        // occasions, and be one that has not been seen: it counts like any other.
        let violation = match self.judged(hash(&files), files.clone(), &smallest)? {
            Judgement::Violated(now) => now,
            Judgement::Committed(_) => violation,
        };
        self.violation = Some(Witness {
            cut: smallest.cut,
            acknowledged: smallest.acknowledged,
            faults: smallest.faults,
            lost: 0,
            files,
            violation: Some(violation),
            second_crash: false,
            occasions: smallest.touched,
            committed: Vec::new(),
        });
        Ok(())
    }

    /// The image with as few faults as still violate, and the crash that leaves it.
    fn smallest(&mut self, crash: &Crash<'_>) -> Result<(Vec<File>, Crash<'static>), CrashError> {
        let with = |faults, touched| Crash {
            cut: crash.cut,
            acknowledged: crash.acknowledged,
            faults,
            touched,
            source: None,
        };
        match &crash.source {
            Some(source) if self.minimised < MINIMISED => {
                self.minimised += 1;
                let state = self.smallest_state(source)?;
                let files = source.disk.files(source.units, &state);
                let missing = source.disk.first_missing(source.units, &state);
                let touched = touched(&self.recording.marked, missing, crash.cut);
                Ok((files, with(state.faults(source.units), touched)))
            }
            _ => {
                let files = crash.files(&self.recording.trace);
                Ok((files, with(crash.faults, crash.touched)))
            }
        }
    }

    fn smallest_state(&mut self, source: &Source<'_>) -> Result<State, CrashError> {
        let mut failed = None;
        let smallest = minimise(source.units, source.state, |state| {
            let files = source.disk.files(source.units, state);
            match self.judge.judge(self.recording, files) {
                Ok(Judgement::Violated(Violation::Split)) => self.splits_count,
                Ok(Judgement::Violated(_)) => true,
                Ok(Judgement::Committed(_)) => false,
                Err(error) => {
                    failed = Some(error);
                    false
                }
            }
        });
        failed.map_or(Ok(smallest), Err)
    }

    fn keep_loss(&mut self, crash: &Crash<'_>, committed: usize) {
        let lost = crash.acknowledged.saturating_sub(committed);
        if lost > self.loss.as_ref().map_or(0, |witness| witness.lost) {
            self.loss = Some(Witness {
                cut: crash.cut,
                acknowledged: crash.acknowledged,
                faults: crash.faults,
                lost,
                files: crash.files(&self.recording.trace),
                violation: None,
                second_crash: false,
                occasions: crash.touched,
                committed: Vec::new(),
            });
        }
    }

    /// Lets the recovery of these files crash too, and judges what that leaves.
    fn crash_again(&mut self, crash: &Crash<'_>, files: &[File]) -> Result<(), CrashError> {
        let trace = self.judge.trace_recovery(self.recording, files)?;
        if trace.steps.is_empty() {
            return Ok(());
        }
        for _ in 0..SECOND_CRASHES {
            let (files, faults) = draw_one(&trace, self.model, &mut self.second_crashes.1);
            let key = hash(&files);
            if self.seen.contains_key(&key) {
                continue;
            }
            self.tally.second_crashes += 1;
            let kept = files.clone();
            let judgement = self.judged(key, files, crash)?;
            if let Judgement::Violated(violation) = judgement
                && self.violation.is_none()
            {
                self.violation = Some(Witness {
                    cut: crash.cut,
                    acknowledged: crash.acknowledged,
                    faults: crash.faults + faults,
                    lost: 0,
                    files: kept,
                    violation: Some(violation),
                    second_crash: true,
                    occasions: crash.touched,
                    committed: Vec::new(),
                });
            }
        }
        Ok(())
    }

    /// The counts, and the best witness: of a violation, or else of a loss.
    pub(crate) fn finish(mut self, visited: u64) -> (Tally, Option<Witness>) {
        self.tally.visited = visited;
        for seen in self.seen.values() {
            self.tally.losing += u64::from(seen.lost > 0);
            self.tally.most_lost = self.tally.most_lost.max(seen.lost);
            put_down(&mut self.tally, seen);
        }
        let mut witness = self.violation.or(self.loss);
        if let Some(witness) = &mut witness {
            witness.committed = neighbours(self.recording, witness.acknowledged);
        }
        (self.tally, witness)
    }
}

/// Counts an image for everyday work or for the occasions that it takes.
fn put_down(tally: &mut Tally, seen: &Seen) {
    let (violates, lost) = (seen.committed.is_none(), seen.lost);
    let everyday = &mut tally.everyday;
    if seen.touched.is_empty() {
        everyday.images += 1;
        everyday.violations += u64::from(violates);
    }
    if seen.touched_losing.is_some_and(Occasions::is_empty) {
        everyday.losing += 1;
        everyday.most_lost = everyday.most_lost.max(lost);
    }
    for occasion in Occasion::ALL {
        let counts = tally.occasions.entry(occasion).or_default();
        counts.violations += u64::from(violates && seen.touched.contains(occasion));
        let loses = seen.touched_losing.is_some_and(|on| on.contains(occasion));
        counts.losing += u64::from(loses);
    }
}

/// What the databases were like after the last acknowledged commit, and after the next one: the two
/// states that a crash between them may leave.
fn neighbours(recording: &Recording, acknowledged: usize) -> Vec<(usize, Vec<File>)> {
    let numbers = acknowledged..recording.commits.len().min(acknowledged + 2);
    numbers
        .map(|number| {
            let files = prefix_files(&recording.trace, recording.commits[number].cut);
            (number, files)
        })
        .collect()
}
