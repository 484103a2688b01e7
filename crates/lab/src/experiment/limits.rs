//! Limits of experiment files, so that one from elsewhere is refused at once instead of filling the memory.

use super::parse::Findings;
use super::positions::Step;
use super::{DesignKind, Experiment};

/// The largest experiment file, in bytes. The largest one included has 12 KiB.
pub const MOST_BYTES: u64 = 256 * 1024;

/// The most variants of an experiment, and the most levels of a factor.
pub const MOST_VARIANTS: usize = 10_000;

/// The most rounds that a stopping rule may name.
pub const MOST_ROUNDS: u32 = 10_000;

/// Notes a design that is too large to be looked at any closer; whether it is.
pub(super) fn check_size(experiment: &Experiment, findings: &mut Findings<'_>) -> bool {
    let before = findings.count();
    let variants = most_variants(experiment);
    if variants > MOST_VARIANTS {
        let what =
            format!("the design has {variants} variants; at most {MOST_VARIANTS} are possible");
        findings.at(&[Step::from("design")], what);
    }
    let kept = experiment.levels.values().flat_map(|factors| factors.values());
    if experiment.factors.values().chain(kept).any(|levels| levels.len() > MOST_VARIANTS) {
        let what = format!("a factor can have at most {MOST_VARIANTS} levels");
        findings.at(&[Step::from("factors")], what);
    }
    if experiment.design.stopping.max_rounds > MOST_ROUNDS {
        let what = format!("`max_rounds` can be at most {MOST_ROUNDS}");
        findings.at(&["design".into(), "stopping".into()], what);
    }
    findings.count() > before
}

/// The number of variants before any is left out.
fn most_variants(experiment: &Experiment) -> usize {
    let levels = experiment.factors.values().map(Vec::len);
    match experiment.design.kind {
        DesignKind::Factorial => levels.fold(1, usize::saturating_mul),
        DesignKind::OneAtATime => 1 + levels.sum::<usize>(),
        DesignKind::List => 1 + experiment.design.variants.len(),
    }
}
