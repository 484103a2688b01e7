//! The survey of the crash images of one variant under one model: counts, and the best witness.

use crate::counts::{Crash, ImageCounts, KnownImage, Witness, Witnesses};
use crate::disk::State;
use crate::error::Result;
use crate::in_force::Promises;
use crate::judge::{CrashImage, Judge, Judgement, Violation};
use crate::model::Model;
use crate::rare::{RareEvent, RareEvents, touched};
use crate::record::Recording;
use crate::states::{Candidate, Source, Visited, draw_one, minimise, prefix_files};
use crate::trace::File;
use lab::seed::SplitMix64;
use lab::tier::Promise;
use std::collections::{BTreeMap, HashMap};

/// How often the witness of ordinary commits, or of a rare event, is minimised in one cell: each time costs hundreds of recoveries.
const MINIMISED: u32 = 3;

/// How many crashes are sampled within one recovery.
const SECOND_CRASHES: usize = 2;

/// Judges and counts images, one after another.
pub(crate) struct Survey<'a, 'b> {
    pub(crate) recording: &'a Recording,
    pub(crate) judge: &'a mut Judge<'b>,
    pub(crate) model: Model,
    /// Whether commits are promised to be atomic over attached databases.
    pub(crate) splits_count: bool,
    /// The documented promises for the settings in force.
    pub(crate) promises: Promises,
    /// The recovery of every n-th image, chosen at random, is crashed as well.
    pub(crate) second_crash_every: u64,
    /// How often recoveries are crashed one after another.
    pub(crate) interruptions: u32,
    pub(crate) random: SplitMix64,
    pub(crate) findings: Findings,
}

/// The findings of a survey so far.
#[derive(Default)]
pub(crate) struct Findings {
    seen: HashMap<u128, KnownImage>,
    counts: ImageCounts,
    /// The best evidence of ordinary commits, and on each rare event.
    evidence: BTreeMap<Option<RareEvent>, Evidence>,
}

/// Witnesses of the same kind of moment.
#[derive(Default)]
struct Evidence {
    violation: Option<Witness>,
    /// A violation that was judged as the witness of other moments, for want of a better one.
    known: Option<Witness>,
    loss: Option<Witness>,
    /// How often a violation was minimised.
    minimised: u32,
}

impl Evidence {
    /// Returns whether a violation would make a better witness than the known one: settings with a stronger
    /// promise come first, then one crash before two, then few faults before many.
    fn lacks(&self, promise: Promise, second_crash: bool, faults: usize) -> bool {
        let known = self.violation.as_ref();
        let better = (promise, second_crash, faults);
        known.is_none_or(|known| better < (known.promise, known.second_crash, known.faults))
    }
}

impl Findings {
    /// Returns the evidence to which a crash with these rare events belongs.
    fn evidence(&mut self, touched: RareEvents) -> Vec<&mut Evidence> {
        let places = touched.places();
        for place in &places {
            self.evidence.entry(*place).or_default();
        }
        let known = self.evidence.iter_mut().filter(|(place, _)| places.contains(place));
        known.map(|(_, evidence)| evidence).collect()
    }

    /// Keeps a violation where it makes a better witness than the known one.
    fn keep(&mut self, witness: &Witness) {
        for evidence in self.evidence(witness.events) {
            if evidence.lacks(witness.promise, witness.second_crash, witness.faults) {
                evidence.violation = Some(witness.clone());
            }
        }
    }

    /// Returns whether some of these moments have no violation as evidence.
    fn lacks_any(&mut self, touched: RareEvents) -> bool {
        let evidence = self.evidence(touched);
        let mut known =
            evidence.iter().map(|evidence| evidence.violation.as_ref().or(evidence.known.as_ref()));
        known.any(|known| known.is_none())
    }

    /// Keeps a violation for moments that have none so far.
    fn keep_known(&mut self, witness: &Witness) {
        for evidence in self.evidence(witness.events) {
            evidence.known.get_or_insert_with(|| witness.clone());
        }
    }
}

impl Survey<'_, '_> {
    /// Judges one image.
    pub(crate) fn judge(&mut self, candidate: Candidate<'_>) -> Result<()> {
        let crash = Crash {
            cut: candidate.cut,
            acknowledged: self.recording.acknowledged(candidate.cut),
            faults: candidate.faults,
            touched: touched(&self.recording.marked, candidate.first_missing, candidate.cut),
            promise: self.promises.of_crash(candidate.first_missing, candidate.cut),
            source: candidate.source,
        };
        let image = CrashImage::of(candidate.files);
        let is_new = match self.findings.seen.get_mut(&image.key) {
            Some(seen) if seen.acknowledged >= crash.acknowledged => {
                seen.note(self.recording, &crash);
                let violates = seen.committed.is_none();
                return if violates { self.keep_known_violation(&crash, image) } else { Ok(()) };
            }
            before => before.is_none(),
        };
        let every = self.second_crash_every;
        let again = is_new && every > 0 && self.random.below(every) == 0;
        let copy = again.then(|| image.files.clone());
        match self.judged(image, &crash)? {
            Err(violation) => self.keep_violation(&crash, violation),
            Ok(committed) => {
                self.keep_loss(&crash, self.recording.held(committed, crash.acknowledged));
                match copy {
                    Some(files) => self.crash_again(&crash, &files, self.interruptions),
                    None => Ok(()),
                }
            }
        }
    }

    /// Judges files and counts them, equal ones once. Returns the last transaction that they hold, or the
    /// violation.
    fn judged(&mut self, image: CrashImage, crash: &Crash<'_>) -> Result<Result<usize, Violation>> {
        let key = image.key;
        let judgement = self.judge.judge(self.recording, image)?;
        let is_new = !self.findings.seen.contains_key(&key);
        let held_apart = |latest: &[usize]| self.recording.held_apart(crash.acknowledged, latest);
        let judged = match judgement {
            Judgement::Committed(committed) => Ok(committed),
            Judgement::Apart(latest) => Ok(held_apart(&latest)),
            // Each database by itself is in order, and nothing was promised of them together.
            Judgement::Violated(Violation::Split { latest, .. }) if !self.splits_count => {
                self.findings.counts.split_unpromised += u64::from(is_new);
                Ok(held_apart(&latest))
            }
            Judgement::Violated(violation) => Err(violation),
        };
        let committed = judged.as_ref().ok().copied();
        if is_new {
            self.findings.counts.images += 1;
            if let Err(violation) = &judged {
                self.findings.counts.count(violation);
            }
        }
        let first = || KnownImage {
            acknowledged: crash.acknowledged,
            touched: crash.touched,
            ..KnownImage::default()
        };
        let seen = self.findings.seen.entry(key).or_insert_with(first);
        // For databases at different transactions the result depends on the crash: the latest one decides.
        seen.committed = committed;
        seen.note(self.recording, crash);
        Ok(judged)
    }

    fn keep_violation(&mut self, crash: &Crash<'_>, violation: Violation) -> Result<()> {
        let evidence = self.findings.evidence(crash.touched);
        let lacks = |evidence: &Evidence| evidence.lacks(crash.promise, false, crash.faults);
        if !evidence.iter().any(|evidence| lacks(evidence)) {
            return Ok(());
        }
        if matches!(violation, Violation::Ended { .. }) {
            // The next image that ends the process could not be told from this one.
            self.findings.keep(&Witness {
                violation: Some(violation),
                ..crash.witness(crash.files(&self.recording.trace))
            });
            return Ok(());
        }
        let (files, smallest) = self.smallest(crash)?;
        // The smallest image may show another violation than the original one, touch fewer rare events,
        // and be one that has not been seen: it counts like any other.
        let of_smallest = match self.judged(CrashImage::of(files.clone()), &smallest)? {
            Err(now) => now,
            Ok(_) => violation.clone(),
        };
        self.findings.keep(&Witness { violation: Some(of_smallest), ..smallest.witness(files) });
        if self.findings.lacks_any(crash.touched) {
            self.findings.keep_known(&Witness {
                violation: Some(violation),
                ..crash.witness(crash.files(&self.recording.trace))
            });
        }
        Ok(())
    }

    /// Keeps an image that was judged before as the witness of moments that have none: it was kept for
    /// others, but counts for these too.
    fn keep_known_violation(&mut self, crash: &Crash<'_>, image: CrashImage) -> Result<()> {
        if !self.findings.lacks_any(crash.touched) {
            return Ok(());
        }
        let files = image.files.clone();
        let judgement = self.judge.judge(self.recording, image)?;
        if let Judgement::Violated(violation) = judgement {
            self.findings
                .keep_known(&Witness { violation: Some(violation), ..crash.witness(files) });
        }
        Ok(())
    }

    /// Returns the image with as few faults as still violate, and the crash that leaves it.
    fn smallest(&mut self, crash: &Crash<'_>) -> Result<(Vec<File>, Crash<'static>)> {
        let with = |faults, touched, promise| Crash {
            cut: crash.cut,
            acknowledged: crash.acknowledged,
            faults,
            touched,
            promise,
            source: None,
        };
        match &crash.source {
            Some(source) if self.may_minimise(crash.touched) => {
                let state = self.smallest_state(source)?;
                let files = source.disk.files(source.units, &state);
                let missing = source.disk.first_missing(source.units, &state);
                let touched = touched(&self.recording.marked, missing, crash.cut);
                let promise = self.promises.of_crash(missing, crash.cut);
                Ok((files, with(state.faults(source.units), touched, promise)))
            }
            _ => {
                let files = crash.files(&self.recording.trace);
                Ok((files, with(crash.faults, crash.touched, crash.promise)))
            }
        }
    }

    /// Returns whether another violation with these rare events may be minimised; counts it.
    fn may_minimise(&mut self, touched: RareEvents) -> bool {
        let mut evidence = self.findings.evidence(touched);
        let may = evidence.iter().any(|evidence| evidence.minimised < MINIMISED);
        evidence.iter_mut().for_each(|evidence| evidence.minimised += 1);
        may
    }

    fn smallest_state(&mut self, source: &Source<'_>) -> Result<State> {
        let mut failed = None;
        let smallest = minimise(source.units, source.state, |state| {
            let files = source.disk.files(source.units, state);
            match self.judge.judge(self.recording, CrashImage::of(files)) {
                Ok(Judgement::Violated(Violation::Split { .. })) => self.splits_count,
                Ok(Judgement::Violated(_)) => true,
                Ok(Judgement::Committed(_) | Judgement::Apart(_)) => false,
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
        let trace = &self.recording.trace;
        for evidence in self.findings.evidence(crash.touched) {
            if lost > evidence.loss.as_ref().map_or(0, |known| known.lost) {
                evidence.loss = Some(Witness { lost, ..crash.witness(crash.files(trace)) });
            }
        }
    }

    /// Crashes the recovery of these files too, and judges what that leaves.
    fn crash_again(&mut self, crash: &Crash<'_>, files: &[File], interruptions: u32) -> Result<()> {
        if interruptions == 0 {
            return Ok(());
        }
        let trace = self.judge.trace_recovery(self.recording, files)?;
        if trace.steps.is_empty() {
            return Ok(());
        }
        for _ in 0..SECOND_CRASHES {
            let (files, faults) = draw_one(&trace, self.model, &mut self.random);
            let image = CrashImage::of(files);
            if self.findings.seen.contains_key(&image.key) {
                continue;
            }
            self.findings.counts.second_crashes += 1;
            let kept = image.files.clone();
            match self.judged(image, crash)? {
                Ok(_) => self.crash_again(crash, &kept, interruptions - 1)?,
                Err(violation) => self.findings.keep(&Witness {
                    faults: crash.faults + faults,
                    violation: Some(violation),
                    second_crash: true,
                    ..crash.witness(kept)
                }),
            }
        }
        Ok(())
    }

    /// Returns the counts, and the best witness of ordinary commits and on each rare event: of a violation, or
    /// else of a loss.
    pub(crate) fn finish(self, visited: Visited) -> (ImageCounts, Witnesses) {
        let Findings { seen, mut counts, evidence } = self.findings;
        counts.visited = visited.states as u64;
        counts.all_states = visited.all;
        for seen in seen.values() {
            seen.add_to(&mut counts);
        }
        let best = evidence.into_iter().filter_map(|(place, evidence)| {
            let mut witness = evidence.violation.or(evidence.known).or(evidence.loss)?;
            witness.committed = neighbours(self.recording, witness.acknowledged);
            Some((place, witness))
        });
        (counts, best.collect())
    }
}

/// Returns the databases after the last acknowledged commit and after the next one: the two states that a
/// crash between them may leave.
fn neighbours(recording: &Recording, acknowledged: usize) -> Vec<(usize, Vec<File>)> {
    let numbers = acknowledged..recording.commits.len().min(acknowledged + 2);
    numbers
        .map(|number| {
            let files = prefix_files(&recording.trace, recording.commits[number].cut);
            (number, files)
        })
        .collect()
}
