//! Claims over two kinds of devices.

use std::collections::BTreeMap;

use crate::lab::claims::{DeviceKind, DeviceLevels, Verdict};
use crate::world::{World, judged};

#[test]
fn devices_are_compared_where_both_kinds_were_measured() {
    let body = "devices = { of = \"rotating\", to = \"solid\" }\nat_least = 2";
    let on = |kind, level: f64| DeviceLevels {
        kind: Some(kind),
        samples: BTreeMap::new(),
        levels: BTreeMap::from([(
            "rows_per_s".to_owned(),
            (0..8).map(|round| (level * (1.0 + f64::from(round) / 100.0)).ln()).collect(),
        )]),
    };
    let with = |devices: Vec<DeviceLevels>| {
        let world = World { devices, ..World::default() };
        judged(&world, body)
    };
    let (disk, ssd) = (on(DeviceKind::Rotating, 40.0), on(DeviceKind::Solid, 10.0));
    let both = with(vec![disk.clone(), ssd.clone()]);
    assert_eq!(both.verdict, Verdict::Confirmed);
    assert!((both.figure.unwrap() - 4.0).abs() < 0.01);
    assert_eq!(with(vec![on(DeviceKind::Rotating, 12.0), ssd.clone()]).verdict, Verdict::Refuted);
    for devices in [vec![], vec![disk], vec![ssd]] {
        let alone = with(devices);
        assert_eq!(alone.verdict, Verdict::NotApplicable);
        assert!(alone.why.unwrap().contains("--dir"));
    }
}

fn ordered(kind: DeviceKind, truth: [f64; 4]) -> DeviceLevels {
    let samples = World::default().samples(truth);
    DeviceLevels {
        kind: Some(kind),
        levels: BTreeMap::new(),
        samples: BTreeMap::from([("rows_per_s".to_owned(), samples)]),
    }
}

#[test]
fn the_order_is_the_same_where_no_two_variants_change_places() {
    let body = "same_order = { of = \"rotating\", to = \"solid\" }\ntolerance = 0.05";
    let solid = [1.0, 1.1, 1.3, 0.9];
    let with = |rotating: [f64; 4]| {
        let world = World {
            devices: vec![
                ordered(DeviceKind::Rotating, rotating),
                ordered(DeviceKind::Solid, solid),
            ],
            ..World::default()
        };
        judged(&world, body)
    };
    // Four times as slow, in the same order.
    let same = with(solid.map(|figure| figure / 4.0));
    assert_eq!(same.verdict, Verdict::Confirmed, "{same:?}");
    assert_eq!(same.bounds.high, Some(1.05));
    // The third leads the first by 1.3 on one and trails it by 1.5 on the other.
    let changed = with([1.5, 1.1, 1.0, 0.9]);
    assert_eq!(changed.verdict, Verdict::Refuted, "{changed:?}");
    assert!((changed.figure.unwrap() - 1.3).abs() < 0.03);
    // What differs on one device only has not changed places.
    assert_eq!(with([1.0; 4]).verdict, Verdict::Confirmed);
    let alone = World { devices: vec![ordered(DeviceKind::Solid, solid)], ..World::default() };
    let alone = judged(&alone, body);
    assert_eq!(alone.verdict, Verdict::NotApplicable);
    assert!(alone.why.unwrap().contains("--dir"));
}
