//! From the name of a build to the commands that make it. Pure, so that tests can check the commands without
//! compiling.

use super::name::BuildName;
use super::sets;
use crate::options::{COMMON_FLAGS, CompileOption, OPTIMISATION, link_arguments};
use std::ffi::OsString;
use std::path::Path;

/// The name of the library in its directory, under which the dynamic loader looks for SQLite: the
/// directory can be put in front of the system's by `LD_LIBRARY_PATH`.
pub const LIBRARY_FILE: &str =
    if cfg!(target_os = "macos") { "libsqlite3.dylib" } else { "libsqlite3.so.0" };

/// How one engine is compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// The options, each once.
    pub options: Vec<CompileOption>,
    /// The other flags of the compiler.
    pub flags: Vec<&'static str>,
    /// The libraries that it needs, as arguments of the linker.
    pub libraries: &'static [&'static str],
    /// Whether it is compiled twice, the second time with a profile.
    pub profile_guided: bool,
}

/// The part that profiles play in a compilation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// None.
    Plain,
    /// The compiled library writes a profile.
    Generate,
    /// The library is optimised by a profile. A missing profile is an error, because a build without one
    /// would pass for a build with it. The flag `-w` would silence that error, too.
    Use,
}

impl Stage {
    fn flags(self) -> &'static [&'static str] {
        match self {
            Stage::Plain => &[],
            Stage::Generate => &["-fprofile-generate"],
            Stage::Use => &["-fprofile-use", "-Werror=missing-profile"],
        }
    }
}

impl Recipe {
    /// Returns the recipe of a build; `supported` are those flags of
    /// [`WHERE_SUPPORTED`](crate::options::WHERE_SUPPORTED) that the compiler knows.
    pub fn of(name: &BuildName, supported: &[&'static str]) -> Recipe {
        let own = name.sets.iter().flat_map(|set| set.flags.iter().copied());
        let flags = [OPTIMISATION]
            .into_iter()
            .chain(COMMON_FLAGS.iter().copied())
            .chain(supported.iter().copied())
            .chain(own);
        Recipe {
            options: [sets::options(&name.sets, name.binding), name.release.options.to_vec()]
                .concat(),
            flags: flags.collect(),
            libraries: name.release.libraries,
            profile_guided: name.sets.iter().any(|set| set.profile_guided),
        }
    }

    /// Flags and options as the compiler gets them.
    pub fn arguments(&self) -> Vec<String> {
        let flags = self.flags.iter().map(|flag| (*flag).to_owned());
        flags.chain(self.options.iter().map(CompileOption::define)).collect()
    }

    /// Returns whether the library is fit for the processor of this machine only.
    pub fn is_for_this_processor(&self) -> bool {
        self.flags.contains(&"-march=native")
    }

    /// Returns the arguments that compile the source and link the library at once.
    pub(super) fn compile_and_link(&self, source: &Path, library: &Path) -> Vec<OsString> {
        let mut all = self.compile_arguments(Stage::Plain);
        all.push(source.into());
        all.extend(self.linked(library));
        all
    }

    /// Returns the arguments that compile the source to an object file. Both stages of a profile-guided build
    /// must name the same object file: the compiler looks for the profile in its directory.
    pub(super) fn compile(&self, stage: Stage, source: &Path, object: &Path) -> Vec<OsString> {
        let mut all = self.compile_arguments(stage);
        all.extend(["-c".into(), source.into(), "-o".into(), object.into()]);
        all
    }

    /// Returns the arguments that link an object file.
    pub(super) fn link(&self, stage: Stage, object: &Path, library: &Path) -> Vec<OsString> {
        let mut all: Vec<OsString> = self.flags.iter().map(OsString::from).collect();
        if stage == Stage::Generate {
            all.extend(stage.flags().iter().map(OsString::from));
        }
        all.push(object.into());
        all.extend(self.linked(library));
        all
    }

    fn linked(&self, library: &Path) -> impl Iterator<Item = OsString> {
        let output: [OsString; 2] = ["-o".into(), library.into()];
        let libraries = self.libraries.iter().map(OsString::from);
        output.into_iter().chain(linking().into_iter().map(OsString::from)).chain(libraries)
    }

    fn compile_arguments(&self, stage: Stage) -> Vec<OsString> {
        let stage = stage.flags().iter().map(|flag| (*flag).to_owned());
        self.arguments().into_iter().chain(stage).map(OsString::from).collect()
    }
}

/// Returns the arguments that make a shared library, the same for every recipe.
pub(super) fn linking() -> Vec<String> {
    let system = std::env::consts::OS;
    let mut all: Vec<String> = link_arguments(system).iter().map(|&word| word.to_owned()).collect();
    if system != "macos" {
        // The dynamic loader then takes a preloaded library for the one that programs request.
        all.push(format!("-Wl,-soname,{LIBRARY_FILE}"));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::str::FromStr;

    fn recipe(name: &str) -> Recipe {
        Recipe::of(&BuildName::from_str(name).expect(name), &["-fno-plt"])
    }

    fn text(arguments: Vec<OsString>) -> String {
        let words: Vec<String> =
            arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        words.join(" ")
    }

    #[test]
    fn flags_of_sets_come_after_those_of_the_default_engine_and_so_win() {
        let flags = recipe("3.46.0+native").flags;
        let position = |flag: &str| flags.iter().position(|known| *known == flag);
        assert!(position("-O3") > position("-O2") && position("-O2").is_some());
        assert!(recipe("3.46.0+native").is_for_this_processor());
        assert!(!recipe("3.46.0+lto").is_for_this_processor());
    }

    #[test]
    fn every_library_binds_its_own_functions_to_itself() {
        if cfg!(target_os = "linux") {
            let command =
                recipe("3.46.0").compile_and_link(Path::new("sqlite3.c"), Path::new("lib.so"));
            let command = text(command);
            assert!(command.contains("-Wl,-Bsymbolic -s"), "{command}");
            assert!(command.contains("-DSQLITE_ENABLE_CARRAY"), "{command}");
        }
    }

    #[test]
    fn both_stages_of_a_profile_guided_build_compile_to_the_object_file_they_are_given() {
        let recipe = recipe("3.46.0+pgo");
        assert!(recipe.profile_guided);
        let (source, object) = (Path::new("sqlite3.c"), Path::new("work/sqlite3.o"));
        let generate = text(recipe.compile(Stage::Generate, source, object));
        let using = text(recipe.compile(Stage::Use, source, object));
        assert!(generate.contains("-fprofile-generate -c"), "{generate}");
        assert!(using.contains("-Werror=missing-profile"), "{using}");
        for command in [generate, using] {
            assert!(command.ends_with("-o work/sqlite3.o"), "{command}");
        }
    }

    #[test]
    fn only_the_library_that_is_trained_is_linked_with_what_writes_profiles() {
        let recipe = recipe("3.46.0+pgo");
        let link = |stage| text(recipe.link(stage, Path::new("a.o"), Path::new("lib.so")));
        assert!(link(Stage::Generate).contains("-fprofile-generate"));
        assert!(!link(Stage::Use).contains("profile"));
    }
}
