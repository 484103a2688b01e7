use super::*;
use lab::tier::Schedules;

fn engine(sha256: &str) -> EngineRecord {
    EngineRecord {
        name: "own".to_owned(),
        path: Some("/lib/libsqlite3.so".into()),
        sha256: Some(sha256.to_owned()),
        ..EngineRecord::default()
    }
}

fn set(level: &str) -> TierSet {
    TierSet {
        engine: "own".to_owned(),
        settings: [("synchronous".to_owned(), level.into())].into(),
    }
}

fn findings(played: u64) -> Findings {
    Findings {
        safety: Vec::new(),
        schedules: Some(Schedules::Played { played, wrong: 0, first: None }),
    }
}

fn cache() -> (tempfile::TempDir, TierCache) {
    let folder = tempfile::tempdir().unwrap();
    let cache = TierCache::at(folder.path());
    (folder, cache)
}

fn files(cache: &tempfile::TempDir) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(cache.path().join("tiers")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn what_is_kept_holds_for_its_engine_settings_and_method_only() {
    let (_folder, cache) = cache();
    let own = key(&set("full"), &[engine("a")]).unwrap();
    assert_eq!(cache.find(&own), None);
    cache.keep(&own, &findings(1)).unwrap();
    assert_eq!(cache.find(&own), Some(findings(1)));
    let others = [
        key(&set("off"), &[engine("a")]).unwrap(),
        key(&set("full"), &[engine("b")]).unwrap(),
        TierKey { method: own.method + 1, ..own.clone() },
    ];
    for other in others {
        assert_eq!(cache.find(&other), None);
    }
    assert_eq!(key(&set("full"), &[]), None);
}

#[test]
fn a_damaged_or_foreign_file_is_ignored_and_replaced() {
    let (folder, cache) = cache();
    let [own, other] = ["full", "off"].map(|level| key(&set(level), &[engine("a")]).unwrap());
    cache.keep(&other, &findings(2)).unwrap();
    let foreign = std::fs::read_to_string(&files(&folder)[0]).unwrap();
    cache.keep(&own, &findings(1)).unwrap();
    for path in files(&folder) {
        for text in [&foreign[..foreign.len() - 9], "", "{}"] {
            std::fs::write(&path, text).unwrap();
        }
    }
    assert_eq!(cache.find(&own), None);
    cache.keep(&own, &findings(1)).unwrap();
    assert_eq!(cache.find(&own), Some(findings(1)));
    for path in files(&folder) {
        std::fs::write(&path, &foreign).unwrap();
    }
    assert_eq!(cache.find(&own), None, "that is the file of another key");
    cache.keep(&own, &findings(1)).unwrap();
    assert_eq!(cache.find(&own), Some(findings(1)));
}

#[test]
fn several_may_keep_the_same_at_once() {
    let (folder, cache) = cache();
    let own = key(&set("full"), &[engine("a")]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                cache.keep(&own, &findings(1)).unwrap();
                assert_eq!(cache.find(&own), Some(findings(1)));
            });
        }
    });
    assert_eq!(files(&folder).len(), 1, "nothing unfinished is left");
}

#[test]
fn a_plan_takes_what_is_known_and_says_where_from() {
    let (_folder, cache) = cache();
    let engines = [engine("a")];
    cache.keep(&key(&set("off"), &engines).unwrap(), &findings(1)).unwrap();
    let tiers = TierPlan {
        names: vec!["synchronous".to_owned()],
        sets: vec![set("full"), set("off")],
        known: Vec::new(),
    };
    let known = known_of(&tiers, &engines, Some(&cache));
    let expected = KnownTier {
        set: set("off"),
        in_force: overlaid(&built_in().defaults, &set("off").settings),
        origin: Origin::Cache,
        findings: findings(1),
    };
    assert_eq!(known, [expected]);
    assert!(known_of(&tiers, &engines, None).is_empty());
}
