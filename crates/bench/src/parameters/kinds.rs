//! The kinds of parameters: what each accepts, its unit, and the Rust type that a workload gets.

use std::num::NonZeroUsize;
use std::time::Duration;

use lab::catalogue::{Accepts, Contents};
use lab::level::Level;

use super::{Bounds, Choice, Kind, meaning};

/// Kinds that are written as whole numbers: unit, largest value of all, type and conversion. The largest
/// value is beyond what any machine can measure, and far below what arithmetic on it could overflow.
macro_rules! whole_numbers {
    ($($name:ident, $unit:expr, $most:expr => $value:ty = $convert:expr;)*) => {$(
        impl Kind for $name {
            type Value = $value;
            type Default = i64;
            const UNIT: Option<&'static str> = $unit;

            fn accepts(bounds: Bounds) -> Accepts {
                Accepts::Int { min: bounds.min, max: bounds.max.min($most) }
            }

            fn level(default: i64) -> Option<Level> {
                Some(default.into())
            }

            fn value(level: Option<&Level>) -> Option<$value> {
                let convert: fn(i64) -> Option<$value> = $convert;
                convert(level?.as_int()?)
            }
        }
    )*};
}

/// A number of rows.
pub(crate) enum Rows {}

/// A number of rows; 0 for all.
pub(crate) enum RowsOrAll {}

/// A number of bytes.
pub(crate) enum Bytes {}

/// A percentage.
pub(crate) enum Percent {}

/// A time in milliseconds.
pub(crate) enum Millis {}

/// A time in microseconds.
pub(crate) enum Micros {}

/// A limit in milliseconds; 0 for none.
pub(crate) enum Limit {}

fn count(value: i64) -> Option<usize> {
    usize::try_from(value).ok()
}

fn millis(value: i64) -> Option<Duration> {
    Some(Duration::from_millis(u64::try_from(value).ok()?))
}

/// The most rows, bytes, and microseconds.
const TRILLION: i64 = 1_000_000_000_000;

/// The most of anything else, and the most milliseconds: eleven days.
const BILLION: i64 = 1_000_000_000;

whole_numbers! {
    usize, None, BILLION => usize = count;
    u32, None, BILLION => u32 = |value| u32::try_from(value).ok();
    Rows, Some("rows"), TRILLION => usize = count;
    RowsOrAll, Some("rows"), TRILLION => Option<NonZeroUsize> = |value| count(value).map(NonZeroUsize::new);
    Bytes, Some("bytes"), TRILLION => usize = count;
    Percent, Some("%"), 1_000 => usize = count;
    Millis, Some("ms"), BILLION => Duration = millis;
    Micros, Some("µs"), TRILLION => Duration = |value| Some(Duration::from_micros(u64::try_from(value).ok()?));
    Limit, Some("ms"), BILLION => Option<Duration> = |value| millis(value).map(|time| (!time.is_zero()).then_some(time));
}

impl Kind for bool {
    type Value = bool;
    type Default = bool;

    fn accepts(_: Bounds) -> Accepts {
        Accepts::Bool
    }

    fn level(default: bool) -> Option<Level> {
        Some(default.into())
    }

    fn value(level: Option<&Level>) -> Option<bool> {
        level?.as_bool()
    }
}

/// Kinds that are written as texts: name and contents.
macro_rules! texts {
    ($($name:ident = $contents:expr;)*) => {$(
        impl Kind for $name {
            type Value = String;
            type Default = &'static str;

            fn accepts(_: Bounds) -> Accepts {
                Accepts::Text($contents)
            }

            fn level(default: &'static str) -> Option<Level> {
                Some(default.into())
            }

            fn value(level: Option<&Level>) -> Option<String> {
                Some(level?.as_text()?.to_owned())
            }
        }
    )*};
}

/// SQL, or a full-text expression.
pub(crate) enum SqlText {}

/// Path of a file with data or SQL.
pub(crate) enum FilePath {}

/// Paths of files with SQL, each with its weight.
pub(crate) enum WeightedFilePaths {}

/// Path of a database; beside the setting `trace`, the name of a database in the trace.
pub(crate) enum DatabasePath {}

/// Path of an extension that SQLite loads.
pub(crate) enum ExtensionPath {}

texts! {
    String = Contents::Plain;
    SqlText = Contents::Sql;
    FilePath = Contents::File;
    WeightedFilePaths = Contents::WeightedFiles;
    DatabasePath = Contents::Database;
    ExtensionPath = Contents::Extension;
}

/// A parameter that may be left out.
impl<K: Kind> Kind for Option<K> {
    type Value = Option<K::Value>;
    type Default = Option<K::Default>;
    const UNIT: Option<&'static str> = K::UNIT;

    fn accepts(bounds: Bounds) -> Accepts {
        K::accepts(bounds)
    }

    fn level(default: Option<K::Default>) -> Option<Level> {
        K::level(default?)
    }

    fn value(level: Option<&Level>) -> Option<Option<K::Value>> {
        match level {
            None => Some(None),
            level => K::value(level).map(Some),
        }
    }

    fn meanings() -> Vec<(&'static str, String)> {
        K::meanings()
    }
}

impl<C: Choice> Kind for C {
    type Value = C;
    type Default = C;

    fn accepts(_: Bounds) -> Accepts {
        Accepts::Choice(C::ALL.iter().map(|(_, name, _)| (*name).to_owned()).collect())
    }

    fn level(default: C) -> Option<Level> {
        Some(default.name().into())
    }

    fn value(level: Option<&Level>) -> Option<C> {
        C::named(level?.as_text()?)
    }

    fn meanings() -> Vec<(&'static str, String)> {
        C::ALL.iter().map(|(_, name, lines)| (*name, meaning(lines))).collect()
    }
}
