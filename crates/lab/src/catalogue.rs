//! The catalogue to choose from: workloads with their parameters, PRAGMAs and connection settings.
//!
//! The lab may not know SQLite, so the crates that do give it this description, and experiment
//! files are checked against it.

use std::borrow::Cow;
use std::fmt;

use crate::engine_name::{ENGINE, ENGINE_OPTIONS};
use crate::level::{Level, Settings};
use crate::measures::Measures;
use crate::metric::DeclaredMetric;
use crate::trial::{DRIVER, NATIVE};

/// The values that a setting accepts.
#[derive(Clone, Debug, PartialEq)]
pub enum Accepts {
    /// `true` or `false`.
    Bool,
    /// A whole number within these bounds, both included.
    Int {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
    },
    /// A power of two within these bounds, both included.
    PowerOfTwo {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
    },
    /// One of these names.
    Choice(Vec<String>),
    /// Any text.
    Text(Contents),
}

/// Contents of a text. A machine of a fleet sends, confines or refuses a run according to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Neither executed nor a path.
    Plain,
    /// SQL, or a full-text expression, that SQLite executes.
    Sql,
    /// Path of a file with data or SQL.
    File,
    /// Paths of files with SQL, separated by commas, each with its weight after `@`.
    WeightedFiles,
    /// Path of a database; beside the setting `trace`, the name of a database in the trace.
    Database,
    /// Path of an extension that SQLite loads.
    Extension,
    /// Name or path of a SQLite library.
    Engine,
}

impl Accepts {
    /// Returns a choice of names.
    pub fn choice(names: &[&str]) -> Accepts {
        Accepts::Choice(names.iter().map(|name| (*name).to_owned()).collect())
    }

    /// Returns the level as this setting takes it: where that is a truth, also `on`, `off`, `yes`, `no`, 1 and 0, which SQLite's own
    /// PRAGMAs take (<https://sqlite.org/pragma.html>).
    pub fn taken(&self, level: Level) -> Level {
        let truth = match &level {
            Level::Text(text) => match text.to_ascii_lowercase().as_str() {
                "on" | "yes" => Some(true),
                "off" | "no" => Some(false),
                _ => None,
            },
            Level::Int(1) => Some(true),
            Level::Int(0) => Some(false),
            _ => None,
        };
        match (self, truth) {
            (Accepts::Bool, Some(truth)) => Level::Bool(truth),
            _ => level,
        }
    }

    /// Returns whether the level may be used.
    pub fn allows(&self, level: &Level) -> bool {
        match (self, level) {
            (Accepts::Bool, Level::Bool(_)) | (Accepts::Text(_), Level::Text(_)) => true,
            (Accepts::Int { min, max }, Level::Int(value)) => (min..=max).contains(&value),
            (Accepts::PowerOfTwo { min, max }, Level::Int(value)) => {
                (min..=max).contains(&value) && value.count_ones() == 1
            }
            (Accepts::Choice(names), Level::Text(text)) => names.contains(text),
            _ => false,
        }
    }
}

impl fmt::Display for Accepts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Accepts::Bool => f.write_str("true or false"),
            Accepts::Int { min: i64::MIN, max: i64::MAX } => f.write_str("a whole number"),
            Accepts::Int { min, max: i64::MAX } => write!(f, "a whole number from {min}"),
            Accepts::Int { min, max } => write!(f, "a whole number from {min} to {max}"),
            Accepts::PowerOfTwo { min, max } => write!(f, "a power of two from {min} to {max}"),
            Accepts::Choice(names) => write!(f, "one of {}", names.join(", ")),
            Accepts::Text(_) => f.write_str("text"),
        }
    }
}

/// Where a setting acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A parameter of the workload.
    Workload,
    /// A PRAGMA, applied to and read back from every connection.
    Pragma,
    /// How connections are opened and used, or which engine is loaded.
    Connection,
}

/// One setting that an experiment file may name.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name in experiment files.
    pub name: String,
    /// The accepted values.
    pub accepts: Accepts,
    /// The level used when an experiment says nothing; `None` leaves SQLite's own default.
    pub default: Option<Level>,
    /// The unit of its levels, where they have one.
    pub unit: Option<Cow<'static, str>>,
    /// Its meaning.
    pub about: String,
    /// Where it acts.
    pub scope: Scope,
    /// Whether it decides what a crash can destroy, so that no level of it may be recommended for
    /// its speed alone.
    pub crash_relevant: bool,
}

/// The metric by which the variants of most workloads are compared.
pub const USUAL_METRIC: &str = "rows_per_s";

/// One workload that an experiment file may name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkloadInfo {
    /// Its name in experiment files.
    pub name: String,
    /// The metric by which its variants are compared, unless an experiment names another; empty for [`USUAL_METRIC`].
    pub metric: String,
    /// Its task.
    pub about: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// The phases that it times apart (`seconds.<phase>`).
    pub phases: Vec<String>,
    /// Whether it can count what it does to files.
    pub counts: bool,
    /// The metrics that it has besides pragmark's.
    pub metrics: Vec<DeclaredMetric>,
    /// The subject that it measures.
    pub measures: Measures,
    /// Whether only drivers in other languages have it. They know PRAGMAs, and no other settings of connections.
    pub by_driver: bool,
}

impl WorkloadInfo {
    /// Returns whether the workload understands a setting that every built-in one understands.
    fn shares(&self, parameter: &Parameter) -> bool {
        const PROGRAMS: [&str; 3] = [ENGINE, ENGINE_OPTIONS, DRIVER];
        !self.by_driver
            || parameter.scope == Scope::Pragma
            || PROGRAMS.contains(&parameter.name.as_str())
    }
}

/// One driver in another language that an experiment file may name.
#[derive(Clone, Debug)]
pub struct DriverInfo {
    /// Its name, a level of the setting `driver`.
    pub name: String,
    /// The workloads that it has.
    pub workloads: Vec<String>,
}

/// Why no engine and no machine can run a workload with these settings; `None` if some can.
pub type WhyImpossible = fn(workload: &str, settings: &Settings) -> Option<String>;

/// Everything that experiment files may name.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// The workloads.
    pub workloads: Vec<WorkloadInfo>,
    /// Settings that every workload understands: PRAGMAs and connection settings.
    pub shared: Vec<Parameter>,
    /// The drivers besides the native one.
    pub drivers: Vec<DriverInfo>,
    /// The check for combinations that can never be run, so that an experiment with such a variant is
    /// refused before anything is measured; `None` if every combination of levels can be tried.
    pub why_impossible: Option<WhyImpossible>,
}

impl Catalogue {
    /// With these drivers, which the setting `driver` accepts from now on.
    pub fn with_drivers(mut self, drivers: Vec<DriverInfo>) -> Catalogue {
        let names = drivers.iter().map(|driver| driver.name.as_str());
        let names: Vec<&str> = [NATIVE].into_iter().chain(names).collect();
        for parameter in &mut self.shared {
            if parameter.name == DRIVER {
                parameter.accepts = Accepts::choice(&names);
            }
        }
        self.drivers = drivers;
        self
    }

    /// Returns the workload of this name.
    pub fn workload(&self, name: &str) -> Option<&WorkloadInfo> {
        self.workloads.iter().find(|workload| workload.name == name)
    }

    /// Returns the metric by which variants of a workload are compared, unless an experiment names another.
    pub fn metric_of(&self, workload: &str) -> String {
        let declared = self.workload(workload).map(|workload| workload.metric.clone());
        declared.filter(|metric| !metric.is_empty()).unwrap_or_else(|| USUAL_METRIC.to_owned())
    }

    /// Returns every setting that this workload understands: its own parameters, then the shared ones.
    pub fn settings_of<'a>(
        &'a self,
        workload: &'a WorkloadInfo,
    ) -> impl Iterator<Item = &'a Parameter> {
        let shared = self.shared.iter().filter(|parameter| workload.shares(parameter));
        workload.parameters.iter().chain(shared)
    }

    /// Returns the setting of this name for this workload.
    pub fn setting<'a>(&'a self, workload: &'a WorkloadInfo, name: &str) -> Option<&'a Parameter> {
        self.settings_of(workload).find(|parameter| parameter.name == name)
    }

    /// Returns the contents of a text that this workload understands.
    pub fn contents(&self, workload: &str, name: &str) -> Option<Contents> {
        match self.setting(self.workload(workload)?, name)?.accepts {
            Accepts::Text(contents) => Some(contents),
            _ => None,
        }
    }

    /// Returns whether a workload exists that understands each of these settings and accepts its level: settings that are read may
    /// come from anywhere.
    ///
    /// # Errors
    /// The first that is wrong, with what there is instead.
    pub fn check(&self, workload: &str, settings: &Settings) -> Result<(), String> {
        let known = self.workload(workload);
        let known = known.ok_or_else(|| format!("there is no workload `{workload}`"))?;
        for (name, level) in settings {
            let Some(parameter) = self.setting(known, name) else {
                return Err(format!("the workload `{workload}` has no setting `{name}`"));
            };
            if !parameter.accepts.allows(level) {
                let accepts = &parameter.accepts;
                return Err(format!("`{name}` cannot be `{level}`; it takes {accepts}"));
            }
        }
        Ok(())
    }

    /// Returns why a workload can never be run with these settings; `None` if it can.
    pub fn why_impossible(&self, workload: &WorkloadInfo, settings: &Settings) -> Option<String> {
        self.why_not_by_driver(workload, settings)
            .or_else(|| self.why_impossible?(&workload.name, settings))
    }

    /// Returns why the driver that the settings name, or the native one, cannot run a workload; `None` if it can.
    fn why_not_by_driver(&self, workload: &WorkloadInfo, settings: &Settings) -> Option<String> {
        let has = |driver: &&DriverInfo| driver.workloads.contains(&workload.name);
        let native = (!workload.by_driver).then_some(NATIVE);
        let others = self.drivers.iter().filter(has);
        let able =
            native.into_iter().chain(others.map(|driver| driver.name.as_str())).collect::<Vec<_>>();
        let name = match settings.get(DRIVER).and_then(Level::as_text) {
            Some(name) => name,
            None if workload.by_driver => NATIVE,
            None => return None,
        };
        let is_known = name == NATIVE || self.drivers.iter().any(|driver| driver.name == name);
        (is_known && !able.contains(&name)).then(|| {
            format!(
                "the driver {name} has no workload `{}`; the drivers that have it: {}",
                workload.name,
                able.join(", ")
            )
        })
    }

    /// Returns the levels that hold when an experiment says nothing.
    pub fn defaults(&self, workload: &WorkloadInfo) -> Settings {
        self.settings_of(workload)
            .filter_map(|parameter| Some((parameter.name.clone(), parameter.default.clone()?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue() -> Catalogue {
        let workload =
            |name: &str| WorkloadInfo { name: name.to_owned(), ..WorkloadInfo::default() };
        let driver = |name: &str, workloads: &[&str]| DriverInfo {
            name: name.to_owned(),
            workloads: workloads.iter().map(|&it| it.to_owned()).collect(),
        };
        let setting = Parameter {
            name: DRIVER.to_owned(),
            accepts: Accepts::choice(&[NATIVE]),
            default: None,
            unit: None,
            about: String::new(),
            scope: Scope::Connection,
            crash_relevant: false,
        };
        let bare = Catalogue {
            workloads: ["basics", "orm", "quotes"].map(workload).into(),
            shared: vec![setting],
            ..Catalogue::default()
        };
        bare.with_drivers(vec![driver("ruby", &["basics", "orm"]), driver("go", &["basics"])])
    }

    #[test]
    fn truths_are_taken_as_sqlite_takes_them_and_other_levels_as_they_are() {
        for (written, truth) in [("on", true), ("OFF", false), ("yes", true), ("no", false)] {
            assert_eq!(Accepts::Bool.taken(written.into()), Level::Bool(truth));
        }
        assert_eq!(Accepts::Bool.taken(Level::Int(1)), Level::Bool(true));
        assert_eq!(Accepts::Bool.taken(Level::Int(2)), Level::Int(2));
        let off = || Level::from("off");
        assert_eq!(Accepts::choice(&["off", "full"]).taken(off()), off());
    }

    #[test]
    fn settings_that_a_workload_does_not_know_or_accept_are_refused() {
        let catalogue = catalogue();
        let check = |workload: &str, name: &str, level: Level| {
            catalogue.check(workload, &Settings::from([(name.to_owned(), level)]))
        };
        assert_eq!(check("basics", DRIVER, "go".into()), Ok(()));
        for (workload, name, level, why) in [
            ("other", DRIVER, Level::from("go"), "no workload `other`"),
            ("basics", "trace", "x".into(), "no setting `trace`"),
            ("basics", DRIVER, "perl".into(), "native, ruby, go"),
            ("basics", DRIVER, Level::Int(1), "cannot be `1`"),
        ] {
            let refused = check(workload, name, level).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn the_setting_accepts_the_drivers_that_there_are() {
        let accepts = &catalogue().shared[0].accepts;
        assert_eq!(accepts.to_string(), "one of native, ruby, go");
    }

    #[test]
    fn a_workload_of_drivers_needs_one_and_knows_pragmas_but_no_other_settings_of_connections() {
        let mut catalogue = catalogue();
        catalogue.workloads.push(WorkloadInfo {
            name: "shop".to_owned(),
            by_driver: true,
            ..WorkloadInfo::default()
        });
        catalogue.drivers[0].workloads.push("shop".to_owned());
        for (name, scope) in [("journal_mode", Scope::Pragma), ("open_mutex", Scope::Connection)] {
            catalogue.shared.push(Parameter {
                name: name.to_owned(),
                scope,
                ..catalogue.shared[0].clone()
            });
        }
        let shop = catalogue.workload("shop").unwrap();
        let known: Vec<&str> = catalogue.settings_of(shop).map(|it| it.name.as_str()).collect();
        assert_eq!(known, ["driver", "journal_mode"]);
        let why = |settings: &Settings| catalogue.why_impossible(shop, settings);
        let with = |driver: &str| Settings::from([(DRIVER.to_owned(), driver.into())]);
        assert_eq!(why(&with("ruby")), None);
        for settings in [Settings::new(), with(NATIVE), with("go")] {
            let why = why(&settings).unwrap();
            assert!(why.ends_with("`shop`; the drivers that have it: ruby"), "{why}");
        }
    }

    #[test]
    fn a_workload_that_a_driver_lacks_is_refused_with_the_drivers_that_have_it() {
        let why = |workload: &str, driver: &str| {
            let catalogue = catalogue();
            let settings = Settings::from([(DRIVER.to_owned(), driver.into())]);
            catalogue.why_impossible(catalogue.workload(workload).unwrap(), &settings)
        };
        assert_eq!(why("orm", "ruby"), None);
        assert_eq!(why("orm", "native"), None);
        assert!(why("orm", "go").unwrap().ends_with("that have it: native, ruby"));
        assert!(why("quotes", "go").unwrap().ends_with("that have it: native"));
        let catalogue = catalogue();
        let workload = catalogue.workload("orm").unwrap();
        assert_eq!(catalogue.why_impossible(workload, &Settings::new()), None);
    }
}
