//! The names of engines, as users write them.

use super::error::{BuildError, Result};
use super::release::{self, RELEASES, Release};
use super::sets::{self, BINDING, DEFAULT, OptionSet};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Joins the parts of a name.
const PLUS: char = '+';

/// Which engine is meant, before anything is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineName {
    /// `default`: the one built into pragmark.
    Embedded,
    /// `system`: the one that programs of this system get when they link SQLite.
    System,
    /// A version or fork, with option sets where they follow: `3.46.0`, `3.54.1+recommended+pgo`, `sqlcipher+lto`;
    /// `default+SET` is the version built into pragmark, compiled anew with the set.
    Build(BuildName),
    /// An engine added under this name.
    Added(String),
    /// A shared library by its path, which contains a slash or a full stop.
    File(PathBuf),
}

impl FromStr for EngineName {
    type Err = BuildError;

    fn from_str(text: &str) -> Result<EngineName> {
        let (base, sets) = match text.split_once(PLUS) {
            Some((base, sets)) => (base, Some(sets)),
            None => (text, None),
        };
        match (base, sets) {
            ("", _) => Err(BuildError::EmptyName),
            ("default", None) => Ok(EngineName::Embedded),
            ("default", Some(sets)) => BuildName::new(&RELEASES[0], sets).map(EngineName::Build),
            ("system", None) => Ok(EngineName::System),
            ("system", Some(sets)) => {
                let version = RELEASES[0].version;
                Err(BuildError::CompiledAlready(format!(
                    "the engine `{base}` is already compiled, so the options `{sets}` cannot be applied; combine them with a version, as in {version}+{sets}"
                )))
            }
            _ if text.contains('/') => Ok(EngineName::File(text.into())),
            _ if is_version(base) || release::find(base).is_some() => {
                text.parse().map(EngineName::Build)
            }
            _ if is_for_adding(text) => Ok(EngineName::Added(text.to_owned())),
            _ => Ok(EngineName::File(text.into())),
        }
    }
}

impl fmt::Display for EngineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineName::Embedded => f.write_str("default"),
            EngineName::System => f.write_str("system"),
            EngineName::Build(name) => name.fmt(f),
            EngineName::Added(name) => f.write_str(name),
            EngineName::File(path) => path.display().fmt(f),
        }
    }
}

/// Returns whether the text consists of digits and full stops, so that it means a version.
fn is_version(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Returns whether an engine may be added under this name: lower-case letters, digits and hyphens, a letter
/// first, and no name that means another engine.
pub fn is_for_adding(name: &str) -> bool {
    let taken = ["default", "system"].contains(&name) || release::find(name).is_some();
    let letters = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    !taken && letters && name.starts_with(|c: char| c.is_ascii_lowercase())
}

/// A version of SQLite with the option sets it is compiled with: the name of a build.
///
/// Its text is the same however it was written: sets in the order of
/// [`OPTION_SETS`](super::OPTION_SETS), each once, `default` left out, `binding` last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BuildName {
    /// The version and where its source comes from.
    pub release: &'static Release,
    /// The option sets, without the default.
    pub sets: Vec<&'static OptionSet>,
    /// Whether it is fit for bindings of other languages.
    pub binding: bool,
}

impl BuildName {
    fn new(release: &'static Release, sets: &str) -> Result<BuildName> {
        let mut name = BuildName { release, sets: Vec::new(), binding: false };
        for word in sets.split(PLUS) {
            match word {
                DEFAULT => {}
                BINDING => name.binding = true,
                other => name.sets.push(
                    sets::find(other).ok_or_else(|| BuildError::UnknownSet(other.to_owned()))?,
                ),
            }
        }
        let position =
            |set: &&OptionSet| sets::OPTION_SETS.iter().position(|known| known.name == set.name);
        name.sets.sort_by_key(position);
        name.sets.dedup();
        Ok(name)
    }

    /// Returns the sets as the name writes them: `recommended+pgo`, or `default` if there are none.
    pub fn sets_text(&self) -> String {
        let binding = self.binding.then_some(BINDING);
        let words: Vec<&str> = self.sets.iter().map(|set| set.name).chain(binding).collect();
        match words[..] {
            [] => DEFAULT.to_owned(),
            _ => words.join("+"),
        }
    }
}

impl FromStr for BuildName {
    type Err = BuildError;

    fn from_str(text: &str) -> Result<BuildName> {
        let (version, sets) = text.split_once(PLUS).unwrap_or((text, DEFAULT));
        let release =
            release::find(version).ok_or_else(|| BuildError::UnknownVersion(version.to_owned()))?;
        BuildName::new(release, sets)
    }
}

impl fmt::Display for BuildName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.release.name)?;
        match self.sets_text() {
            sets if sets == DEFAULT => Ok(()),
            sets => write!(f, "{PLUS}{sets}"),
        }
    }
}

impl TryFrom<String> for BuildName {
    type Error = BuildError;

    fn try_from(text: String) -> Result<BuildName> {
        text.parse()
    }
}

impl From<BuildName> for String {
    fn from(name: BuildName) -> String {
        name.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> EngineName {
        text.parse().expect(text)
    }

    #[test]
    fn names_say_which_kind_of_engine_is_meant() {
        assert_eq!(parse("default"), EngineName::Embedded);
        assert_eq!(parse("system"), EngineName::System);
        assert_eq!(parse("./default"), EngineName::File("./default".into()));
        assert_eq!(parse("my.so"), EngineName::File("my.so".into()));
        assert_eq!(parse("my-own-2"), EngineName::Added("my-own-2".to_owned()));
        assert!(matches!(parse("3.46.0"), EngineName::Build(_)));
        assert!(matches!(parse("libs/3.46.0+lto"), EngineName::File(_)));
    }

    #[test]
    fn one_build_has_one_name_however_it_is_written() {
        for (written, name) in [
            ("3.46.0+default", "3.46.0"),
            ("3.46.0+pgo+recommended", "3.46.0+recommended+pgo"),
            ("3.46.0+binding+lto+lto", "3.46.0+lto+binding"),
            ("default+lto", "3.54.1+lto"),
        ] {
            assert_eq!(parse(written).to_string(), name);
            assert_eq!(parse(name).to_string(), name);
        }
    }

    #[test]
    fn what_cannot_be_built_is_named_with_what_can() {
        let error = |text: &str| text.parse::<EngineName>().expect_err(text).to_string();
        assert!(error("3.46.1").contains("3.46.1") && error("3.46.1").contains("3.46.0"));
        assert!(error("3.46.0+recomended").contains("recomended"));
        assert!(error("3.46.0+recomended").contains("threadsafe0"));
        assert!(error("3.46.0+").contains("``"));
        assert!(error("system+lto").contains("system"));
        assert!(error("").contains("empty"));
    }

    #[test]
    fn names_that_mean_something_else_cannot_be_given_to_an_added_engine() {
        for bad in ["default", "system", "3.46.0", "a/b", "My", "", "a b", "-x"] {
            assert!(!is_for_adding(bad), "{bad}");
        }
        assert!(is_for_adding("concurrent-2"));
    }
}
