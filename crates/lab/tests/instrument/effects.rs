//! Effects of crossed factors on a simulated machine: the schedule and blocks of a real run, with
//! variants spread over several blocks of a round.
//!
//! Every figure comes from fixed seeds; bounds leave room for the simulation error.

use std::collections::BTreeMap;

use lab::analysis::Effects;
use lab::analysis::effects::{Contrast, PairEffect};
use lab::design::{Role, Stopping};
use lab::level::{Level, Settings, label};
use lab::samples::Samples;

use pragmark_lab as lab;

use super::machine::Noise;
use super::protocol::{run, share};

/// Two levels of `a`, three of `b`, two of `c`: twelve variants, two blocks a round.
const LEVELS: [(&str, i64); 3] = [("a", 2), ("b", 3), ("c", 2)];

/// Log effects of the levels: additive.
const MAIN: [[f64; 3]; 3] = [[0.0, 0.3, 0.0], [0.0, 0.0, -0.2], [0.0, 0.05, 0.0]];

/// All variants, the baseline first.
fn variants() -> Vec<Settings> {
    let mut variants = vec![Settings::new()];
    for (name, levels) in LEVELS {
        let grown = variants.iter().flat_map(|variant| {
            (0..levels).map(move |level| {
                let mut variant = variant.clone();
                variant.insert(name.to_owned(), Level::Int(level));
                variant
            })
        });
        variants = grown.collect();
    }
    variants
}

fn level(variant: &Settings, factor: usize) -> usize {
    variant[LEVELS[factor].0].as_int().unwrap() as usize
}

fn additive(variant: &Settings) -> f64 {
    (0..3).map(|factor| MAIN[factor][level(variant, factor)]).sum()
}

/// The effects found in a run of `rounds` rounds over these variants.
fn effects(
    seed: u64,
    variants: &[Settings],
    truth: impl Fn(&Settings) -> f64,
    rounds: u32,
) -> Effects {
    let stopping = Stopping { rounds, max_rounds: rounds, ..Stopping::default() };
    let logs: Vec<f64> = variants.iter().map(truth).collect();
    let (samples, _) = run(seed, &logs, stopping);
    let levels: Vec<&Settings> = variants.iter().collect();
    let labels: Vec<String> = variants.iter().map(label).collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    Effects::of(&levels, &labels, &BTreeMap::new(), &samples, rounds).unwrap()
}

/// Whether every main effect lies in its interval.
fn all_covered(effects: &Effects) -> bool {
    effects.main.iter().all(|effect| {
        let factor = LEVELS.iter().position(|(name, _)| *name == effect.factor);
        let truth = MAIN[factor.unwrap()][effect.level.as_int().unwrap() as usize];
        effect.contrast.interval.contains(truth.exp())
    })
}

fn pair<'a>(effects: &'a Effects, factors: [&str; 2]) -> &'a PairEffect {
    let is = |pair: &&PairEffect| pair.factors == factors;
    effects.pairs.iter().find(is).unwrap()
}

#[test]
fn main_effects_hold_together_at_the_level_stated() {
    for rounds in [3, 7, 12] {
        let covered: Vec<bool> = (0..400)
            .map(|seed| all_covered(&effects(seed, &variants(), additive, rounds)))
            .collect();
        println!("{rounds} rounds: all covered {:.4}", share(&covered));
        let (low, high) = (0.93, 0.985);
        assert!((low..=high).contains(&share(&covered)), "{rounds} rounds: {}", share(&covered));
    }
}

#[test]
fn a_single_effect_is_covered_at_the_level_stated() {
    // One factor of two levels beside one that is held: a family of one needs no correction, so
    // the interval is exact and not only safe.
    let variants: Vec<Settings> = variants();
    let two: Vec<Settings> =
        variants.into_iter().filter(|variant| level(variant, 1) == 0).collect();
    let truth =
        |variant: &Settings| 0.3 * level(variant, 0) as f64 + 0.1 * level(variant, 2) as f64;
    let covered: Vec<bool> = (0..1_200)
        .map(|seed| {
            let found = effects(seed, &two, truth, 10);
            // The only interaction of the only pair.
            let [cell] = &found.pairs[0].cells[..] else {
                panic!("one cell");
            };
            cell.contrast.interval.contains(1.0)
        })
        .collect();
    println!("one interaction covered {:.4}", share(&covered));
    assert!((0.93..=0.97).contains(&share(&covered)), "{}", share(&covered));
}

#[test]
fn additive_effects_give_no_interaction_more_often_than_stated() {
    for rounds in [4, 10] {
        let alarms: Vec<bool> = (0..400)
            .map(|seed| {
                let found = effects(seed, &variants(), additive, rounds);
                found.pairs.iter().any(PairEffect::is_found)
            })
            .collect();
        println!("{rounds} rounds: any interaction {:.4}", share(&alarms));
        assert!(share(&alarms) <= 0.06, "{rounds} rounds: {}", share(&alarms));
    }
}

#[test]
fn a_planted_interaction_is_found_where_it_is_and_with_its_size() {
    const TOGETHER: f64 = 0.25;
    let truth = |variant: &Settings| {
        let together = level(variant, 0) == 1 && level(variant, 1) == 2;
        additive(variant) + if together { TOGETHER } else { 0.0 }
    };
    let (mut hits, mut elsewhere, mut covered) = (Vec::new(), Vec::new(), Vec::new());
    for seed in 0..200 {
        let found = effects(seed, &variants(), truth, 10);
        let ab = pair(&found, ["a", "b"]);
        let cell = ab.cell([&Level::Int(1), &Level::Int(2)]).unwrap().contrast;
        let other = ab.cell([&Level::Int(1), &Level::Int(1)]).unwrap().contrast;
        hits.push(cell.is_found());
        covered.push(cell.interval.contains(TOGETHER.exp()));
        let others = [pair(&found, ["a", "c"]), pair(&found, ["b", "c"])];
        elsewhere.push(other.is_found() || others.iter().any(|pair| pair.is_found()));
        if cell.is_found() && found.pairs[0].factors != ["a", "b"] {
            elsewhere.push(true);
        }
    }
    println!("found {:.3}, elsewhere {:.3}", share(&hits), share(&elsewhere));
    assert!(share(&hits) >= 0.9, "{}", share(&hits));
    assert!(share(&covered) >= 0.97, "{}", share(&covered));
    assert!(share(&elsewhere) <= 0.06, "{}", share(&elsewhere));
}

#[test]
fn what_the_trials_of_a_round_share_counts_once() {
    // In each round all variants with `a=1` are slower or faster together, as when a disk is busy and
    // one level of a knob waits for it. Six such variants are no more than one figure.
    let variants = variants();
    let levels: Vec<&Settings> = variants.iter().collect();
    let labels = vec![""; variants.len()];
    let covered: Vec<bool> = (0..400)
        .map(|seed| {
            let mut noise = Noise::new(seed * 7919 + 1);
            let mut samples = Samples::new(variants.len());
            for round in 0..8 {
                let shared = 0.1 * noise.normal();
                for (index, variant) in variants.iter().enumerate() {
                    let shift = if level(variant, 0) == 1 { shared } else { 0.0 };
                    let value = (additive(variant) + shift + 0.02 * noise.normal()).exp();
                    let role = if index == 0 { Role::Baseline } else { Role::Variant };
                    samples.add(round, 0, index, role, value);
                }
            }
            all_covered(&Effects::of(&levels, &labels, &BTreeMap::new(), &samples, 8).unwrap())
        })
        .collect();
    println!("shared by a level: all covered {:.4}", share(&covered));
    assert!(share(&covered) >= 0.93, "{}", share(&covered));
}

#[test]
fn combinations_that_are_left_out_bias_nothing() {
    let left_out = |variant: &&Settings| !(level(variant, 0) == 1 && level(variant, 1) == 1);
    let some: Vec<Settings> = variants().iter().filter(left_out).cloned().collect();
    let covered: Vec<bool> =
        (0..400).map(|seed| all_covered(&effects(seed, &some, additive, 8))).collect();
    println!("left out: all covered {:.4}", share(&covered));
    assert!(share(&covered) >= 0.93, "{}", share(&covered));
    let one = effects(1, &some, additive, 8);
    let of_a: Vec<&Contrast> = one
        .main
        .iter()
        .filter(|effect| effect.factor == "a")
        .map(|effect| &effect.contrast)
        .collect();
    // Two levels of b times two of c are left to compare a in.
    assert_eq!(of_a[0].settings, 4);
    assert!(!one.shares.unwrap().whole);
}

#[test]
fn shares_account_for_what_was_planted() {
    let shares = effects(5, &variants(), additive, 12).shares.unwrap();
    let of = |name: &str| {
        let found = shares.factors.iter().find(|share| share.factor == name);
        found.unwrap().share
    };
    // Variances of the planted levels: a 0.0225, b 0.00889, c 0.000625.
    let total = 0.0225 + 0.00889 + 0.000625;
    assert!(shares.whole);
    assert!((of("a") - 0.0225 / total).abs() < 0.1, "{shares:?}");
    assert!((of("b") - 0.00889 / total).abs() < 0.1, "{shares:?}");
    assert!(shares.pairs.iter().all(|pair| pair.share < 0.05), "{shares:?}");
    let parts = shares.factors.iter().map(|share| share.share);
    let parts = parts.chain(shares.pairs.iter().map(|share| share.share));
    let sum = parts.sum::<f64>() + shares.rest + shares.noise;
    assert!((0.9..=1.1).contains(&sum), "{sum}");
}

#[test]
fn sizes_that_never_vary_are_compared_exactly() {
    let variants: Vec<Settings> =
        variants().into_iter().filter(|variant| level(variant, 2) == 0).collect();
    let mut samples = Samples::new(variants.len());
    for round in 0..3 {
        samples.add(round, 0, 0, Role::Baseline, 1000.0);
        for (index, variant) in variants.iter().enumerate().skip(1) {
            let size = if level(variant, 1) == 2 { 1024.0 } else { 1000.0 };
            samples.add(round, 0, index, Role::Variant, size);
        }
    }
    let levels: Vec<&Settings> = variants.iter().collect();
    let labels = vec![""; variants.len()];
    let effects = Effects::of(&levels, &labels, &BTreeMap::new(), &samples, 3).unwrap();
    let found: Vec<f64> = effects
        .main
        .iter()
        .filter(|effect| effect.contrast.is_found())
        .map(|effect| effect.contrast.ratio)
        .collect();
    assert_eq!(found.len(), 1, "{effects:?}");
    assert!((found[0] - 1.024).abs() < 1e-12);
    assert!(!effects.pairs.iter().any(PairEffect::is_found));
}

#[test]
fn one_factor_at_a_time_has_no_effects_of_pairs() {
    let alone =
        |variant: &&Settings| (0..3).filter(|factor| level(variant, *factor) > 0).count() <= 1;
    let some: Vec<Settings> = variants().iter().filter(alone).cloned().collect();
    let levels: Vec<&Settings> = some.iter().collect();
    let (samples, _) = run(1, &vec![0.0; some.len()], Stopping::default());
    let labels = vec![""; some.len()];
    assert!(Effects::of(&levels, &labels, &BTreeMap::new(), &samples, 7).is_none());
}
