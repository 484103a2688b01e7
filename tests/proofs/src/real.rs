//! The command that compares storage models with real file systems.

use crate::STOP;
use lab::seed::Seed;
use lab::tier::{Loss, Losses};
use pragmark_proofs::blocks::{COMPARED, FILE_SYSTEMS, FileSystem, Left, cut_power, modelled};
use pragmark_proofs::settings;
use std::error::Error;
use std::sync::atomic::Ordering;

/// Prints a row for each file system under each settings, as Markdown. False if a file system lost more than every model
/// allows.
///
/// # Errors
/// Unknown names; some were not measured.
pub fn compare(
    names: &[String],
    all: &[String],
    cuts: usize,
    seed: u64,
) -> Result<bool, Box<dyn Error>> {
    let is_wanted = |it: &&FileSystem| names.is_empty() || names.iter().any(|name| name == it.name);
    let known = |name: &&String| !FILE_SYSTEMS.iter().any(|it| it.name == **name);
    if let Some(unknown) = names.iter().find(known) {
        let known = FILE_SYSTEMS.map(|it| it.name).join(", ");
        return Err(format!("no file system {unknown}: {known}").into());
    }
    let models = COMPARED.map(|model| model.name()).join(" | ");
    println!("| file system | settings | power cuts | loses | {models} | writes, flushes |");
    println!("| --- | --- | ---: | --- |{} --- |", " --- |".repeat(COMPARED.len()));
    let (mut is_covered, mut missing) = (true, 0);
    for name in all {
        let settings = settings(name).ok_or_else(|| format!("no settings {name}"))?;
        let seed = Seed(seed).child(name);
        let models = modelled(&settings, seed)?;
        for system in FILE_SYSTEMS.iter().filter(is_wanted) {
            if STOP.load(Ordering::Relaxed) {
                return Err("stopped".into());
            }
            match cut_power(system, &settings, cuts, seed.child(system.name)) {
                Err(error) => {
                    missing += 1;
                    println!("| {} | {name} | – | not measured: {error} |", system.name);
                }
                Ok(left) => {
                    let found = left.counts.loss();
                    let mut losses = models.iter().map(|(_, losses)| losses.loss());
                    is_covered &= losses.any(|loss| loss >= Some(found));
                    row(system, name, &left, models.iter().map(|(_, losses)| losses));
                }
            }
        }
    }
    match missing {
        0 => Ok(is_covered),
        missing => Err(format!("{missing} rows of the table were not measured").into()),
    }
}

fn row<'l>(system: &FileSystem, name: &str, left: &Left, models: impl Iterator<Item = &'l Losses>) {
    let Left { counts, unmountable, witness, writes, flushes } = left;
    let found = counts.loss();
    let more = match unmountable {
        0 => String::new(),
        some => format!("; {some} more could not be mounted"),
    };
    let shown = match witness {
        Some(witness) => format!(": {}", witness.replace(['\n', '|'], " ")),
        None => String::new(),
    };
    let models = models.map(|losses| {
        let sign = match losses.loss() {
            Some(loss) if loss == found => "=",
            Some(loss) if loss > found => ">",
            Some(_) => "< !",
            None => "?",
        };
        format!("{sign} {}", short(losses.loss()))
    });
    println!(
        "| {} | {name} | {}{more} | {} ({} of {}){shown} | {} | {writes}, {flushes} |",
        system.name,
        counts.images,
        short(Some(found)),
        counts.damaged(),
        counts.images,
        models.collect::<Vec<_>>().join(" | "),
    );
}

fn short(loss: Option<Loss>) -> &'static str {
    match loss {
        Some(Loss::Nothing) => "nothing",
        Some(Loss::LastTransaction) => "last",
        Some(Loss::RecentTransactions) => "recent",
        Some(Loss::Corruption) => "corrupt",
        None => "not measured",
    }
}
