//! Variants by what survives of an acknowledged change: ranked within classes, and never recommended for
//! speed that is paid by survival.

mod common;

use lab::analysis::{AgainstStronger, Analysis, Collector, observation};
use lab::design::{History, Next, next};
use lab::durability::Durability;
use lab::environment::{Environment, Volume, VolumeKind};
use lab::level::{Level, label};
use lab::record::{EnvironmentFile, FORMAT, RunPlan};
use lab::seed::Seed;
use lab::trial::Measured;
use pragmark_lab as lab;

use common::{columns, run_of, trial};

/// By the number of columns: rows a second and what survives.
const VARIANTS: [(i64, f64, Durability); 4] = [
    (1, 100.0, Durability::Recent),
    (2, 400.0, Durability::Process),
    (4, 200.0, Durability::Every),
    (8, 50.0, Durability::Every),
];

fn planned() -> RunPlan {
    run_of(&columns("stopping = { rounds = 7, max_rounds = 7 }"), Seed(3))
}

/// The run on a disk or in memory, its figures with a little noise.
fn analysis(kind: VolumeKind) -> Analysis {
    let plan = planned();
    let planned = &plan.experiments[0];
    let environment = EnvironmentFile {
        format: FORMAT,
        machine: Environment {
            volumes: vec![Volume::new("/here", kind)],
            ..Environment::default()
        },
        engines: Vec::new(),
        noise: None,
    };
    let mut collector = Collector::new(plan.clone(), environment);
    let mut history = History::default();
    while let Next::Trial { place, variant, role } =
        next(&planned.design_params(plan.seed), &history)
    {
        let columns = planned.variants[variant].levels.get("columns").and_then(Level::as_int);
        let (_, rate, survives) =
            VARIANTS[VARIANTS.iter().position(|(of, ..)| Some(*of) == columns).unwrap()];
        let noise = 1.0 + 0.01 * f64::from((place.0 * 5 + place.2 * 3) % 7);
        let measured = Measured {
            metrics: [("rows_per_s".to_owned(), rate * noise)].into(),
            durability: Some(survives),
            ..Measured::default()
        };
        let record = trial(planned, place, variant, role, measured);
        history.add(observation(planned, &record).unwrap());
        collector.add(record);
    }
    collector.finish()
}

#[test]
fn variants_are_ranked_within_their_class_and_weaker_classes_say_whether_they_gain() {
    let analysis = analysis(VolumeKind::Disk);
    let classes = &analysis.experiments[0].by_durability;
    let told: Vec<_> = classes
        .iter()
        .map(|class| (class.class, class.variants.as_slice(), class.tied, class.against_stronger))
        .collect();
    assert_eq!(
        told,
        [
            (Durability::Every, &[2, 3][..], 1, None),
            (Durability::Recent, &[0][..], 1, Some(AgainstStronger::Worse(2))),
            (Durability::Process, &[1][..], 1, Some(AgainstStronger::Better)),
        ]
    );
    assert!((classes[0].to_best[1].unwrap() - 0.25).abs() < 0.05);
}

#[test]
fn the_fastest_of_which_as_much_survives_comes_before_the_fastest() {
    let analysis = analysis(VolumeKind::Disk);
    let finding = &analysis.findings[0];
    assert_eq!(label(&finding.levels), "columns=4");
    assert!(!finding.is_less_safe);
    let change = finding.survives.unwrap();
    assert_eq!((change.own, change.baseline), (Durability::Every, Durability::Recent));
    let faster = finding.faster.as_ref().unwrap();
    assert_eq!(faster.levels["columns"], 2.into());
    assert_eq!(faster.survives, Some(Durability::Process));
}

#[test]
fn nothing_survives_a_power_failure_in_memory_whatever_was_waited_for() {
    let analysis = analysis(VolumeKind::Memory);
    let classes = &analysis.experiments[0].by_durability;
    assert_eq!(classes.len(), 1);
    assert_eq!(classes[0].class, Durability::Process);
    assert_eq!(label(&analysis.findings[0].levels), "columns=2");
    assert_eq!(analysis.findings[0].survives, None);
}
