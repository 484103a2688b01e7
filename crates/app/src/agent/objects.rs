//! The files of runs on this machine: fetched, kept within a limit, and code only from whom it is accepted.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fleet::{Content, Object, ObjectCache, RunCard, Server, Trusted};
use lab::catalogue::Catalogue;
use lab::fleet::with_paths;
use lab::level::Settings;

use crate::error::{Error, Result};
use crate::fleet::objects::target;

/// From whom code is accepted.
pub(super) struct Acceptance {
    /// Whether from everybody.
    pub(super) all: bool,
    /// Who signs what is accepted otherwise.
    pub(super) trusted: Vec<Trusted>,
}

impl Acceptance {
    /// Whether an object may be used here.
    fn accepts(&self, object: &Object) -> bool {
        !object.is_code() || self.all || self.trusted.iter().any(|key| object.is_signed_by(key))
    }
}

/// The files of all runs in which the agent takes part.
pub(super) struct Objects<'a> {
    server: &'a Server,
    cache: ObjectCache,
    /// Where drivers that were sent are put together.
    drivers: PathBuf,
    /// The hashes that each run needs.
    needed: HashMap<String, HashSet<String>>,
}

/// The files of a run, on this machine.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    /// Data and extensions, by the path in the plan.
    files: HashMap<String, PathBuf>,
    /// Engines, by their names in the plan.
    pub(super) engines: HashMap<String, PathBuf>,
    /// The directory with the drivers that were sent; `None` if none was.
    pub(super) drivers: Option<PathBuf>,
    /// Code that is not accepted here, by its names in the plan.
    pub(super) refused: HashSet<String>,
    /// For which kind of machine code is that cannot be loaded here, by its names in the plan.
    pub(super) foreign: HashMap<String, String>,
}

impl<'a> Objects<'a> {
    /// Kept below a directory of this agent alone, with so many bytes at most. Drivers that it has left there when it was
    /// stopped are removed.
    pub(super) fn below(root: &Path, limit: u64, server: &'a Server) -> Result<Self> {
        let drivers = root.join("drivers");
        match fs::remove_dir_all(&drivers) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                let drivers = drivers.display();
                return Err(Error::unusable(format!("cannot remove {drivers}: {error}")));
            }
            _ => {}
        }
        Ok(Objects {
            server,
            cache: ObjectCache::at(root.join("objects"), limit),
            drivers,
            needed: HashMap::new(),
        })
    }

    /// Fetches what a run needs and may be used here.
    pub(super) fn fetch(&mut self, card: &RunCard, acceptance: &Acceptance) -> Result<Fetched> {
        let (usable, refused): (Vec<&Object>, Vec<&Object>) =
            card.objects.iter().partition(|object| acceptance.accepts(object));
        let (usable, foreign): (Vec<&Object>, Vec<&Object>) =
            usable.into_iter().partition(|object| is_for_here(object));
        let hashes = usable.iter().map(|object| object.sha256.clone()).collect();
        self.needed.insert(card.run.clone(), hashes);
        let mut fetched = Fetched {
            refused: refused.iter().map(|object| object.name.clone()).collect(),
            foreign: foreign.into_iter().filter_map(with_target).collect(),
            ..Fetched::default()
        };
        for object in usable {
            self.add(&card.run, object, &mut fetched)?;
        }
        Ok(fetched)
    }

    fn add(&self, run: &str, object: &Object, fetched: &mut Fetched) -> Result<()> {
        let needed = self.needed.values().flatten().cloned().collect();
        let fetch = |path: &Path| self.server.get_object(object, path);
        let path = self.cache.file(object, &needed, fetch)?;
        match object.content {
            Content::Data | Content::Extension { .. } => {
                fetched.files.insert(object.name.clone(), path);
            }
            Content::Engine { .. } => {
                fetched.engines.insert(object.name.clone(), path);
            }
            Content::Driver { is_program } => {
                let all = self.drivers.join(run);
                let own = all.join(&object.name).join(object.path()?);
                copy(&path, &own, is_program)?;
                fetched.drivers = Some(all);
            }
        }
        Ok(())
    }

    /// Forgets a run, whose files may give way to others then.
    pub(super) fn forget(&mut self, run: &str) {
        if self.needed.remove(run).is_some() {
            // What cannot be removed now is as large as the drivers of one run.
            let _ = fs::remove_dir_all(self.drivers.join(run));
        }
    }
}

/// Whether an object can be used on this kind of machine.
fn is_for_here(object: &Object) -> bool {
    with_target(object).is_none_or(|(_, of)| of == target())
}

/// The name of a library, and for which kind of machine it is; none for what can be used everywhere.
fn with_target(object: &Object) -> Option<(String, String)> {
    match &object.content {
        Content::Engine { target: of } | Content::Extension { target: of } => {
            Some((object.name.clone(), of.clone()))
        }
        Content::Data | Content::Driver { .. } => None,
    }
}

fn copy(from: &Path, to: &Path, is_program: bool) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = if is_program { 0o700 } else { 0o600 };
    let folder = to.parent().unwrap_or(to);
    let copied = fs::create_dir_all(folder)
        .and_then(|()| fs::copy(from, to))
        .and_then(|_| fs::set_permissions(to, fs::Permissions::from_mode(mode)));
    copied.map_err(|error| Error::writing(to, error))
}

impl Fetched {
    /// Settings of a workload with the paths that their files have here.
    ///
    /// # Errors
    /// A file is not here.
    pub(super) fn settings_here(
        &self,
        catalogue: &Catalogue,
        workload: &str,
        settings: &Settings,
    ) -> Result<Settings> {
        let here = |path: &str| Some(self.files.get(path)?.display().to_string());
        with_paths(catalogue, workload, settings, here).map_err(|path| self.missing(&path))
    }

    /// Why a file or library of the run is not here.
    pub(super) fn missing(&self, name: &str) -> Error {
        if self.refused.contains(name) {
            return not_accepted(name);
        }
        match self.foreign.get(name) {
            Some(of) => Error::unusable(format!(
                "the library {name} is for {of}, and this machine is {}",
                target()
            )),
            None => Error::unusable(format!("the run did not send the file {name}")),
        }
    }
}

/// Code that was sent, from nobody who may.
pub(super) fn not_accepted(name: &str) -> Error {
    Error::unusable(format!(
        "the run sends the code {name}, and nobody whom this agent trusts has signed it"
    ))
    .hint(
        "an agent accepts code signed by a key that --trust names, or any code with --accept-code",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_for_another_kind_of_machine_is_named_with_both_kinds() {
        let of = |target: &str| Object {
            name: "/opt/words.so".to_owned(),
            file: "words.so".to_owned(),
            sha256: "0a".repeat(32),
            bytes: 1,
            content: Content::Extension { target: target.to_owned() },
            signature: None,
        };
        assert!(is_for_here(&of(&target())) && !is_for_here(&of("riscv64-linux-gnu")));
        let fetched = Fetched {
            foreign: with_target(&of("riscv64-linux-gnu")).into_iter().collect(),
            ..Fetched::default()
        };
        let settings = Settings::from([("extension".to_owned(), "/opt/words.so".into())]);
        let failure =
            fetched.settings_here(&bench::catalogue(), "fts-insert", &settings).unwrap_err();
        let both = format!("is for riscv64-linux-gnu, and this machine is {}", target());
        assert!(failure.words().contains(&both), "{}", failure.words());
    }
}
