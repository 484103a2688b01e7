//! `pragmark export`: the data of a run for other tools.

use std::io;

use ::report::export;
use runner::RunFolder;

use super::{output, report};
use crate::cli::{ExportArgs, ExportFormat};
use crate::failure::{Exit, Failure};

/// Writes the data in the form asked for.
pub fn execute(args: &ExportArgs) -> Result<Exit, Failure> {
    if args.format == ExportFormat::Csv {
        return trials(args);
    }
    let analysis = report::analyse(&args.run)?;
    let text = match args.format {
        ExportFormat::ClaimsCsv => export::claims_csv(&analysis).map_err(Failure::unusable),
        ExportFormat::Json => export::json(&analysis).map_err(Failure::unusable),
        _ => export::variants_csv(&analysis).map_err(Failure::unusable),
    };
    output::write_text(args.out.as_deref(), &text?)
}

/// Trials go straight from the record to the table, so that a record of any length needs no
/// memory.
fn trials(args: &ExportArgs) -> Result<Exit, Failure> {
    let folder = RunFolder::open(&args.run)?;
    let mut read = Ok(());
    let exit = output::write(args.out.as_deref(), |writer| {
        let mut table = export::TrialsCsv::new(writer);
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
