//! `pragmark engine remove`: removes stored engines.

use ::engine::build::Cache;

use super::named;
use crate::commands::output;
use crate::failure::{Exit, Failure};

/// Removes the named engines, or all.
pub fn execute(engines: &[String], all: bool) -> Result<Exit, Failure> {
    let cache = Cache::of_user()?;
    if all {
        let text = format!("{} engines removed\n", cache.remove_all()?);
        return output::display(&text);
    }
    let mut text = String::new();
    for engine in engines {
        let name = named(engine)?;
        match cache.remove(&name)? {
            0 => {
                return Err(Failure::usage(format!("there is no stored engine `{name}`"))
                    .hint("`pragmark engine list` shows the stored engines"));
            }
            1 => text += &format!("{name}: removed\n"),
            some => text += &format!("{name}: {some} builds removed\n"),
        }
    }
    output::display(&text)
}
