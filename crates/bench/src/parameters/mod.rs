//! The parameters of workloads, each declared once.
//!
//! [`parameters!`] turns a declaration into a typed struct, its reading and checking, and the entries of
//! the catalogue from which help and checks of experiment files come. [`choice!`] does the same for the
//! names that a parameter may have. Doc comments are the meanings that users read; the type of a field is
//! its [`Kind`], which decides the accepted levels and the unit. Rules between parameters are a function
//! of the workload ([`crate::workload::declared::Declared::check`]).

mod kinds;

use std::ops::{Bound, RangeBounds};

use lab::catalogue::{Accepts, Parameter, Scope};
use lab::level::{Level, Settings};

use crate::error::{Result, TrialError};

pub(crate) use kinds::{
    Bytes, DatabasePath, ExtensionPath, FilePath, Limit, Micros, Millis, Percent, Rows, RowsOrAll,
    SqlText, WeightedFilePaths,
};

/// The smallest and the largest value, both included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    min: i64,
    max: i64,
}

impl Bounds {
    /// Bounds from a range; without a start it begins at 0.
    pub(crate) fn of(range: impl RangeBounds<i64>) -> Bounds {
        Bounds {
            min: match range.start_bound() {
                Bound::Included(min) => *min,
                Bound::Excluded(below) => below + 1,
                Bound::Unbounded => 0,
            },
            max: match range.end_bound() {
                Bound::Included(max) => *max,
                Bound::Excluded(above) => above - 1,
                Bound::Unbounded => i64::MAX,
            },
        }
    }
}

/// The type of a parameter.
pub(crate) trait Kind {
    /// The type of its values.
    type Value;
    /// The type of the default in a declaration.
    type Default;
    /// The unit, where it has one.
    const UNIT: Option<&'static str> = None;

    /// Returns the levels it accepts.
    fn accepts(bounds: Bounds) -> Accepts;

    /// Returns the level of the default; none leaves SQLite's own.
    fn level(default: Self::Default) -> Option<Level>;

    /// Returns the value of an accepted level, or of no level. Returns `None` if a required level is missing.
    fn value(level: Option<&Level>) -> Option<Self::Value>;

    /// Returns each name it accepts with its meaning, where it accepts names.
    fn meanings() -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// Parameters that are read together.
pub(crate) trait Parameters: Sized {
    /// Their entries in the catalogue.
    fn declared() -> Vec<Parameter>;

    /// Returns the default of each that has one.
    fn defaults() -> Settings {
        let declared = Self::declared().into_iter();
        declared.filter_map(|parameter| Some((parameter.name, parameter.default?))).collect()
    }

    /// Their values.
    ///
    /// # Errors
    /// The first setting that is missing or not accepted.
    fn read(settings: &Settings) -> Result<Self>;
}

/// No parameters.
impl Parameters for () {
    fn declared() -> Vec<Parameter> {
        Vec::new()
    }

    fn read(_: &Settings) -> Result<()> {
        Ok(())
    }
}

/// Names that a parameter accepts; made by [`choice!`].
pub(crate) trait Choice: Copy + PartialEq + 'static {
    /// Every choice with its name and the lines of its meaning.
    const ALL: &'static [(Self, &'static str, &'static [&'static str])];

    /// Returns its name in experiment files.
    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(choice, ..)| *choice == self).map_or("", |(_, name, _)| name)
    }

    /// Returns the choice of this name.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known, _)| *known == name).map(|(choice, ..)| *choice)
    }
}

/// Lines of a doc comment as one text.
pub(crate) fn meaning(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    lines.join(" ")
}

/// Returns the catalogue entry of a parameter.
pub(crate) fn declare<K: Kind>(
    name: &str,
    lines: &[&str],
    default: K::Default,
    bounds: Bounds,
) -> Parameter {
    let mut about = meaning(lines);
    let names = K::meanings().into_iter();
    let names: Vec<String> =
        names.map(|(name, meaning)| format!("{name}: {}", meaning.trim_end_matches('.'))).collect();
    if !names.is_empty() {
        about = format!("{about} {}.", names.join("; "));
    }
    Parameter {
        default: K::level(default),
        unit: K::UNIT.map(Into::into),
        ..setting(name, K::accepts(bounds), Scope::Workload, about)
    }
}

/// Returns the catalogue entry of a setting without a default.
pub(crate) fn setting(name: &str, accepts: Accepts, scope: Scope, about: String) -> Parameter {
    Parameter {
        name: name.to_owned(),
        accepts,
        default: None,
        unit: None,
        about,
        scope,
        crash_relevant: false,
    }
}

/// Returns the value of a parameter.
///
/// # Errors
/// It is missing or not accepted.
pub(crate) fn read<K: Kind>(settings: &Settings, name: &str, bounds: Bounds) -> Result<K::Value> {
    let (level, accepts) = (settings.get(name), K::accepts(bounds));
    level
        .is_none_or(|level| accepts.allows(level))
        .then(|| K::value(level))
        .flatten()
        .ok_or_else(|| TrialError::setting(name, level, &accepts.to_string()))
}

/// Declares parameters: `/// Meaning.` `field [as "setting"]: Kind = default[, range];`, or `field: Group;`
/// for parameters that several workloads share.
macro_rules! parameters {
    (
        $(#[$attribute:meta])*
        struct $name:ident {$(
            $(#[doc = $about:literal])*
            $field:ident $(as $setting:literal)? : $kind:ty $(= $default:expr $(, $range:expr)?)? ;
        )*}
    ) => {
        $(#[$attribute])*
        pub(crate) struct $name {$(
            $(#[doc = $about])*
            pub(crate) $field: parameters!(@value $kind $(= $default)?),
        )*}

        impl $crate::parameters::Parameters for $name {
            fn declared() -> Vec<lab::catalogue::Parameter> {
                let mut declared = Vec::new();
                $(declared.extend(parameters!(
                    @declare (parameters!(@name $field $($setting)?)), &[$($about),*],
                    $kind $(= $default $(, $range)?)?
                ));)*
                declared
            }

            fn read(settings: &lab::level::Settings) -> Result<$name, $crate::error::TrialError> {
                Ok($name {$(
                    $field: parameters!(
                        @read settings, (parameters!(@name $field $($setting)?)),
                        $kind $(= $default $(, $range)?)?
                    )?,
                )*})
            }
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $setting:literal) => { $setting };
    (@value $group:ty) => { $group };
    (@value $kind:ty = $default:expr) => { <$kind as $crate::parameters::Kind>::Value };
    (@declare $name:expr, $about:expr, $group:ty) => {
        <$group as $crate::parameters::Parameters>::declared()
    };
    (@declare $name:expr, $about:expr, $kind:ty = $default:expr) => {
        parameters!(@declare $name, $about, $kind = $default, ..)
    };
    (@declare $name:expr, $about:expr, $kind:ty = $default:expr, $range:expr) => {
        [$crate::parameters::declare::<$kind>(
            $name, $about, $default, $crate::parameters::Bounds::of($range),
        )]
    };
    (@read $settings:expr, $name:expr, $group:ty) => {
        <$group as $crate::parameters::Parameters>::read($settings)
    };
    (@read $settings:expr, $name:expr, $kind:ty = $default:expr) => {
        parameters!(@read $settings, $name, $kind = $default, ..)
    };
    (@read $settings:expr, $name:expr, $kind:ty = $default:expr, $range:expr) => {
        $crate::parameters::read::<$kind>($settings, $name, $crate::parameters::Bounds::of($range))
    };
}

/// Declares the names that parameters accept: `/// Meaning.` `Choice = "name",`.
macro_rules! choice {
    ($(
        $(#[$attribute:meta])*
        enum $name:ident {$(
            $(#[doc = $about:literal])+
            $choice:ident = $text:literal,
        )+}
    )+) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum $name {$(
            $(#[doc = $about])+
            $choice,
        )+}

        impl $crate::parameters::Choice for $name {
            const ALL: &'static [($name, &'static str, &'static [&'static str])] =
                &[$(($name::$choice, $text, &[$($about),+])),+];
        }
    )+};
}

#[cfg(test)]
mod tests {
    use super::*;

    choice! {
        enum Colour {
            /// Like blood.
            Red = "red",
            /// Like
            /// grass.
            Green = "dark-green",
        }
    }

    parameters! {
        struct Example {
            /// Rows to insert,
            /// at most a thousand.
            rows: Rows = 100, 1..=1_000;
            /// Colour of the rows.
            kind as "type": Colour = Colour::Green;
            /// Path of a file.
            path: Option<String> = None;
            rest: Rest;
        }
    }

    parameters! {
        struct Rest {
            /// When to stop; 0: never.
            stop_after as "stop_after_ms": Limit = 0;
        }
    }

    fn settings(over: &[(&str, Level)]) -> Settings {
        let mut settings = Example::defaults();
        settings.extend(over.iter().map(|(name, level)| ((*name).to_owned(), level.clone())));
        settings
    }

    #[test]
    fn a_declaration_describes_each_parameter() {
        let declared = Example::declared();
        let texts: Vec<String> = declared
            .iter()
            .map(|p| format!("{}: {}, {:?}. {}", p.name, p.accepts, p.unit, p.about))
            .collect();
        assert_eq!(
            texts,
            [
                "rows: a whole number from 1 to 1000, Some(\"rows\"). Rows to insert, at most a thousand.",
                "type: one of red, dark-green, None. Colour of the rows. red: Like blood; dark-green: Like grass.",
                "path: text, None. Path of a file.",
                "stop_after_ms: a whole number from 0 to 1000000000, Some(\"ms\"). When to stop; 0: never.",
            ]
        );
    }

    #[test]
    fn values_are_read_by_type() {
        let read = Example::read(&settings(&[("type", "red".into())])).unwrap();
        assert_eq!((read.rows, read.kind, read.path), (100, Colour::Red, None));
        assert_eq!(read.rest.stop_after, None);
    }

    #[test]
    fn levels_that_are_not_accepted_are_named_with_what_is() {
        for (name, level, wanted) in [
            ("rows", Level::from(0), "from 1 to 1000"),
            ("type", "blue".into(), "red, dark-green"),
            ("stop_after_ms", true.into(), "a whole number"),
        ] {
            let error = Example::read(&settings(&[(name, level)])).err().unwrap();
            let error = error.to_string();
            assert!(error.contains(name) && error.contains(wanted), "{error}");
        }
        let mut without = settings(&[]);
        without.remove("rows");
        let error = Example::read(&without).err().unwrap().to_string();
        assert!(error.contains("missing"), "{error}");
    }
}
