//! The forms of settings as they are printed, kept as a snapshot that a reader can judge. That they
//! take effect is tested elsewhere (`crates/pragmark/tests/settings.rs`, `tests/bindings`).

use lab::level::Settings;
use pragmark_report::settings::{Binding, Chosen, once};

fn forms(settings: &str) -> String {
    let settings: Settings = serde_json::from_str(settings).unwrap();
    let chosen = Chosen::of(&settings, |_| true).unwrap();
    let once = once(&chosen).map(|once| format!("== once\n{once}"));
    let forms = Binding::ALL.iter().map(|binding| {
        let notes = binding.remark().map(str::to_owned).into_iter();
        let notes: Vec<String> = notes.chain(binding.cannot(&chosen)).collect();
        format!("== {}\n{}{}\n", binding.name(), binding.text(&chosen), notes.join("\n"))
    });
    once.into_iter().chain(forms).collect()
}

#[test]
fn usual_settings_read_as_a_programmer_would_write_them() {
    insta::assert_snapshot!(forms(
        r#"{"journal_mode": "wal", "synchronous": "normal", "cache_size": -65536,
            "mmap_size": 268435456, "foreign_keys": true, "busy_timeout": 5000,
            "transaction": "immediate", "page_size": 8192}"#
    ));
}

#[test]
fn settings_without_a_key_of_the_binding_are_set_in_another_way() {
    insta::assert_snapshot!(forms(
        r#"{"journal_mode": "off", "synchronous": "extra", "secure_delete": "fast", "threads": 2,
            "open_mutex": "no", "transaction": "exclusive"}"#
    ));
}

#[test]
fn what_a_binding_sets_by_itself_depends_on_the_journal_mode() {
    let level = |binding: Binding, is_wal, name| {
        let mut all = binding.in_force(is_wal).into_iter();
        all.find(|(other, _)| *other == name).map(|(_, level)| level)
    };
    assert_eq!(level(Binding::BetterSqlite3, true, "synchronous"), Some("normal"));
    assert_eq!(level(Binding::BetterSqlite3, false, "synchronous"), None);
    assert_eq!(level(Binding::Rails, false, "journal_mode"), Some("wal"));
    assert!(Binding::Django.in_force(true).is_empty());
}

#[test]
fn the_bindings_that_say_that_no_test_executes_them_are_those_of_the_script() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/bindings/check.py");
    let script = std::fs::read_to_string(script).unwrap();
    for binding in Binding::ALL {
        let is_left_out = script.contains(&format!("\"{}\": elsewhere(", binding.name()));
        assert_eq!(binding.is_executed(), !is_left_out, "{}", binding.name());
    }
}

#[test]
fn every_binding_is_found_by_its_name_and_no_other() {
    for binding in Binding::ALL {
        assert_eq!(Binding::find(binding.name()), Some(*binding));
    }
    assert_eq!(Binding::find("Django"), None);
}
