//! Building engines: each once, several at a time.

use super::cache::{Cache, Kept, Workspace};
use super::compiler::Compiler;
use super::error::{BuildError, Context, Result};
use super::fetch;
use super::name::BuildName;
use super::provenance::{self, Compiled, Provenance};
use super::recipe::{LIBRARY_FILE, Recipe, Stage, linking};
use super::release::Release;
use crate::library::{Library, Source};
use crate::locks::{locked, unlocked};
use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Exercises the library at a path, whose profile is written when the process that loaded it ends. The error
/// is the reason for a failure.
pub type Train<'a> = &'a (dyn Fn(&Path) -> Result<(), String> + Sync);

/// The time now, as RFC 3339 in UTC.
pub type Now = fn() -> String;

/// Seconds that a build takes before any was timed: SQLite on a common machine at `-O2`.
const USUAL_S: f64 = 25.0;

/// How often the source is compiled for a profile-guided build, training included, roughly.
const PROFILE_GUIDED_TIMES: f64 = 2.5;

/// Which training a profile-guided build has had; to be raised when the training changes, since a
/// library with another profile is another library.
const TRAINING: &str = "training 1";

/// An event during a build, for displays. The number is the index of the build among those requested.
#[derive(Debug)]
pub enum BuildEvent<'a> {
    /// A build begins, or waits for another process that does the same one.
    Begins(usize, &'a BuildName),
    /// A build has ended well; it is new, or was there already.
    Done(usize, &'a BuildName, &'a Built),
    /// A build has failed.
    Failed(usize, &'a BuildName, &'a BuildError),
}

/// An engine that was requested.
#[derive(Debug)]
pub struct Built {
    /// Where it is and how it was made.
    pub kept: Kept,
    /// Whether it was compiled now; otherwise it was in the cache.
    pub is_new: bool,
}

/// The programs that building needs, as commands.
#[derive(Debug, Clone)]
pub struct Tools {
    /// The C compiler, with leading words where it needs some: `ccache gcc`.
    pub compiler: String,
    /// Cargo.
    pub cargo: String,
}

impl Tools {
    /// Returns the compiler that the variable `CC` names, or else `cc`, and the cargo that `CARGO` names, or
    /// else `cargo`. Nothing is looked for until something is built.
    pub fn of_user() -> Tools {
        let variable = |name: &str, usual: &str| {
            let given = std::env::var(name).ok().filter(|text| !text.trim().is_empty());
            given.unwrap_or_else(|| usual.to_owned())
        };
        Tools { compiler: variable("CC", "cc"), cargo: variable("CARGO", "cargo") }
    }
}

/// Everything that building needs.
pub struct Builder<'a> {
    cache: &'a Cache,
    tools: Tools,
    train: Train<'a>,
    now: Now,
    cancelled: &'a AtomicBool,
    compiler: OnceLock<Compiler>,
    /// The source of each version, found once.
    sources: Mutex<HashMap<&'static str, PathBuf>>,
}

impl<'a> Builder<'a> {
    /// Returns a builder that keeps its builds in `cache`, and stops when `cancelled` becomes true.
    pub fn new(
        cache: &'a Cache,
        tools: Tools,
        train: Train<'a>,
        now: Now,
        cancelled: &'a AtomicBool,
    ) -> Builder<'a> {
        Builder {
            cache,
            tools,
            train,
            now,
            cancelled,
            compiler: OnceLock::new(),
            sources: Mutex::new(HashMap::new()),
        }
    }

    /// Builds every engine that is missing, `jobs` at a time, and returns where each is, in the order
    /// requested. One that fails does not stop the others.
    pub fn build_all(
        &self,
        names: &[BuildName],
        jobs: usize,
        observe: &(dyn Fn(BuildEvent<'_>) + Sync),
    ) -> Vec<Result<Built>> {
        let queue: Mutex<VecDeque<usize>> = Mutex::new((0..names.len()).collect());
        let done: Mutex<Vec<(usize, Result<Built>)>> = Mutex::new(Vec::new());
        // A closure of its own: in the head of the loop the lock would be held while the body runs.
        let next = || locked(&queue).pop_front();
        let work = || {
            while let Some(index) = next() {
                let name = &names[index];
                observe(BuildEvent::Begins(index, name));
                let result = self.build(name);
                match &result {
                    Ok(built) => observe(BuildEvent::Done(index, name, built)),
                    Err(error) => observe(BuildEvent::Failed(index, name, error)),
                }
                locked(&done).push((index, result));
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..jobs.clamp(1, names.len().max(1)) {
                scope.spawn(work);
            }
        });
        let mut done = unlocked(done);
        done.sort_by_key(|(index, _)| *index);
        done.into_iter().map(|(_, result)| result).collect()
    }

    /// Returns the expected seconds of a build: the median of builds with the same sets, or else the usual
    /// time.
    pub fn expected_s(&self, name: &BuildName) -> f64 {
        let mut times: Vec<f64> = self
            .cache
            .all()
            .into_iter()
            .flatten()
            .filter(|kept| same_sets(&kept.provenance.name, name))
            .filter_map(|kept| Some(kept.provenance.compiled?.seconds))
            .collect();
        times.sort_by(f64::total_cmp);
        match times.len() {
            0 if name.sets.iter().any(|set| set.profile_guided) => USUAL_S * PROFILE_GUIDED_TIMES,
            0 => USUAL_S,
            // The median, because a build on a busy machine takes many times longer.
            builds => times[builds / 2],
        }
    }

    /// Returns the complete build of this name, if there is one, without building anything: the one that the
    /// present compiler would make, or the newest if no compiler is found.
    ///
    /// # Errors
    /// Building was stopped.
    pub fn existing(&self, name: &BuildName) -> Result<Option<Kept>> {
        match self.compiler() {
            Ok(compiler) => {
                let recipe = Recipe::of(name, &compiler.supported);
                let key = key(name.release, &recipe, compiler);
                Ok(self.whole(name, &key))
            }
            Err(BuildError::Cancelled) => Err(BuildError::Cancelled),
            Err(_) => Ok(self.cache.builds(&name.to_string()).into_iter().next()),
        }
    }

    fn build(&self, name: &BuildName) -> Result<Built> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(BuildError::Cancelled);
        }
        let existing = |kept| Built { kept, is_new: false };
        if let Some(kept) = self.existing(name)? {
            return Ok(existing(kept));
        }
        let compiler = self.compiler()?;
        let recipe = Recipe::of(name, &compiler.supported);
        let key = key(name.release, &recipe, compiler);
        let workspace = self.cache.lock(&name.to_string(), &key, self.cancelled)?;
        // Another process may have built it while this one waited for its turn.
        if let Some(kept) = self.whole(name, &key) {
            return Ok(existing(kept));
        }
        let kept = self.make(name, &recipe, compiler, workspace)?;
        Ok(Built { kept, is_new: true })
    }

    /// Returns the build of this name and key, if it is there and its bytes are those that were written.
    fn whole(&self, name: &BuildName, key: &str) -> Option<Kept> {
        let kept = self.cache.build(&name.to_string(), key).ok().flatten()?;
        let bytes = fs::read(&kept.library).ok()?;
        provenance::check(&kept.library, &bytes).ok()?;
        Some(kept)
    }

    fn make(
        &self,
        name: &BuildName,
        recipe: &Recipe,
        compiler: &Compiler,
        workspace: Workspace,
    ) -> Result<Kept> {
        let clock = Instant::now();
        let source = self.source(name.release)?;
        let library = workspace.path().join(LIBRARY_FILE);
        let work = workspace.path();
        let compiling = if recipe.profile_guided {
            self.profile_guided(recipe, compiler, &source, work)?
        } else {
            let arguments = recipe.compile_and_link(&source, &library);
            compiler.compile(arguments, self.cancelled)?
        };
        let text = fs::read(&source).context("read", &source)?;
        let bytes = fs::read(&library).context("read", &library)?;
        let identity = identity(&library, name.release)?;
        workspace.keep(Provenance {
            format: provenance::FORMAT,
            name: name.to_string(),
            version: identity.0,
            source_id: identity.1,
            source: format!("{} {}", name.release.package, name.release.crate_version),
            compiled: Some(Compiled {
                source_sha256: provenance::sha256(&text),
                compiler: compiler.command(),
                compiler_version: compiler.version.clone(),
                arguments: recipe.arguments(),
                profile_guided: recipe.profile_guided,
                seconds: clock.elapsed().as_secs_f64(),
                compiler_seconds: compiling.as_secs_f64(),
            }),
            sha256: provenance::sha256(&bytes),
            bytes: bytes.len() as u64,
            created: (self.now)(),
        })
    }

    /// Compiles what writes a profile, has it trained, and compiles again to the same object file with
    /// the profile in the same directory.
    fn profile_guided(
        &self,
        recipe: &Recipe,
        compiler: &Compiler,
        source: &Path,
        work: &Path,
    ) -> Result<Duration> {
        // It keeps profiles in a form of its own.
        if compiler.version.contains("clang") {
            return Err(BuildError::ProfileNeedsGcc(compiler.version.clone()));
        }
        let object = work.join("sqlite3.o");
        let trained = work.join("trained.library");
        let run = |arguments: Vec<OsString>| compiler.compile(arguments, self.cancelled);
        let mut took = run(recipe.compile(Stage::Generate, source, &object))?;
        took += run(recipe.link(Stage::Generate, &object, &trained))?;
        (self.train)(&trained).map_err(|why| {
            if self.cancelled.load(Ordering::Relaxed) {
                BuildError::Cancelled
            } else {
                BuildError::Failed(format!("the training run failed: {why}"))
            }
        })?;
        took += run(recipe.compile(Stage::Use, source, &object))?;
        took += run(recipe.link(Stage::Use, &object, &work.join(LIBRARY_FILE)))?;
        Ok(took)
    }

    /// Returns the compiler, queried once.
    fn compiler(&self) -> Result<&Compiler> {
        if let Some(known) = self.compiler.get() {
            return Ok(known);
        }
        let work = tempfile::Builder::new()
            .prefix("pragmark-compiler-")
            .tempdir()
            .context("create a directory in", &std::env::temp_dir())?;
        let compiler = Compiler::ask(&self.tools.compiler, work.path(), self.cancelled)?;
        Ok(self.compiler.get_or_init(|| compiler))
    }

    /// Returns the source of a release, fetched through cargo once; other threads wait, as cargo would make
    /// them.
    fn source(&self, release: &'static Release) -> Result<PathBuf> {
        let mut known = locked(&self.sources);
        if let Some(source) = known.get(release.name) {
            return Ok(source.clone());
        }
        let source = fetch::source(&self.tools.cargo, release, self.cancelled)?;
        known.insert(release.name, source.clone());
        Ok(source)
    }
}

fn same_sets(kept: &str, name: &BuildName) -> bool {
    kept.parse::<BuildName>().is_ok_and(|kept| kept.sets_text() == name.sets_text())
}

/// Returns a hash of all that decides what comes out of a build.
fn key(release: &Release, recipe: &Recipe, compiler: &Compiler) -> String {
    /// Enough digits that two builds of one name never share them.
    const DIGITS: usize = 16;
    let parts = decisive(release, recipe, compiler).join("\n");
    provenance::sha256(parts.as_bytes())[..DIGITS].to_owned()
}

/// All that decides what comes out of a build.
fn decisive(release: &Release, recipe: &Recipe, compiler: &Compiler) -> [String; 8] {
    let training = if recipe.profile_guided { TRAINING } else { "" };
    [
        format!("{}{}", release.package, release.crate_version),
        compiler.command(),
        compiler.version.clone(),
        compiler.target.clone(),
        recipe.arguments().join(" "),
        linking().join(" "),
        training.to_owned(),
        recipe.is_for_this_processor().then(processor).unwrap_or_default(),
    ]
}

/// Returns the features of this machine's processor, which decide what `-march=native` means; empty if the
/// system does not list them.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("flags") || line.starts_with("Features"));
    line.unwrap_or_default().to_owned()
}

/// Returns version and source id of the compiled library, loaded as trials load it.
fn identity(library: &Path, release: &'static Release) -> Result<(String, String)> {
    let loaded = Library::load(&Source::Path(library.to_owned()))?;
    let identity = loaded.identity();
    if identity.version != release.version {
        return Err(fetch::other_version(release, &identity.version));
    }
    Ok((identity.version.clone(), identity.source_id.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts_of(name: &str) -> [String; 8] {
        let name: BuildName = name.parse().unwrap();
        let recipe = Recipe::of(&name, &[]);
        decisive(name.release, &recipe, &Compiler::made_up())
    }

    #[test]
    fn how_a_library_is_linked_decides_what_comes_out() {
        let parts = parts_of("3.46.0");
        let linking = linking().join(" ");
        assert!(linking.contains("-shared") || cfg!(target_os = "macos"));
        assert!(parts.contains(&linking), "{parts:?}");
    }

    #[test]
    fn the_training_decides_what_comes_out_of_a_profile_guided_build_and_of_no_other() {
        assert!(parts_of("3.46.0+pgo").contains(&TRAINING.to_owned()));
        assert!(!parts_of("3.46.0+lto").contains(&TRAINING.to_owned()));
    }
}
