//! `pragmark new`: files for the user to change.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use drivers::{DriverError, Registry, State, experiment_of};
use lab::experiment::parse;

use super::{driver, output};
use crate::cli::{NewCommand, NewDriverArgs};
use crate::failure::{Exit, Failure};

/// The experiment to change, with NAME for its name.
const EXPERIMENT: &str = include_str!("../../templates/experiment.toml");

/// Writes the files.
pub fn execute(command: &NewCommand) -> Result<Exit, Failure> {
    match command {
        NewCommand::Driver(args) => new_driver(args),
        NewCommand::Experiment(args) => new_experiment(&args.name),
    }
}

fn new_experiment(name: &str) -> Result<Exit, Failure> {
    let file = format!("{name}.toml");
    let text = EXPERIMENT.replace("NAME", name);
    // Only what can be run is written; a name that no experiment can have is a problem of the first line with it.
    parse(&file, &text, &drivers::catalogue(None)?).map_err(Failure::usage)?;
    File::create_new(&file)
        .and_then(|mut new| new.write_all(text.as_bytes()))
        .map_err(|error| Failure::unusable(format!("cannot create {file}: {error}")))?;
    output::display(&format!(
        "{file}: an experiment with comments\n\
         run it with `pragmark run --quick {file}`, then change it; `pragmark show {file}` checks it\n"
    ))
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
