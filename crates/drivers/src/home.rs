//! Homes: where the sources of a driver are unpacked and what it needs is installed.
//!
//! A home is made under another name and renamed when it is complete, so that a cache never holds
//! half of one. Its name holds a hash of the sources, so that a newer pragmark installs anew.

use std::fs;
use std::hash::Hasher;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use engine::build::Cache;
use twox_hash::XxHash3_64;

use crate::command::{self, fill};
use crate::error::{Context, DriverError, Result, entries};
use crate::manifest::Manifest;

/// How long one command of an installation may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(900);

/// The beginning of the name of a home that is being made.
const UNFINISHED: &str = "unfinished-";

/// Age from which on a home that is still unfinished belongs to a pragmark that was killed.
const ABANDONED: Duration = Duration::from_secs(3_600);

/// The directory of homes, or why it is missing, which matters only once a driver is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home(Result<PathBuf, String>);

impl Home {
    /// In the user's cache, next to the engines that were built.
    pub fn of_user() -> Home {
        match Cache::of_user() {
            Ok(cache) => Home::below(cache.root()),
            Err(error) => Home(Err(error.to_string())),
        }
    }

    /// Below this cache.
    pub fn below(cache: &Path) -> Home {
        Home(Ok(cache.join("drivers")))
    }

    fn root(&self) -> Result<&Path> {
        match &self.0 {
            Ok(root) => Ok(root),
            Err(why) => Err(DriverError::Failed(format!(
                "there is no directory for installed drivers: {why}"
            ))),
        }
    }

    /// Returns the directory of a driver, whether or not it is there.
    ///
    /// # Errors
    /// When its sources cannot be read.
    pub(crate) fn of(&self, manifest: &Manifest) -> Result<PathBuf> {
        let mut hash = XxHash3_64::new();
        for (path, bytes) in manifest.source.files()? {
            hash.write(path.as_os_str().as_encoded_bytes());
            hash.write(&(bytes.len() as u64).to_le_bytes());
            hash.write(&bytes);
        }
        let name = format!("{}-{:016x}", manifest.name, hash.finish());
        Ok(self.root()?.join(name))
    }

    /// Unpacks and installs a driver, unless that has been done; returns its directory.
    ///
    /// # Errors
    /// When the cache cannot be written, or a command of the installation fails or is cancelled;
    /// nothing is left of it then.
    pub(crate) fn install(&self, manifest: &Manifest, cancelled: &AtomicBool) -> Result<PathBuf> {
        let (all, home) = (self.root()?, self.of(manifest)?);
        if home.is_dir() {
            return Ok(home);
        }
        fs::create_dir_all(all).context("create", all)?;
        // Removes what a killed installation left.
        for home in self.entries()? {
            let name = home.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(UNFINISHED) && is_abandoned(&home) {
                fs::remove_dir_all(&home).context("remove", &home)?;
            }
        }
        let unfinished = tempfile::Builder::new()
            .prefix(&format!("{UNFINISHED}{}-", manifest.name))
            .tempdir_in(all)
            .context("write to", all)?;
        unpack(manifest, unfinished.path())?;
        for command in &manifest.install {
            carry_out(manifest, command, unfinished.path(), cancelled)?;
        }
        match fs::rename(unfinished.path(), &home) {
            // Another pragmark was quicker: its home is as good.
            Err(_) if home.is_dir() => {}
            renamed => renamed.context("create", &home)?,
        }
        Ok(home)
    }

    /// Removes the home of a driver for this state of its sources, if it exists.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub(crate) fn discard(&self, manifest: &Manifest) -> Result<()> {
        let home = self.of(manifest)?;
        match fs::remove_dir_all(&home) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.context("remove", &home),
        }
    }

    /// Removes every home of a driver; returns whether there was one.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, manifest: &Manifest) -> Result<bool> {
        let mut found = false;
        for home in self.entries()? {
            let name = home.file_name().unwrap_or_default().to_string_lossy();
            let hash = name.strip_prefix(&format!("{}-", manifest.name));
            if hash.is_some_and(is_hash) {
                fs::remove_dir_all(&home).context("remove", &home)?;
                found = true;
            }
        }
        Ok(found)
    }

    fn entries(&self) -> Result<Vec<PathBuf>> {
        let all = self.root()?;
        if !all.is_dir() {
            return Ok(Vec::new());
        }
        entries(all).context("read", all)
    }
}

fn is_hash(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_abandoned(home: &Path) -> bool {
    let changed = home.metadata().and_then(|metadata| metadata.modified());
    changed.is_ok_and(|changed| {
        SystemTime::now().duration_since(changed).is_ok_and(|age| age > ABANDONED)
    })
}

fn unpack(manifest: &Manifest, home: &Path) -> Result<()> {
    for (path, bytes) in manifest.source.files()? {
        let path = home.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).context("create", folder)?;
        }
        fs::write(&path, bytes).context("write", &path)?;
    }
    Ok(())
}

/// Returns a command of a manifest with the home and the folder filled in.
pub(crate) fn filled(manifest: &Manifest, command: &[String], home: &Path) -> Result<Command> {
    let folder = manifest.folder().unwrap_or(home);
    fill(command, home, folder).map_err(|program| DriverError::NoProgram {
        driver: manifest.name.clone(),
        program,
        needs: manifest.needs.clone(),
    })
}

fn carry_out(
    manifest: &Manifest,
    command: &[String],
    home: &Path,
    cancelled: &AtomicBool,
) -> Result<()> {
    let mut program = filled(manifest, command, home)?;
    let finished = command::run(&mut program, home, COMMAND_LIMIT, cancelled)?;
    if finished.end.is_success() {
        Ok(())
    } else {
        Err(DriverError::Failed(format!(
            "cannot install the driver {}: `{}` {}: {}; the driver needs {}",
            manifest.name,
            command.join(" "),
            finished.end,
            finished.messages(),
            manifest.needs
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Library;
    use crate::manifest::Source;

    static NEVER: AtomicBool = AtomicBool::new(false);

    fn manifest(folder: &Path, install: &str) -> Manifest {
        fs::write(folder.join("driver.py"), "print('hello')").unwrap();
        Manifest {
            name: "made-up".to_owned(),
            about: String::new(),
            needs: "install a shell".to_owned(),
            tools: Vec::new(),
            library: Library::Loaded,
            workloads: Vec::new(),
            install: vec![["sh", "-c", install].map(str::to_owned).to_vec()],
            run: vec!["sh".to_owned()],
            source: Source::Folder(folder.to_owned()),
            named_at: (String::new(), 0),
        }
    }

    #[test]
    fn a_driver_is_installed_once_for_each_state_of_its_sources() {
        let (cache, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let home = Home::below(cache.path());
        let manifest = manifest(folder.path(), "echo made >> made");
        let place = home.install(&manifest, &NEVER).unwrap();
        assert_eq!(home.install(&manifest, &NEVER).unwrap(), place);
        assert_eq!(fs::read_to_string(place.join("made")).unwrap(), "made\n");
        assert!(place.join("driver.py").is_file());

        fs::write(folder.path().join("driver.py"), "print('other')").unwrap();
        assert_ne!(home.of(&manifest).unwrap(), place);
        home.install(&manifest, &NEVER).unwrap();
        assert!(home.remove(&manifest).unwrap());
        assert!(!home.remove(&manifest).unwrap());
        assert_eq!(fs::read_dir(home.root().unwrap()).unwrap().count(), 0);
    }

    #[test]
    fn an_installation_that_fails_says_why_and_leaves_nothing() {
        let (cache, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let home = Home::below(cache.path());
        let manifest = manifest(folder.path(), "echo half > half; echo no network >&2; exit 7");
        let error = home.install(&manifest, &NEVER).unwrap_err().to_string();
        assert!(
            error.contains("no network") && error.contains('7') && error.contains("made-up"),
            "{error}"
        );
        assert!(error.contains("install a shell"), "{error}");
        assert_eq!(fs::read_dir(home.root().unwrap()).unwrap().count(), 0);
    }

    #[test]
    fn a_user_without_a_cache_learns_so_when_a_driver_is_wanted() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home(Err("HOME is not set".to_owned()));
        let error = home.install(&manifest(folder.path(), ""), &NEVER).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("no directory for installed drivers") && error.contains("HOME"),
            "{error}"
        );
    }

    #[test]
    fn a_program_that_is_missing_is_named_with_how_to_get_it() {
        let (cache, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut manifest = manifest(folder.path(), "");
        manifest.install = vec![vec!["no-such-compiler".to_owned()]];
        let error = Home::below(cache.path()).install(&manifest, &NEVER).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("no-such-compiler") && error.contains("install a shell"), "{error}");
    }
}
