//! `pragmark new`: files for the user to change.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use app::{Error, Result, driver};
use drivers::{DriverError, Registry, experiment_of};
use lab::experiment::parse;

use crate::exit::Exit;
use crate::output;

/// The experiment to change, with NAME for its name.
const EXPERIMENT: &str = include_str!("../../templates/experiment.toml");

/// Writes an experiment.
pub fn experiment(name: &str) -> Result<Exit> {
    let file = format!("{name}.toml");
    let text = EXPERIMENT.replace("NAME", name);
    // Only what can be run is written; a name that no experiment can have is a problem of the first line with it.
    parse(&file, &text, &drivers::catalogue(None)?).map_err(Error::mistake)?;
    File::create_new(&file)
        .and_then(|mut new| new.write_all(text.as_bytes()))
        .map_err(|error| Error::unusable(format!("cannot create {file}: {error}")))?;
    output::display(&format!(
        "{file}: an experiment with comments\n\
         run it with `pragmark run --quick {file}`, then change it; `pragmark show {file}` checks it\n"
    ))
}

/// Writes a driver and an experiment that uses it.
pub fn driver(name: &str, language: &str) -> Result<Exit> {
    drivers::write_new(name, language, Path::new(".")).map_err(|error| match error {
        DriverError::Impossible(why) => Error::mistake(why),
        other => Error::from(other),
    })?;
    let registry = driver::registry(Some(Path::new(name)))?;
    let experiment = experiment_of(name);
    let text = format!(
        "{name}: the driver, with its workload and metrics in {name}/driver.toml\n\
         {experiment}: an experiment\n\
         {}\
         measure it with `pragmark run {experiment} --drivers {name}`, then replace its function `work`\n",
        missing(&registry, name)?
    );
    output::display(&text)
}

/// Returns what has to be done before the driver can be run: nothing for one that is ready.
fn missing(registry: &Registry, name: &str) -> Result<String> {
    let manifest = registry.find(name)?;
    Ok(match registry.describe(manifest) {
        Ok(_) => String::new(),
        Err(DriverError::NotInstalled(..)) => format!(
            "install it with `PRAGMARK_DRIVERS={name} pragmark driver install {name}`; it needs {}\n",
            manifest.needs
        ),
        Err(error) => format!("not ready: {error}\n"),
    })
}
