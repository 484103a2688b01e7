//! The page of a run over a fleet of a thousand machines.

use std::collections::BTreeMap;

use lab::claims::Verdict;
use lab::comparison::{
    Agreement, Attributes, DiskSummary, FleetAnalysis, FleetClaim, FleetExperiment, FleetVariant,
    Machine, MachineRatio, Ratio,
};
use lab::fleet::Disk;
use lab::stats::Interval;
use pragmark_report as report;
use report::render;

/// Machines of the fleet.
const HOSTS: usize = 1_000;

/// Its classes.
const CLASSES: [&str; 3] = ["edge", "server, rotating", "server, solid-state"];

fn interval(centre: f64) -> Interval {
    Interval { low: centre * 0.9, high: centre * 1.1 }
}

fn host(index: usize) -> Machine {
    let class = index % CLASSES.len();
    Machine {
        agent: format!("host-{index:04}"),
        attributes: Attributes {
            class: CLASSES[class].to_owned(),
            disk: if class == 1 { Disk::Rotating } else { Disk::Solid },
            fsync_ns: Some(100_000 * (1 + index as u64 % 7)),
            ..Attributes::default()
        },
        blocks: 7,
        ..Machine::default()
    }
}

fn variant(name: &str, centre: f64) -> FleetVariant {
    let ratio = |machine: usize| {
        let ratio = centre * (1.0 + (machine % 11) as f64 / 50.0);
        let interval = interval(ratio);
        MachineRatio { machine, ratio: Ratio { ratio, interval }, blocks: 7 }
    };
    let summary = |disk, machines| DiskSummary {
        disk,
        machines,
        ratio: Ratio { ratio: centre, interval: interval(centre) },
        prediction: Some(interval(centre)),
        inconsistency: 0.4,
    };
    let of_class = Ratio { ratio: centre, interval: interval(centre) };
    FleetVariant {
        name: name.to_owned(),
        machines: (0..HOSTS).map(ratio).collect(),
        classes: CLASSES.map(|it| (it.to_owned(), of_class)).into(),
        summaries: vec![summary(Disk::Solid, 667), summary(Disk::Rotating, 333)],
        above: Vec::new(),
        below: Vec::new(),
        checks: Vec::new(),
        explained: Vec::new(),
    }
}

fn analysis() -> FleetAnalysis {
    let verdicts = [Verdict::Confirmed, Verdict::Refuted, Verdict::Confirmed];
    let by_class = CLASSES.into_iter().zip(verdicts);
    let by_class: BTreeMap<String, Vec<Verdict>> =
        by_class.map(|(class, verdict)| (class.to_owned(), vec![verdict])).collect();
    FleetAnalysis {
        machines: (0..HOSTS).map(host).collect(),
        classes: CLASSES.map(str::to_owned).into(),
        unanswered: Vec::new(),
        experiments: vec![FleetExperiment {
            key: "journal".to_owned(),
            question: "Is WAL faster?".to_owned(),
            metric: "rows_per_s".to_owned(),
            baseline: "delete".to_owned(),
            variants: vec![variant("wal", 2.0), variant("truncate", 0.8)],
            claims: vec![FleetClaim {
                id: "j-1".to_owned(),
                says: "WAL is faster".to_owned(),
                by_class,
                without_verdict: BTreeMap::new(),
                overall: Agreement::Differ,
            }],
        }],
    }
}

#[test]
fn the_page_of_a_thousand_machines_is_folded_and_names_each_of_them() {
    let groups =
        (0..HOSTS).map(|it| (format!("host-{it:04}"), format!("groups/host-{it:04}/report.html")));
    let document = report::fleet(&analysis(), "20261123", &groups.collect::<Vec<_>>());
    let page = render::html(&document).unwrap();
    if let Some(path) = std::env::var_os("PRAGMARK_FLEET_PAGE") {
        std::fs::write(path, &page).unwrap();
    }
    for part in [
        "host-0999",
        "Map of 1,000 machines",
        "The reports of 1,000 groups",
        "drawn: the 20 largest and the 20 smallest of 1,000 ratios.",
        "verdicts differ",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // No cell refers to it.
    assert!(!page.contains("fewer than three blocks"));
    assert!(page.len() < 2 << 20, "{} bytes", page.len());
    let style = report::Style { width: 100, colour: false };
    let terminal = render::terminal(&document, style);
    assert!(terminal.lines().count() < 400, "{}", terminal.lines().count());
}
