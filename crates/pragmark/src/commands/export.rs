//! `pragmark export`: the data of a run for other tools.

use std::io;

use runner::RunFolder;

use super::{output, report};
use crate::cli::{ExportArgs, ExportFormat};
use crate::failure::{Exit, Failure};

/// Writes the data in the form asked for.
pub fn execute(args: &ExportArgs) -> Result<Exit, Failure> {
    let out = args.out.as_deref();
    match args.format {
        ExportFormat::Csv => trials(args),
        ExportFormat::VariantsCsv => output::write_text(
            out,
            &::report::export::variants_csv(&report::analyse(&args.run)?)
                .map_err(Failure::unusable)?,
        ),
        ExportFormat::ClaimsCsv => output::write_text(
            out,
            &::report::export::claims_csv(&report::analyse(&args.run)?)
                .map_err(Failure::unusable)?,
        ),
        ExportFormat::Json => output::write_text(
            out,
            &::report::export::json(&report::analyse(&args.run)?).map_err(Failure::unusable)?,
        ),
    }
}

/// Trials go straight from the record to the table, so that a record of any length needs no
/// memory.
fn trials(args: &ExportArgs) -> Result<Exit, Failure> {
    let folder = RunFolder::open(&args.run)?;
    let mut read = Ok(());
    let exit = output::write(args.out.as_deref(), |writer| {
        let mut table = ::report::export::TrialsCsv::new(writer);
        let mut written = Ok(());
        read = folder.each_trial(|record| {
            if written.is_ok() {
                written = table.write(&record);
            }
        });
        written.map_err(io::Error::other)?;
        table.finish().map_err(io::Error::other)?;
        Ok(())
    })?;
    read?;
    Ok(exit)
}
