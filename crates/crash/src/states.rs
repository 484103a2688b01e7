//! Visiting the states of a trace: all of them if few things are pending, otherwise a seeded sample.
//!
//! Pending writes only accumulate between two syncs, so the states right before a sync include the states of
//! every cut since the sync before it. If they are few enough to visit all, earlier cuts need no sample.
//! Otherwise every cut gets its share of the budget. The sample is drawn by several recipes, because defects
//! hide in states where *one* thing is missing as well as in states where most are.

use crate::disk::{Damage, Disk, State, Units};
use crate::model::{LYING_WINDOW, Model};
use crate::trace::{File, Step, Trace};
use lab::seed::{Seed, SplitMix64};

/// The most operations of one file that stay pending without a sync: systems write back in time, and
/// images of a workload that never syncs would otherwise all be near its beginning.
const WRITE_BACK: usize = 256;

/// The most prefixes of a workload without initial databases that are all visited.
const ALL_PREFIXES: usize = 1 << 14;

/// How much more often a crash right after a rare operation is drawn than one after any other.
const RARE_SHARES: usize = 8;

/// A state that a crash may leave, and how it came about.
pub struct Candidate<'a> {
    /// The steps begun before the crash: everything acknowledged until then must be there.
    pub cut: usize,
    /// The files.
    pub files: Vec<File>,
    /// How many units lack a change or are damaged; for prefixes, how many steps are missing.
    pub faults: usize,
    /// The first step that is missing or damaged.
    pub first_missing: Option<usize>,
    /// Where it was drawn from; `None` for prefixes.
    pub source: Option<Source<'a>>,
}

/// A state, with the disk and the units to which it belongs.
pub struct Source<'a> {
    /// The disk at the cut.
    pub disk: &'a Disk<'a>,
    /// The units that can vary there.
    pub units: &'a Units,
    /// The choice.
    pub state: &'a State,
}

/// How far a visit went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Visited {
    /// States visited, equal ones included.
    pub states: usize,
    /// Whether these are all that the model has, not a sample.
    pub all: bool,
}

/// Visits about `budget` states of `trace` under `model`, or all if there are fewer. The same seed gives the
/// same states in the same order.
///
/// # Errors
/// The first of `look`, which ends the visit.
pub fn visit<E>(
    trace: &Trace,
    model: Model,
    budget: usize,
    seed: Seed,
    mut look: impl FnMut(Candidate<'_>) -> Result<(), E>,
) -> Result<Visited, E> {
    let mut states = 0;
    let look = |candidate: Candidate<'_>| {
        states += 1;
        look(candidate)
    };
    let mut visit = Visit { trace, model, budget, look };
    let all = if model.is_prefix() { visit.prefixes() } else { visit.states(seed) }?;
    Ok(Visited { states, all })
}

/// Draws one state from a random cut, for crashes within a recovery: there are too many recoveries to visit
/// each thoroughly.
pub fn draw_one(trace: &Trace, model: Model, random: &mut SplitMix64) -> (Vec<File>, usize) {
    let cut = random.below(trace.steps.len() as u64 + 1) as usize;
    if model.is_prefix() {
        let loses = match model {
            Model::LyingFifo => LYING_WINDOW.min(cut),
            Model::Ordered => since_sync(trace, cut),
            _ => 0,
        };
        let lost = random.below(loses as u64 + 1) as usize;
        return (prefix_files(trace, cut - lost), lost);
    }
    let mut walk = Walk::new(trace, model);
    while walk.disk.taken < cut {
        walk.step();
    }
    let units = walk.disk.units();
    let state = draw(&units, model, random);
    (walk.disk.files(&units, &state), state.faults(&units))
}

/// Returns the steps since the last sync before a cut.
fn since_sync(trace: &Trace, cut: usize) -> usize {
    trace.steps[..cut].iter().rev().take_while(|step| !step.is_sync()).count()
}

/// Returns the files after the first `steps` steps, nothing missing.
pub fn prefix_files(trace: &Trace, steps: usize) -> Vec<File> {
    let mut disk = Disk::new(trace, Model::Kill);
    while disk.taken < steps {
        disk.step();
    }
    disk.write_back(steps);
    disk.durable_files()
}

/// A visit of the states of a trace.
struct Visit<'t, L> {
    trace: &'t Trace,
    model: Model,
    budget: usize,
    look: L,
}

impl<E, L: FnMut(Candidate<'_>) -> Result<(), E>> Visit<'_, L> {
    /// Visits the prefixes of a trace and returns whether it visited all. On existing databases, where a
    /// transaction may write any number of pages, it visits at most the budget, at even distances.
    fn prefixes(&mut self) -> Result<bool, E> {
        let (trace, model) = (self.trace, self.model);
        let all = trace.steps.len() + 1;
        let is_small = trace.initial.is_empty() && all <= ALL_PREFIXES;
        let wanted = if is_small { all } else { all.min(self.budget.max(1)) };
        let mut disk = Disk::new(trace, model);
        loop {
            let there = disk.taken;
            if (there + 1) * wanted / all > there * wanted / all {
                let cut = latest_cut(trace, model, there);
                (self.look)(Candidate {
                    cut,
                    files: disk.durable_files(),
                    faults: cut - there,
                    first_missing: (there < cut).then_some(there),
                    source: None,
                })?;
            }
            if there + 1 == all {
                return Ok(wanted == all);
            }
            disk.step();
            disk.write_back(disk.taken);
        }
    }

    /// Visits the states of a model that chooses; whether these were all.
    fn states(&mut self, seed: Seed) -> Result<bool, E> {
        let (taken_whole, visited) = self.enumerate()?;
        let left = self.budget.saturating_sub(visited);
        let shares = |cut: usize| if taken_whole[cut] { 0 } else { shares(self.trace, cut) };
        let to_sample: usize = (0..taken_whole.len()).map(shares).sum();
        let mut random = seed.generator();
        let mut walk = Walk::new(self.trace, self.model);
        let (mut sampled, mut passed) = (0, 0);
        for cut in 0..taken_whole.len() {
            if cut > 0 {
                walk.step();
            }
            passed += shares(cut);
            let due = left * passed / to_sample.max(1);
            if due == sampled {
                continue;
            }
            let units = walk.disk.units();
            while sampled < due {
                sampled += 1;
                let state = draw(&units, self.model, &mut random);
                (self.look)(candidate(&walk.disk, &units, &state))?;
            }
        }
        Ok(to_sample == 0)
    }

    /// Visits all states of the cuts before a sync that have few; returns for every cut whether all its
    /// states were visited, and the number of states visited.
    fn enumerate(&mut self) -> Result<(Vec<bool>, usize), E> {
        let (trace, model, budget) = (self.trace, self.model, self.budget);
        let end = trace.steps.len();
        let is_last = |cut: usize| cut == end || trace.steps[cut].is_sync();
        let syncs = (0..=end).filter(|cut| is_last(*cut)).count();
        // At most half of the budget, since the states that are few come early.
        let few = (budget / (2 * syncs)).max(2) as u64;
        let mut whole = vec![false; end + 1];
        let mut walk = Walk::new(trace, model);
        let (mut visited, mut since) = (0, 0);
        for cut in 0..=end {
            if cut > 0 {
                walk.step();
            }
            if model == Model::LyingReorder || !is_last(cut) {
                continue;
            }
            let units = walk.disk.units();
            if units.states().is_some_and(|states| states <= few) && visited < budget / 2 {
                let mut state = State { versions: vec![0; units.len()], damage: Vec::new() };
                loop {
                    visited += 1;
                    (self.look)(candidate(&walk.disk, &units, &state))?;
                    if !advance(&mut state, &units) {
                        break;
                    }
                }
                // Damage comes on top, in any number of ways.
                let all = !matches!(model, Model::Torn | Model::NonPowersafeOverwrite);
                whole[since..=cut].fill(all);
            }
            since = cut + 1;
        }
        Ok((whole, visited))
    }
}

fn candidate<'a>(disk: &'a Disk<'a>, units: &'a Units, state: &'a State) -> Candidate<'a> {
    Candidate {
        cut: disk.taken,
        files: disk.files(units, state),
        faults: state.faults(units),
        first_missing: disk.first_missing(units, state),
        source: Some(Source { disk, units, state }),
    }
}

/// Returns the latest cut at which the first `there` steps may be all there is.
fn latest_cut(trace: &Trace, model: Model, there: usize) -> usize {
    let later = trace.steps[there..].iter();
    match model {
        Model::Ordered => there + later.take_while(|step| !step.is_sync()).count(),
        Model::LyingFifo => {
            let mut held = 0;
            let lost = later.take_while(|step| {
                held += usize::from(!step.is_sync());
                held <= LYING_WINDOW
            });
            there + lost.count()
        }
        _ => there,
    }
}

/// A disk that forgets what storage no longer holds back.
struct Walk<'t> {
    disk: Disk<'t>,
    model: Model,
    trace: &'t Trace,
    /// For lying devices: the first step still in volatile memory, and how many writes that holds.
    first: usize,
    held: usize,
}

impl<'t> Walk<'t> {
    fn new(trace: &'t Trace, model: Model) -> Walk<'t> {
        Walk { disk: Disk::new(trace, model), model, trace, first: 0, held: 0 }
    }

    fn step(&mut self) {
        let step = &self.trace.steps[self.disk.taken];
        self.disk.step();
        if self.model != Model::LyingReorder {
            self.disk.write_back_beyond(WRITE_BACK);
            return;
        }
        self.held += usize::from(!step.is_sync());
        while self.held > LYING_WINDOW {
            self.held -= usize::from(!self.trace.steps[self.first].is_sync());
            self.first += 1;
        }
        self.disk.write_back(self.first);
    }
}

/// Returns the shares of the sample for a crash at this cut. A few operations decide what recovery believes: a name that
/// comes or goes, a truncation, a header. There are few of them, so an even sample would draw few of them.
fn shares(trace: &Trace, cut: usize) -> usize {
    let is_rare = cut > 0
        && match &trace.steps[cut - 1] {
            Step::Create { .. } | Step::Unlink { .. } | Step::Truncate { .. } => true,
            // A journal's header begins a sector, and a count in it is as long as its magic number and itself.
            Step::Write { offset, bytes, .. } => {
                *offset == 0 || (offset.is_multiple_of(512) && bytes.len() == 12)
            }
            Step::Sync { .. } | Step::SyncDirectory { .. } => false,
        };
    if is_rare { RARE_SHARES } else { 1 }
}

/// Counts on; false after the last state.
fn advance(state: &mut State, units: &Units) -> bool {
    for (unit, version) in state.versions.iter_mut().enumerate() {
        if *version < units.pending(unit) {
            *version += 1;
            return true;
        }
        *version = 0;
    }
    false
}

/// Draws a state by one of the recipes.
fn draw(units: &Units, model: Model, random: &mut SplitMix64) -> State {
    let mut state = State::complete(units);
    if units.is_empty() {
        return state;
    }
    let any = |random: &mut SplitMix64, unit: usize| {
        random.below(u64::from(units.pending(unit)) + 1) as u32
    };
    match random.below(8) {
        // All but one or two units are complete.
        0 | 1 => {
            for _ in 0..=random.below(2) {
                let unit = random.below(units.len() as u64) as usize;
                state.versions[unit] = random.below(u64::from(units.pending(unit))) as u32;
            }
        }
        // Only one or two units have anything.
        2 => {
            state.versions.fill(0);
            for _ in 0..=random.below(2) {
                let unit = random.below(units.len() as u64) as usize;
                state.versions[unit] = any(random, unit);
            }
        }
        // Every unit by itself: any version of it, or mostly complete, or mostly missing.
        recipe => {
            let varied = [256, 256, 128, 40, 40][recipe as usize - 3];
            let otherwise_complete = random.below(4) > 0;
            for unit in 0..units.len() {
                if random.below(256) < varied {
                    state.versions[unit] = any(random, unit);
                } else if !otherwise_complete {
                    state.versions[unit] = 0;
                }
            }
        }
    }
    damage(&mut state, units, model, random);
    state
}

/// Adds what torn and destroyed sectors a model allows.
fn damage(state: &mut State, units: &Units, model: Model, random: &mut SplitMix64) {
    let sectors: Vec<usize> = match model {
        Model::Torn | Model::NonPowersafeOverwrite => units.sectors().collect(),
        _ => return,
    };
    if sectors.is_empty() {
        return;
    }
    let some = |random: &mut SplitMix64| sectors[random.below(sectors.len() as u64) as usize];
    match model {
        Model::Torn => {
            for _ in 0..random.below(3) {
                let unit = some(random);
                // The write that was under way is the next one of its sector.
                state.versions[unit] = random.below(u64::from(units.pending(unit))) as u32;
                state.damage.push(Damage::Torn {
                    unit,
                    share: 1 + random.below(255) as u8,
                    end: random.below(2) == 1,
                });
            }
            if random.below(2) == 0 {
                state.damage.push(Damage::Garbage { seed: Seed(random.next_u64()) });
            }
        }
        _ => {
            for _ in 0..random.below(3) {
                state
                    .damage
                    .push(Damage::Destroyed { unit: some(random), seed: Seed(random.next_u64()) });
            }
        }
    }
}

/// Minimises the faults of a state: makes units complete and removes damage, one after another, while `still`
/// holds. In the result no fault can be removed alone.
pub fn minimise(units: &Units, state: &State, mut still: impl FnMut(&State) -> bool) -> State {
    let mut best = state.clone();
    loop {
        let before = best.faults(units);
        for damage in (0..best.damage.len()).rev() {
            let mut fewer = best.clone();
            fewer.damage.remove(damage);
            if still(&fewer) {
                best = fewer;
            }
        }
        complete_in_groups(units, &mut best, &mut still);
        if best.faults(units) == before {
            return best;
        }
    }
}

/// Completes incomplete units, first many at a time, then ever fewer, down to single ones.
fn complete_in_groups(units: &Units, best: &mut State, still: &mut impl FnMut(&State) -> bool) {
    let incomplete = |state: &State| -> Vec<usize> {
        (0..units.len()).filter(|unit| state.versions[*unit] < units.pending(*unit)).collect()
    };
    let mut size = incomplete(best).len();
    while size > 0 {
        for group in incomplete(best).chunks(size) {
            let mut fewer = best.clone();
            for unit in group {
                fewer.versions[*unit] = units.pending(*unit);
            }
            if still(&fewer) {
                *best = fewer;
            }
        }
        size /= 2;
    }
}
