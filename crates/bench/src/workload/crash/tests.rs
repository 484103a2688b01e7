use super::super::common::tests::{problem, run};
use super::*;
use crash::Model;
use lab::level::Level;
use lab::tier::Safety;

fn tried(over: &[(&str, Level)]) -> Measured {
    let few = [("images", Level::Int(150))];
    let settings: Vec<(&str, Level)> = few.iter().chain(over).cloned().collect();
    run(WORKLOAD, &settings).unwrap()
}

#[test]
fn without_a_journal_and_syncs_databases_are_corrupted_and_there_is_a_witness() {
    let measured = tried(&[("journal_mode", "off".into()), ("synchronous", "off".into())]);
    let safety = Safety::of(measured.safety.clone());
    assert_eq!(safety.tier.process.loss(), Some(Loss::Corruption));
    assert_eq!(safety.tier.power.loss(), Some(Loss::Corruption));
    assert!(measured.metrics["bad_images"] > 0.0);
    assert_eq!(measured.safety.len(), Model::ALL.len());
    let witnesses = &measured.tables[0];
    assert!(!witnesses.rows.is_empty());
    let commands = witnesses.rows.iter().map(|row| row.last().unwrap());
    for command in commands {
        assert!(
            command.starts_with("pragmark crash --set journal_mode=off --set synchronous=off"),
            "{command}"
        );
    }
}

#[test]
fn what_the_variant_leaves_open_is_what_the_engine_has() {
    let measured = tried(&[]);
    let pragmas = &measured.connections[0].pragmas;
    assert_eq!((&pragmas["journal_mode"][..], &pragmas["synchronous"][..]), ("delete", "full"));
    let kill = measured.safety.iter().find(|model| model.model == "kill");
    assert_eq!(kill.unwrap().worst(), Some(Loss::Nothing));
}

#[test]
fn schedules_are_played_where_two_connections_can_meet() {
    let played = |over: &[(&str, Level)]| tried(over).schedules.unwrap();
    let Schedules::Played { played: count, wrong, .. } = played(&[("journal_mode", "wal".into())])
    else {
        panic!("not played");
    };
    assert!(count >= 100 && wrong == 0, "{wrong} of {count}");
    for (over, reason) in [
        (("journal_mode", "off"), "no scenario"),
        (("locking_mode", "exclusive"), "no second connection"),
    ] {
        let schedules = played(&[(over.0, over.1.into())]);
        assert!(
            matches!(&schedules, Schedules::NotMeasured { why } if why.contains(reason)),
            "{schedules:?}"
        );
    }
}

#[test]
fn what_psow_says_of_overwriting_changes_what_sqlite_promises() {
    let destroyed = |psow: bool| {
        let settings = [
            ("journal_mode", Level::from("wal")),
            ("synchronous", "full".into()),
            ("psow", psow.into()),
        ];
        let mut models = tried(&settings).safety.into_iter();
        models.find(|model| model.model == "non-powersafe-overwrite").unwrap()
    };
    assert!(!destroyed(true).assumed && destroyed(false).assumed);
    assert_eq!(destroyed(false).worst(), Some(Loss::Nothing));
}

#[test]
fn the_same_seed_gives_the_same_findings() {
    let settings = [("journal_mode", "wal".into()), ("synchronous", "normal".into())];
    assert_eq!(tried(&settings).safety, tried(&settings).safety);
}

#[test]
fn settings_that_would_be_ignored_are_refused() {
    let why = problem(WORKLOAD, &[("cache_size", Level::Int(10))]);
    assert!(why.contains("`cache_size = 10` would be ignored"), "{why}");
    let why = problem(WORKLOAD, &[("fullfsync", Level::Bool(true))]);
    assert!(why.contains("fullfsync"), "{why}");
    let why = problem(WORKLOAD, &[("transaction", "immediate".into())]);
    assert!(why.contains("transaction"), "{why}");
}
