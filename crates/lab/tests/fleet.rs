//! Many machines together: what is recovered from the records of simulated ones.
//!
//! `PRAGMARK_FLEET_HOSTS=10000 cargo test --release -p pragmark-lab --test fleet -- --nocapture` prints what that many take.

mod common;

use std::collections::BTreeMap;
use std::time::Instant;

use common::{columns, run_of, trial};
use lab::comparison::{Attributes, Machine, MachineCollector, Standing, summarise};
use lab::design::Role;
use lab::fleet::Disk;
use lab::record::RunPlan;
use lab::seed::Seed;
use lab::trial::Measured;

use pragmark_lab as lab;

/// Rounds of each machine.
const ROUNDS: u32 = 7;

/// The logarithm of the ratio of the last variant, and how it varies from machine to machine and block to block.
const TRUTH: (f64, f64, f64) = (0.7, 0.1, 0.05);

/// A number between −1 and 1 whose sum of twelve is close to normal.
fn normal(seed: Seed) -> f64 {
    let uniform = |it| (seed.nth(it).0 >> 11) as f64 / (1_u64 << 53) as f64;
    (0..12).map(uniform).sum::<f64>() - 6.0
}

/// A machine that has carried all rounds out.
fn machine(plan: &RunPlan, number: u64) -> Machine {
    let planned = &plan.experiments[0];
    let seed = Seed(9).nth(number);
    let (mean, between, within) = TRUTH;
    let own = mean + between * normal(seed.child("machine"));
    let mut collector = MachineCollector::new(plan);
    for round in 0..ROUNDS {
        let level = normal(seed.child("level").nth(round.into()));
        let figures =
            [(0, Role::Baseline), (0, Role::AaCheck), (1, Role::Variant), (3, Role::Variant)];
        for (position, (variant, role)) in figures.into_iter().enumerate() {
            let noise = seed.child("block").nth(u64::from(round * 8) + position as u64);
            let effect = if variant == 3 { own } else { 0.0 };
            let figure = (level + effect + within * normal(noise)).exp();
            let measured = Measured {
                metrics: BTreeMap::from([(planned.experiment.metric.clone(), figure)]),
                ..Measured::default()
            };
            let mut record = trial(planned, (round, 0, position as u32), variant, role, measured);
            record.agent = Some(format!("host-{number:05}"));
            collector.add(&record, false);
        }
    }
    let about = |_: &str| Attributes {
        class: "simulated".to_owned(),
        disk: Disk::Solid,
        fsync_ns: Some(100_000 + seed.child("fsync").0 % 900_000),
        ..Attributes::default()
    };
    collector.finish(about).remove(0)
}

#[test]
fn the_effect_over_machines_is_recovered_with_its_spread() {
    let hosts = std::env::var("PRAGMARK_FLEET_HOSTS");
    let hosts: u64 = hosts.ok().and_then(|it| it.parse().ok()).unwrap_or(200);
    let begin = Instant::now();
    let plan = run_of(&columns(""), Seed(1));
    let machines: Vec<Machine> = (0..hosts).map(|number| machine(&plan, number)).collect();
    let analysis = summarise(&plan, machines, &[]);
    println!("{hosts} hosts: {:.2} s", begin.elapsed().as_secs_f64());

    let variants = &analysis.experiments[0].variants;
    let same = &variants[0].summaries[0];
    assert!(same.ratio.interval.contains(1.0), "{same:?}");
    assert!(variants[1].summaries.is_empty(), "it was never measured");
    let faster = &variants[2].summaries[0];
    assert_eq!(faster.machines as u64, hosts);
    assert!(faster.ratio.interval.contains(TRUTH.0.exp()), "{faster:?}");
    let prediction = faster.prediction.unwrap();
    let reach = (prediction.high.ln() - prediction.low.ln()) / 2.0;
    assert!((reach - 1.96 * TRUTH.1).abs() < 0.04, "{reach}");
    assert!(faster.inconsistency > 0.8, "{faster:?}");
    assert!(variants.iter().all(|it| !it.disagrees()));
    let agree = |machine: &Machine| machine.standing == Standing::Agrees;
    assert!(analysis.machines.iter().all(agree), "their ratios vary, and nobody is an exception");
}
