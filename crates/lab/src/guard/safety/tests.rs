use super::*;
use crate::design::Role;
use crate::environment::Covariates;
use crate::guard::counting_experiment;
use crate::plan::ad_hoc;
use crate::record::{PlannedExperiment, Purpose};
use crate::tier::Loss;
use crate::trial::ReadBack;

fn class(power: Loss) -> Class {
    Class { process: Some(Loss::Nothing), power: Some(power), uncrashed: false }
}

/// A side whose only connection had this setting, as it names it.
fn side(class: Class, synchronous: &str) -> Evidence {
    let pragma = [("synchronous".to_owned(), synchronous.to_owned())];
    Evidence {
        class,
        set: Some(TierSet {
            engine: "default".to_owned(),
            settings: [("synchronous".to_owned(), synchronous.into())].into(),
        }),
        in_force: [pragma.into()].into(),
        ..Evidence::default()
    }
}

fn status(may_lose: MayLose, base: Class, new: Class) -> Status {
    check(may_lose, &[side(base, "full"), side(new, "normal")]).status
}

#[test]
fn a_worse_tier_fails_unless_it_may_be_lost() {
    let (safe, recent) = (class(Loss::Nothing), class(Loss::RecentTransactions));
    let (corrupt, unknown) = (class(Loss::Corruption), Class::default());
    assert_eq!(status(MayLose::Nothing, safe, recent), Status::Failed);
    assert_eq!(status(MayLose::Nothing, recent, safe), Status::Passed);
    assert_eq!(status(MayLose::Recent, safe, recent), Status::Passed);
    assert_eq!(status(MayLose::Recent, safe, corrupt), Status::Failed);
    assert_eq!(status(MayLose::Recent, corrupt, corrupt), Status::Passed);
    assert_eq!(status(MayLose::Nothing, safe, unknown), Status::Undecided);
}

#[test]
fn the_same_settings_pass_without_a_tier_only_as_far_as_they_were_in_force() {
    let unknown = || side(Class::default(), "normal");
    let of = |base: Evidence, new: Evidence| {
        let check = check(MayLose::Nothing, &[base, new]);
        (check.status, check.words)
    };
    assert_eq!(of(unknown(), unknown()).0, Status::Passed);
    let other = Evidence { in_force: side(Class::default(), "off").in_force, ..unknown() };
    let (status, words) = of(unknown(), other);
    assert_eq!(status, Status::Undecided);
    assert!(words.contains("synchronous was normal in the base and is off in the new side"));
    let by_itself = Evidence {
        sets_itself: ["q:2 sets synchronous".to_owned()].into(),
        ..side(class(Loss::Nothing), "full")
    };
    let (status, words) = of(side(class(Loss::Nothing), "full"), by_itself);
    assert_eq!(status, Status::Undecided);
    assert!(words.contains("in the new side, q:2 sets synchronous"), "{words}");
    let silent = Evidence { in_force: BTreeSet::new(), ..side(class(Loss::Nothing), "full") };
    let (status, words) = of(silent.clone(), silent);
    assert_eq!(status, Status::Undecided);
    assert!(words.contains("the base did not say"), "{words}");
}

#[test]
fn a_tier_that_is_known_to_be_worse_fails_whatever_else_is_not_known() {
    let doubtful = Evidence {
        sets_itself: ["q attaches a database".to_owned()].into(),
        ..side(class(Loss::Corruption), "off")
    };
    let safe = || side(class(Loss::Nothing), "full");
    let sides = [safe(), doubtful.clone()];
    assert_eq!(check(MayLose::Nothing, &sides).status, Status::Failed);
    let unknown = Evidence { class: Class::default(), ..doubtful };
    let check = check(MayLose::Nothing, &[safe(), unknown]);
    assert_eq!(check.status, Status::Undecided);
    assert!(check.words.ends_with("q attaches a database, which has settings of its own"));
}

/// A run of both sides, neither of which names a setting, with a trial of each.
fn run(trials: [Measured; 2]) -> (RunPlan, Vec<TrialRecord>) {
    let variant = |label: &str| Variant { label: label.to_owned(), ..Variant::default() };
    let both = PlannedExperiment {
        experiment: ad_hoc("base", "?", "sql", "txns_per_s"),
        variants: ["base", "new"].map(variant).to_vec(),
        ..PlannedExperiment::default()
    };
    let counters = counting_experiment(&both, 1);
    let record = |(position, measured): (u32, Measured)| TrialRecord {
        agent: None,
        purpose: Purpose::Rounds,
        experiment: counters.key.clone(),
        round: 0,
        block: 0,
        position,
        variant: counters.variants[position as usize].label.clone(),
        role: [Role::Baseline, Role::Variant][position as usize],
        started: String::new(),
        wall_s: 0.1,
        covariates: Covariates::default(),
        outcome: Outcome::Measured(Box::new(measured)),
    };
    let trials = (0..).zip(trials).map(record).collect();
    let plan = RunPlan {
        id: "run".to_owned(),
        trial_limit_s: 1.0,
        experiments: vec![counters.clone()],
        ..RunPlan::default()
    };
    (plan, trials)
}

/// What a trial in this journal mode says.
fn in_mode(mode: &str) -> Measured {
    let pragmas = [("journal_mode", mode), ("page_size", "4096")];
    Measured {
        connections: vec![ReadBack {
            connection: "writer".to_owned(),
            pragmas: pragmas.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        }],
        ..Measured::default()
    }
}

#[test]
fn what_trials_read_back_and_set_themselves_counts_where_nothing_is_named() {
    let names = ["journal_mode", "page_size"].map(str::to_owned);
    let of = |may_lose: MayLose, sides: [Measured; 2]| {
        let (plan, trials) = run(sides);
        safety(may_lose, &plan, EnvironmentFile::default(), &names, &trials)
    };
    let same = of(MayLose::Nothing, [in_mode("delete"), in_mode("delete")]);
    assert_eq!(same.unwrap().status, Status::Passed);
    let built = of(MayLose::Nothing, [in_mode("delete"), in_mode("wal")]).unwrap();
    assert_eq!(built.status, Status::Undecided);
    assert!(built.words.contains("journal_mode was delete"), "{}", built.words);
    let with_pragma =
        Measured { sets_itself: vec!["q sets journal_mode".to_owned()], ..in_mode("delete") };
    let set = of(MayLose::Nothing, [in_mode("delete"), with_pragma]).unwrap();
    assert_eq!(set.status, Status::Undecided);
    let anything = of(MayLose::Anything, [in_mode("delete"), in_mode("wal")]);
    assert_eq!(anything, None);
}
