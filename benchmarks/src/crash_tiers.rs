//! How many crash images it takes until verdicts no longer depend on the seed.

use std::collections::BTreeMap;
use std::time::Instant;

use crash::{
    Cell, CrashSettings, JournalMode, LockingMode, Matrix, Model, Plan, Synchronous, measure,
};
use lab::seed::Seed;
use lab::tier::Loss;

use crate::Failure;

/// Settings and a model.
type Key = (CrashSettings, &'static str);

/// What is lost at all, and in ordinary commits.
type Verdict = [Option<Loss>; 2];

/// Measures every combination of the durability settings with several seeds, with ever more images, and
/// prints how often the seed decides the verdict.
pub fn run(images: &[usize], seeds: u64, page_sizes: &[u32]) -> Result<(), Failure> {
    let variants: Vec<CrashSettings> = page_sizes.iter().copied().flat_map(settings).collect();
    let mut worst: BTreeMap<Key, Verdict> = BTreeMap::new();
    for images in images {
        let (mut found, begun) = (Vec::new(), Instant::now());
        for seed in 1..=seeds {
            found.push(measure(&plan(&variants, *images, seed))?);
        }
        let took_s = begun.elapsed().as_secs_f64();
        report(*images, (&found, took_s), &mut worst);
    }
    Ok(())
}

fn settings(page_size: u32) -> Vec<CrashSettings> {
    let mut all = Vec::new();
    for journal_mode in JournalMode::ALL {
        for synchronous in Synchronous::ALL {
            for locking_mode in LockingMode::ALL {
                all.push(CrashSettings {
                    journal_mode: *journal_mode,
                    synchronous: *synchronous,
                    locking_mode: *locking_mode,
                    page_size,
                    powersafe_overwrite: true,
                });
            }
        }
    }
    all
}

fn plan(variants: &[CrashSettings], images: usize, seed: u64) -> Plan {
    Plan {
        seed: Seed(seed),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        ..Plan::new(variants.to_vec(), Model::ALL.to_vec(), images)
    }
}

fn report(images: usize, (found, took_s): (&[Matrix], f64), worst: &mut BTreeMap<Key, Verdict>) {
    let mut by_cell: BTreeMap<Key, Vec<&Cell>> = BTreeMap::new();
    for cell in found.iter().flat_map(|matrix| &matrix.cells) {
        let key = (cell.variant, cell.model.name());
        by_cell.entry(key).or_default().push(cell);
    }
    let cells = by_cell.len();
    let whole = by_cell.values().filter(|cells| cells.iter().all(|cell| is_whole(cell)));
    let whole = whole.count();
    let mut varying = Vec::new();
    let mut newly_worse = 0;
    for (key, cells) in &by_cell {
        let verdicts: Vec<Verdict> = cells.iter().map(|cell| verdict(cell)).collect();
        if verdicts.iter().any(|verdict| *verdict != verdicts[0]) {
            varying.push(format!("  {} {}: {}", key.0, key.1, listed(cells)));
        }
        let now = verdicts.into_iter().reduce(worse).expect("a seed");
        let before = worst.get(key).copied();
        let both = before.map_or(now, |before| worse(before, now));
        newly_worse += usize::from(before.is_some_and(|before| both != before));
        worst.insert(*key, both);
    }
    println!(
        "{images} images: {cells} cells, {whole} with all states; the seed decides {} of them; {newly_worse} \
         worse than with fewer images; {:.1} s a seed",
        varying.len(),
        took_s / found.len() as f64
    );
    for line in varying {
        println!("{line}");
    }
}

fn is_whole(cell: &Cell) -> bool {
    cell.safety.all_states
}

fn verdict(cell: &Cell) -> Verdict {
    [cell.safety.worst(), cell.safety.ordinary.loss()]
}

fn worse(one: Verdict, other: Verdict) -> Verdict {
    std::array::from_fn(|part| one[part].max(other[part]))
}

/// What each seed shows: corrupt and losing images, at all and in ordinary commits.
fn listed(cells: &[&Cell]) -> String {
    let counted = cells.iter().map(|cell| {
        let both = [cell.safety.whole(), cell.safety.ordinary.clone()];
        let counts = both.map(|losses| losses.counts().unwrap_or_default());
        let words = counts.map(|it| {
            format!(
                "{} corrupt, {} losing up to {} of {}",
                it.corrupt, it.losing, it.most, it.images
            )
        });
        format!("{} (ordinary {})", words[0], words[1])
    });
    counted.collect::<Vec<_>>().join(" | ")
}
