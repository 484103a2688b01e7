//! The user's scripts, executed once on a copy of a database. Their statements and values are kept, so that they can be
//! executed again, statement by statement.

use std::path::Path;
use std::sync::Arc;

use script::{Form, Names, Op, Script, parse};

use super::client::Executed;
use super::parameters::Parameters;
use super::suite::{Suite, read_text};
use super::{database, first_client};
use crate::parameters::Parameters as _;
use crate::workload::prelude::*;

/// Number of scripts that are executed at most for each transaction that changes something, because most may only read.
const ATTEMPTS: usize = 100;

/// Returns whether files of SQL have more than statements to be executed once in their order: several files, weights, names of
/// queries, meta commands or parameters.
///
/// # Errors
/// A file cannot be read; the first mistake in it, with its line.
pub(in crate::workload) fn is_in_language(files: &str) -> Result<bool> {
    // It is a list of files, or a file with a weight.
    if !Path::new(files).exists() && files.contains([',', '@']) {
        return Ok(true);
    }
    let text = read_text(Path::new(files))?;
    let scripts = parse(files, "", &text, Form::Transaction, &mut Names::default());
    let scripts = scripts.map_err(TrialError::from)?;
    let is_more = |script: &Script| {
        let only_statements = script.operations.iter().all(|op| matches!(op, Op::Run(_)));
        let mut statements = script.statements.iter();
        let has_values = |statement: &script::Statement| {
            !statement.parameters.is_empty() || statement.gset.is_some()
        };
        !only_statements || statements.any(has_values)
    };
    Ok(scripts.len() > 1 || scripts.iter().any(is_more))
}

/// Executes files of SQL on a copy of a database until a number of their transactions have changed something. Returns the
/// executed statements. The values are the same each time.
///
/// # Errors
/// A mistake in a script, with its line; the database cannot be copied.
pub(in crate::workload) fn unroll(
    library: &Arc<Library>,
    files: &str,
    database: &Path,
    directory: &Path,
    transactions: usize,
) -> Result<Vec<Executed>> {
    let settings =
        [("scripts", files.into()), ("database", database.display().to_string().as_str().into())];
    let settings = Settings::from(settings.map(|(name, level)| (name.to_owned(), level)));
    let trial = Trial::detached(&settings, library, directory);
    let parameters = Parameters::read(&overlaid(&Parameters::defaults(), &settings))?;
    // A mistake in a script shows before the database is copied.
    let mut suite = Suite::read(&parameters)?;
    let database = database::create(&trial, &parameters)?;
    let connection = sqlite::open(&trial, &database.path)?;
    let mut client = first_client(&trial, &parameters, &connection, &mut suite)?;
    client.journal = Some(Vec::new());
    let mut changing = 0;
    for _ in 0..transactions.saturating_mul(ATTEMPTS) {
        let before = connection.total_changes();
        client.operate(0, 0)?;
        changing += usize::from(connection.total_changes() > before);
        if changing == transactions {
            break;
        }
    }
    let executed = client.journal.take().unwrap_or_default();
    drop(client);
    connection.close()?;
    Ok(executed)
}
