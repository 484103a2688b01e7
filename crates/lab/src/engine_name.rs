//! The name of the engine that a variant means.
//!
//! A variant may name a version and its compile options apart, so that both can be factors of a design;
//! together they are one name. It stands apart because plans, trials and safety tiers must all put it
//! together alike. What a name means is for the crate `engine` to say.

use crate::level::{Level, Settings};

/// The setting that names the engine: `default`, `system`, a version, an added engine or a path.
pub const ENGINE: &str = "engine";

/// The setting that names the option sets that the engine is compiled with.
pub const ENGINE_OPTIONS: &str = "engine_options";

/// The option sets that change nothing, which a name leaves out.
const NO_CHANGE: &str = "default";

/// Returns the engine of a variant with these settings; `otherwise` is the engine of variants that name none.
pub fn engine_of(settings: &Settings, otherwise: &str) -> String {
    let text = |name: &str| settings.get(name).and_then(Level::as_text);
    let engine = text(ENGINE).unwrap_or(otherwise);
    match text(ENGINE_OPTIONS) {
        None | Some(NO_CHANGE) => engine.to_owned(),
        Some(options) => format!("{engine}+{options}"),
    }
}

/// Returns the settings that are left for the trial when its engine is known.
pub fn without_engine(settings: &Settings) -> Settings {
    let mut rest = settings.clone();
    rest.remove(ENGINE);
    rest.remove(ENGINE_OPTIONS);
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(named: &[(&str, &str)]) -> String {
        let settings =
            named.iter().map(|(name, level)| ((*name).to_owned(), Level::from(*level))).collect();
        engine_of(&settings, "system")
    }

    #[test]
    fn version_and_options_make_one_name() {
        let both = [("engine", "3.46.0"), ("engine_options", "recommended+pgo")];
        assert_eq!(engine(&both), "3.46.0+recommended+pgo");
        assert_eq!(engine(&both[..1]), "3.46.0");
        assert_eq!(engine(&both[1..]), "system+recommended+pgo");
        assert_eq!(engine(&[]), "system");
        let plain = [("engine", "3.46.0"), ("engine_options", "default")];
        assert_eq!(engine(&plain), "3.46.0");
    }

    #[test]
    fn a_trial_is_not_asked_for_settings_of_the_engine() {
        let settings = Settings::from([
            ("engine".to_owned(), "3.46.0".into()),
            ("engine_options".to_owned(), "lto".into()),
            ("rows".to_owned(), 3.into()),
        ]);
        let rest = without_engine(&settings);
        assert_eq!(rest.keys().collect::<Vec<_>>(), ["rows"]);
    }
}
