//! The option sets: named ways to compile a version of SQLite.
//!
//! A set changes the build of the default engine and leaves everything else alone: a difference between
//! two sets can then be attributed to the set, and every workload that runs with one of them runs with
//! the other.

use crate::options::{COMPILE_OPTIONS, CompileOption};

/// A named change of how the default engine is compiled.
#[derive(Debug, PartialEq, Eq)]
pub struct OptionSet {
    /// Its name, as in `3.54.1+recommended`.
    pub name: &'static str,
    /// The set in one line.
    pub meaning: &'static str,
    /// Where it comes from, where it has a source.
    pub source: Option<&'static str>,
    /// Options that are added, or replace the default engine's value.
    pub options: &'static [CompileOption],
    /// Options of the default engine that are left out, because they do not go together with these.
    pub without: &'static [&'static str],
    /// Flags for the compiler, after the flags of the default engine.
    pub flags: &'static [&'static str],
    /// Whether it is compiled a second time with the profile of a training run.
    pub profile_guided: bool,
}

/// The set that changes nothing: `3.46.0+default` is `3.46.0`.
pub const DEFAULT: &str = "default";

/// The word that makes an engine fit for bindings of other languages.
///
/// Bindings import functions that pragmark does not use, and do not load at all where one is missing.
/// So nothing is omitted from such an engine, and it has column metadata.
pub const BINDING: &str = "binding";

/// Meaning of [`BINDING`], in one line.
pub const BINDING_MEANING: &str = "omits nothing that bindings of other languages import; \
for a shared library that Python or Ruby load instead of their own";

/// Defines options: a constant for each, its name, its value if it takes one, and its effect.
macro_rules! options {
    (@value) => { None };
    (@value $value:literal) => { Some($value) };
    ($($constant:ident = $name:literal $(= $value:literal)?, $meaning:literal;)*) => {$(
        const $constant: CompileOption = CompileOption {
            name: $name,
            value: options!(@value $($value)?),
            meaning: $meaning,
        };
    )*};
}

options! {
    NO_DQS = "SQLITE_DQS" = "0", "strings in double quotes are an error, as in the SQL standard";
    NO_THREADS = "SQLITE_THREADSAFE" = "0", "no mutexes: one thread and, in pragmark, one connection at a time";
    STAT4 = "SQLITE_ENABLE_STAT4", "ANALYZE keeps samples of the keys of each index, which the planner compares with values";
    NO_MEMSTATUS = "SQLITE_DEFAULT_MEMSTATUS" = "0", "memory in use is not counted";
    WAL_NORMAL = "SQLITE_DEFAULT_WAL_SYNCHRONOUS" = "1",
        "synchronous is NORMAL in WAL mode unless set, which a crash of the system may cost commits";
    NO_BLOB_LIKE = "SQLITE_LIKE_DOESNT_MATCH_BLOBS", "LIKE and GLOB are false for blobs";
    ANY_DEPTH = "SQLITE_MAX_EXPR_DEPTH" = "0", "the depth of expressions is not checked";
    NO_PROGRESS = "SQLITE_OMIT_PROGRESS_CALLBACK",
        "no progress handler, hence no test for one between instructions";
    NO_SHARED_CACHE = "SQLITE_OMIT_SHARED_CACHE", "no cache shared by connections, hence no tests for one";
    ALLOCA = "SQLITE_USE_ALLOCA", "short-lived memory comes from the stack";
    DESERIALIZE = "SQLITE_ENABLE_DESERIALIZE",
        "sqlite3_deserialize(), which Python imports, also before 3.36, from which on it is there unasked";
    NO_DECLTYPE = "SQLITE_OMIT_DECLTYPE", "no declared types of result columns";
    NO_DEPRECATED = "SQLITE_OMIT_DEPRECATED", "no deprecated functions";
    NO_AUTOINIT = "SQLITE_OMIT_AUTOINIT",
        "the application calls sqlite3_initialize itself, as pragmark does for every engine";
    STRICT_SUBTYPE = "SQLITE_STRICT_SUBTYPE" = "1", "functions that give subtypes must say so";
    FTS5 = "SQLITE_ENABLE_FTS5", "full-text search, version 5";
}

/// Returns a set that changes nothing yet.
const fn set(name: &'static str, meaning: &'static str) -> OptionSet {
    OptionSet {
        name,
        meaning,
        source: None,
        options: &[],
        without: &[],
        flags: &[],
        profile_guided: false,
    }
}

/// Every set but the default, in the order in which a name lists them.
pub static OPTION_SETS: &[OptionSet] = &[
    OptionSet {
        source: Some("https://sqlite.org/compile.html#recommended_compile_time_options"),
        options: &[
            NO_DQS, NO_THREADS, NO_MEMSTATUS, WAL_NORMAL, NO_BLOB_LIKE, ANY_DEPTH, NO_DECLTYPE,
            NO_DEPRECATED, NO_PROGRESS, NO_SHARED_CACHE, ALLOCA, NO_AUTOINIT, STRICT_SUBTYPE,
        ],
        // Column metadata is made of declared types; SQLite does not compile without them.
        without: &["SQLITE_ENABLE_COLUMN_METADATA"],
        ..set(
            "recommended",
            "what SQLite's documentation recommends where an application can do without",
        )
    },
    OptionSet {
        source: Some("003"),
        options: &[
            NO_DQS, NO_THREADS, NO_MEMSTATUS, WAL_NORMAL, NO_BLOB_LIKE, ANY_DEPTH, NO_PROGRESS,
            NO_SHARED_CACHE, ALLOCA, FTS5,
        ],
        ..set(
            "article",
            "what article 003 tunes ActiveRecord's SQLite with, its misspelt option corrected",
        )
    },
    OptionSet { options: &[NO_THREADS], ..set("threadsafe0", "no mutexes and nothing else") },
    OptionSet { options: &[STAT4], ..set("stat4", "ANALYZE keeps samples of each index") },
    OptionSet {
        flags: &["-O3", "-march=native"],
        ..set("native", "optimised further, and for the processor of this machine only")
    },
    OptionSet { flags: &["-flto"], ..set("lto", "optimised once more when it is linked") },
    OptionSet {
        profile_guided: true,
        ..set(
            "pgo",
            "optimised by the profile of a training run: inserts, updates, look-ups, scans, sorting, full-text search",
        )
    },
];

/// Returns the set of this name; the default has none.
pub fn find(name: &str) -> Option<&'static OptionSet> {
    OPTION_SETS.iter().find(|set| set.name == name)
}

/// Returns the options of an engine that is compiled with all of these sets, fit for bindings or not.
pub(super) fn options(sets: &[&'static OptionSet], binding: bool) -> Vec<CompileOption> {
    let mut all: Vec<CompileOption> = COMPILE_OPTIONS.to_vec();
    for set in sets {
        all.retain(|option| !set.without.contains(&option.name));
        for option in set.options {
            match all.iter_mut().find(|known| known.name == option.name) {
                Some(known) => *known = *option,
                None => all.push(*option),
            }
        }
    }
    if binding {
        all.retain(|option| !option.name.starts_with("SQLITE_OMIT_"));
        all.push(DESERIALIZE);
        for option in COMPILE_OPTIONS {
            if !all.iter().any(|known| known.name == option.name) {
                all.push(*option);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(options: &[CompileOption]) -> Vec<&str> {
        options.iter().map(|option| option.name).collect()
    }

    #[test]
    fn no_two_sets_contradict_each_other_so_that_any_may_be_joined() {
        for (index, set) in OPTION_SETS.iter().enumerate() {
            for other in &OPTION_SETS[index + 1..] {
                for option in set.options {
                    let same = other.options.iter().find(|one| one.name == option.name);
                    assert!(
                        same.is_none_or(|same| same.value == option.value),
                        "{} of {} and {}",
                        option.name,
                        set.name,
                        other.name
                    );
                    assert!(!other.without.contains(&option.name));
                }
            }
        }
    }

    #[test]
    fn no_sets_give_the_default_engine() {
        assert_eq!(options(&[], false), COMPILE_OPTIONS);
    }

    #[test]
    fn a_set_changes_what_it_names_and_nothing_else() {
        let single = options(&[find("threadsafe0").expect("a set")], false);
        let changed: Vec<_> =
            single.iter().zip(COMPILE_OPTIONS).filter(|(one, other)| one != other).collect();
        assert_eq!(single.len(), COMPILE_OPTIONS.len());
        assert_eq!(changed.len(), 1);
        assert_eq!(changed[0].0.define(), "-DSQLITE_THREADSAFE=0");
    }

    #[test]
    fn an_engine_for_bindings_omits_nothing_and_has_column_metadata() {
        let recommended = [find("recommended").expect("a set")];
        let core = options(&recommended, false);
        assert!(names(&core).contains(&"SQLITE_OMIT_DECLTYPE"));
        assert!(!names(&core).contains(&"SQLITE_ENABLE_COLUMN_METADATA"));
        let binding = options(&recommended, true);
        assert!(!names(&binding).iter().any(|name| name.contains("OMIT_")));
        for wanted in
            ["SQLITE_ENABLE_COLUMN_METADATA", "SQLITE_ENABLE_DESERIALIZE", "SQLITE_MAX_EXPR_DEPTH"]
        {
            assert!(names(&binding).contains(&wanted), "{wanted}");
        }
    }
}
