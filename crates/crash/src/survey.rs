//! The survey of the crash images of one variant under one model: counts, and the best witness.

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

/// How many crashes are sampled within one recovery.
const SECOND_CRASHES: usize = 2;

/// What is known of an image, over all the crashes that leave it.
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

    /// The witness that these files are.
    fn witness(&self, files: Vec<File>) -> Witness {
        Witness {
            cut: self.cut,
            acknowledged: self.acknowledged,
            faults: self.faults,
            lost: 0,
            files,
            violation: None,
            second_crash: false,
            occasions: self.touched,
            committed: Vec::new(),
        }
    }
}

/// Judges and counts images, one after another.
pub(crate) struct Survey<'a, 'b> {
    pub(crate) recording: &'a Recording,
    pub(crate) judge: &'a mut Judge<'b>,
    pub(crate) model: Model,
    /// Whether commits are promised to be atomic over attached databases.
    pub(crate) splits_count: bool,
    /// Of every so many images the recovery is crashed as well, chosen at random.
    pub(crate) second_crash_every: u64,
    pub(crate) random: SplitMix64,
    /// Counts images for the progress display.
    pub(crate) images: &'a AtomicU64,
    pub(crate) findings: Findings,
}

/// What a survey has come to so far.
#[derive(Default)]
pub(crate) struct Findings {
    seen: HashMap<u128, Seen>,
    tally: Tally,
    violation: Option<Witness>,
    loss: Option<Witness>,
    minimised: u32,
}

impl Survey<'_, '_> {
    /// Judges one image.
    pub(crate) fn judge(&mut self, candidate: Candidate<'_>) -> Result<(), CrashError> {
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
        let is_new = match self.findings.seen.get_mut(&key) {
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
        self.second_crash_every > 0 && self.random.below(self.second_crash_every) == 0
    }

    /// Judges files and counts them, equal ones once.
    fn judged(
        &mut self,
        key: u128,
        files: Vec<File>,
        crash: &Crash<'_>,
    ) -> Result<Judgement, CrashError> {
        let mut judgement = self.judge.judge(self.recording, files)?;
        let is_new = !self.findings.seen.contains_key(&key);
        if judgement == Judgement::Violated(Violation::Split) && !self.splits_count {
            self.findings.tally.split_unpromised += u64::from(is_new);
            // Each database by itself is in order, and nothing was promised of them together.
            judgement = Judgement::Committed(crash.acknowledged);
        }
        let committed = match &judgement {
            Judgement::Committed(committed) => Some(*committed),
            Judgement::Violated(_) => None,
        };
        if is_new {
            self.findings.tally.images += 1;
            self.images.fetch_add(1, Ordering::Relaxed);
            if let Judgement::Violated(violation) = &judgement {
                self.findings.tally.count(violation);
            }
        }
        let seen = self.findings.seen.entry(key).or_insert(Seen {
            acknowledged: crash.acknowledged,
            committed,
            lost: 0,
            touched: crash.touched,
            touched_losing: None,
        });
        // Of databases that do not belong together the latest crash decides what is held.
        seen.committed = committed;
        seen.note(self.recording, crash.acknowledged, crash.touched);
        Ok(judgement)
    }

    /// Whether a violation at this image would make a better witness than the known one: no occasion is
    /// better than some, then one crash better than two, then few faults better than many.
    fn is_better(&self, crash: &Crash<'_>) -> bool {
        let rank = |occasions: Occasions, second, faults| (!occasions.is_empty(), second, faults);
        let known = self.findings.violation.as_ref();
        known.is_none_or(|known| {
            rank(crash.touched, false, crash.faults)
                < rank(known.occasions, known.second_crash, known.faults)
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
        // The smallest image may show another violation than the original one, touch fewer occasions,
        // and be one that has not been seen: it counts like any other.
        let violation = match self.judged(hash(&files), files.clone(), &smallest)? {
            Judgement::Violated(now) => now,
            Judgement::Committed(_) => violation,
        };
        self.findings.violation = Some(Witness {
            violation: Some(violation),
            ..smallest.witness(files)
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
            Some(source) if self.findings.minimised < MINIMISED => {
                self.findings.minimised += 1;
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
        if lost
            > self
                .findings
                .loss
                .as_ref()
                .map_or(0, |witness| witness.lost)
        {
            self.findings.loss = Some(Witness {
                lost,
                ..crash.witness(crash.files(&self.recording.trace))
            });
        }
    }

    /// Crashes the recovery of these files too, and judges what that leaves.
    fn crash_again(&mut self, crash: &Crash<'_>, files: &[File]) -> Result<(), CrashError> {
        let trace = self.judge.trace_recovery(self.recording, files)?;
        if trace.steps.is_empty() {
            return Ok(());
        }
        for _ in 0..SECOND_CRASHES {
            let (files, faults) = draw_one(&trace, self.model, &mut self.random);
            let key = hash(&files);
            if self.findings.seen.contains_key(&key) {
                continue;
            }
            self.findings.tally.second_crashes += 1;
            let kept = files.clone();
            let judgement = self.judged(key, files, crash)?;
            if let Judgement::Violated(violation) = judgement
                && self.findings.violation.is_none()
            {
                self.findings.violation = Some(Witness {
                    faults: crash.faults + faults,
                    violation: Some(violation),
                    second_crash: true,
                    ..crash.witness(kept)
                });
            }
        }
        Ok(())
    }

    /// The counts, and the best witness: of a violation, or else of a loss.
    pub(crate) fn finish(self, visited: usize) -> (Tally, Option<Witness>) {
        let Findings {
            seen,
            mut tally,
            violation,
            loss,
            ..
        } = self.findings;
        tally.visited = visited as u64;
        for seen in seen.values() {
            attribute(&mut tally, seen);
        }
        let mut witness = violation.or(loss);
        if let Some(witness) = &mut witness {
            witness.committed = neighbours(self.recording, witness.acknowledged);
        }
        (tally, witness)
    }
}

/// Counts an image, and attributes it to ordinary work or to the occasions that it takes.
fn attribute(tally: &mut Tally, seen: &Seen) {
    let (violates, lost) = (seen.committed.is_none(), seen.lost);
    tally.losing += u64::from(lost > 0);
    tally.most_lost = tally.most_lost.max(lost);
    let ordinary = &mut tally.ordinary;
    if seen.touched.is_empty() {
        ordinary.images += 1;
        ordinary.violations += u64::from(violates);
    }
    if seen.touched_losing.is_some_and(Occasions::is_empty) {
        ordinary.losing += 1;
        ordinary.most_lost = ordinary.most_lost.max(lost);
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
