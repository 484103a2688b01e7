//! The files that a run sends to its agents.

use std::path::{Path, PathBuf};

use ::engine::build::EngineName;
use fleet::{Content, Object, Server, Signer};
use lab::fleet::{extensions, files};
use lab::level::distinct;
use lab::record::RunPlan;
use lab::trial::DRIVER;

use super::FleetRequest;
use crate::driver::Running;
use crate::error::{Error, Result};
use crate::interface::Interface;
use crate::{driver, engine};

/// The option set whose engines fit the processor of one machine alone.
const FOR_ONE_MACHINE: &str = "native";

/// The kind of machine for which this program was compiled.
pub(crate) fn target() -> String {
    use std::env::consts::{ARCH, OS};
    let libc = match () {
        () if cfg!(target_env = "gnu") => "gnu",
        () if cfg!(target_env = "musl") => "musl",
        () => "other",
    };
    format!("{ARCH}-{OS}-{libc}")
}

/// Files on their way.
pub(super) struct Sent {
    objects: Vec<(Object, PathBuf)>,
    signer: Option<Signer>,
}

impl Sent {
    /// Everything that the plan names and agents may not have: files, libraries, engines that can be built here for their
    /// kind of machine, and the user's own drivers.
    pub(super) fn of_plan(
        request: &FleetRequest,
        plan: &RunPlan,
        ui: &dyn Interface,
    ) -> Result<Sent> {
        let signer = request.sign_with.as_deref().map(Signer::from_file);
        let mut sent = Sent { objects: Vec::new(), signer: signer.transpose()? };
        let catalogue = drivers::catalogue(request.run.drivers.as_deref())?;
        let files =
            plan.work().flat_map(|(workload, settings)| files(&catalogue, workload, settings));
        for path in distinct(files) {
            check_settled(Path::new(&path))?;
            sent.add_file(&path, Path::new(&path), Content::Data)?;
        }
        let extensions =
            plan.work().flat_map(|(workload, settings)| extensions(&catalogue, workload, settings));
        for path in distinct(extensions) {
            let content = Content::Extension { target: target() };
            sent.add_file(path, Path::new(path), content)?;
        }
        sent.add_engines(plan, ui)?;
        sent.add_drivers(request.run.drivers.as_deref(), plan)?;
        Ok(sent)
    }

    /// Their description for agents.
    pub(super) fn objects(&self) -> Vec<Object> {
        self.objects.iter().map(|(it, _)| it.clone()).collect()
    }

    /// Stores them on the server.
    pub(super) fn publish(&self, server: &Server, ui: &dyn Interface) -> Result<()> {
        for (object, path) in &self.objects {
            server.put_object(object, path)?;
        }
        if !self.objects.is_empty() {
            let bytes: u64 = self.objects.iter().map(|(it, _)| it.bytes).sum();
            tell!(ui, "files of the run: {}, {bytes} bytes", self.objects.len());
        }
        Ok(())
    }

    fn add_file(&mut self, name: &str, path: &Path, content: Content) -> Result<()> {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        self.add(name, (path, &file), content)
    }

    fn add(&mut self, name: &str, (path, file): (&Path, &str), content: Content) -> Result<()> {
        let object = Object::of_file(name, path, file, content, self.signer.as_ref())?;
        self.objects.push((object, path.to_owned()));
        Ok(())
    }

    /// Engines that are built or named by their paths. One that cannot be built here is built by the agents.
    fn add_engines(&mut self, plan: &RunPlan, ui: &dyn Interface) -> Result<()> {
        let names = engine::names(plan).into_iter().filter(|name| can_be_sent(name));
        let names: Vec<String> = names.collect();
        for record in engine::prepare(&names, &Running::native(ui)?)? {
            match (&record.path, &record.problem) {
                (Some(path), None) => {
                    let content = Content::Engine { target: target() };
                    self.add_file(&record.name, path, content)?;
                }
                (_, why) => tell!(
                    ui,
                    "warning: the engine {} is not sent, so agents build it: {}",
                    record.name,
                    why.as_deref().unwrap_or("it is no file")
                ),
            }
        }
        Ok(())
    }

    /// The user's own drivers that run where they are. Others have to be installed on the machines.
    fn add_drivers(&mut self, drivers: Option<&Path>, plan: &RunPlan) -> Result<()> {
        let named = plan.settings().filter_map(|settings| settings.get(DRIVER)?.as_text());
        let named = distinct(named);
        let registry = driver::registry(drivers)?;
        let own = registry.manifests.iter();
        for manifest in own.filter(|manifest| named.contains(&manifest.name.as_str())) {
            let Some(folder) = manifest.runs_in() else { continue };
            for (path, is_program) in below(folder)? {
                let file = path.strip_prefix(folder).unwrap_or(&path);
                let file = file.to_string_lossy().into_owned();
                let content = Content::Driver { is_program };
                self.add(&manifest.name, (&path, &file), content)?;
            }
        }
        Ok(())
    }
}

/// Whether an engine is a file that other machines of this kind can load.
fn can_be_sent(name: &str) -> bool {
    match name.parse::<EngineName>() {
        Ok(EngineName::Build(_)) => !name.split('+').any(|set| set == FOR_ONE_MACHINE),
        Ok(EngineName::Added(_) | EngineName::File(_)) => true,
        _ => false,
    }
}

/// Refuses a database whose latest transactions are in a log or a journal, which would not be sent.
fn check_settled(path: &Path) -> Result<()> {
    for ending in ["-wal", "-journal"] {
        let mut log = path.as_os_str().to_owned();
        log.push(ending);
        let log = PathBuf::from(log);
        if log.metadata().is_ok_and(|metadata| metadata.len() > 0) {
            return Err(Error::unusable(format!(
                "{} is in use: {} holds transactions of it",
                path.display(),
                log.display()
            ))
            .hint("send a copy, which `VACUUM INTO 'copy.db'` makes"));
        }
    }
    Ok(())
}

/// The files below a folder, and whether each is a program.
fn below(folder: &Path) -> Result<Vec<(PathBuf, bool)>> {
    use std::os::unix::fs::PermissionsExt;
    let unreadable = |error: std::io::Error| Error::reading(folder, error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let metadata = path.metadata().map_err(unreadable)?;
        if metadata.is_dir() {
            files.extend(below(&path)?);
        } else {
            files.push((path, metadata.permissions().mode() & 0o100 != 0));
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_for_one_processor_and_those_of_the_program_are_not_sent() {
        for (name, can) in [
            ("default", false),
            ("system", false),
            ("3.46.0", true),
            ("3.46.0+recommended", true),
            ("3.46.0+native", false),
            ("/opt/libsqlite3.so", true),
        ] {
            assert_eq!(can_be_sent(name), can, "{name}");
        }
    }

    #[test]
    fn a_database_with_a_log_is_not_sent() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        std::fs::write(&path, "x").unwrap();
        assert!(check_settled(&path).is_ok());
        std::fs::write(directory.path().join("x.db-wal"), "x").unwrap();
        let failure = check_settled(&path).unwrap_err().words();
        assert!(failure.contains("x.db-wal"), "{failure}");
    }
}
