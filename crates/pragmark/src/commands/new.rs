//! `pragmark new`: files for the user to change.

use std::path::Path;

use drivers::{DriverError, Registry, State, experiment_of};

use super::{driver, output};
use crate::cli::{NewCommand, NewDriverArgs};
use crate::failure::{Exit, Failure};

/// Writes the files.
pub fn execute(command: &NewCommand) -> Result<Exit, Failure> {
    match command {
        NewCommand::Driver(args) => new_driver(args),
    }
}

fn new_driver(args: &NewDriverArgs) -> Result<Exit, Failure> {
    let NewDriverArgs { name, language } = args;
    drivers::write_new(name, *language, Path::new(".")).map_err(|error| match error {
        DriverError::Impossible(why) => Failure::usage(why),
        other => Failure::from(other),
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

/// What has to be done before the driver can be run; nothing for one that is ready.
fn missing(registry: &Registry, name: &str) -> Result<String, Failure> {
    let manifest = registry.find(name)?;
    Ok(match registry.state(manifest) {
        State::Ready(_) => String::new(),
        State::Missing(DriverError::NotInstalled { .. }) => format!(
            "install it with `pragmark driver install {name} --drivers {name}`; it needs {}\n",
            manifest.needs
        ),
        State::Missing(error) => format!("not ready: {error}\n"),
    })
}
