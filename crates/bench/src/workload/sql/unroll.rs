//! Scripts of the user's own, carried out once on a copy of a database, and what they executed with which values: so the
//! same can be done again, statement by statement.

use std::path::Path;
use std::sync::Arc;

use engine::Library;
use lab::level::{Settings, overlaid};
use script::{Form, Names, Op, Script, parse};

use super::client::Client;
use super::draw::Pools;
use super::parameters::Parameters;
use super::suite::{Suite, read_text};
use super::{job, stage};
use crate::error::TrialError;
use crate::parameters::Parameters as _;
use crate::target::sqlite;
use crate::trial::Trial;
use crate::workload::contention::worker::Operator;

/// One execution of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::workload) struct Executed {
    pub(in crate::workload) sql: String,
    /// The values of its parameters, in order.
    pub(in crate::workload) values: Vec<engine::Value>,
    /// The file and the line of the script.
    pub(in crate::workload) location: String,
    /// The rows that it changed.
    pub(in crate::workload) changes: i64,
}

/// Scripts are executed at most so many times for each transaction that is wanted: most of them may only read.
const ATTEMPTS: usize = 100;

/// Whether files of SQL have more than statements to be executed once in their order: several files, weights, names of
/// queries, meta commands or parameters.
///
/// # Errors
/// A file cannot be read; the first mistake in it, with its line.
pub(in crate::workload) fn is_in_language(files: &str) -> Result<bool, TrialError> {
    match Path::new(files).exists() {
        true => has_more(files),
        // It is a list of files, or one with a weight, or none.
        false if files.contains([',', '@']) => Ok(true),
        false => has_more(files),
    }
}

fn has_more(file: &str) -> Result<bool, TrialError> {
    let text = read_text(Path::new(file))?;
    let scripts = parse(file, "", &text, Form::Transaction, &mut Names::default());
    let scripts = scripts.map_err(TrialError::because)?;
    let is_more = |script: &Script| {
        let only_statements = script.operations.iter().all(|it| matches!(it, Op::Run(_)));
        let mut statements = script.statements.iter();
        !only_statements || statements.any(|it| !it.parameters.is_empty() || it.gset.is_some())
    };
    Ok(scripts.len() > 1 || scripts.iter().any(is_more))
}

/// What files of SQL execute on a copy of a database until so many of their transactions have changed something. The
/// values are the same each time.
///
/// # Errors
/// A mistake in a script, with its line; the database cannot be copied.
pub(in crate::workload) fn unroll(
    library: &Arc<Library>,
    files: &str,
    database: &Path,
    directory: &Path,
    transactions: usize,
) -> Result<Vec<Executed>, TrialError> {
    let settings =
        [("scripts", files.into()), ("database", database.display().to_string().as_str().into())];
    let settings = Settings::from(settings.map(|(name, level)| (name.to_owned(), level)));
    let trial = Trial::detached(&settings, library, directory);
    let parameters = Parameters::read(&overlaid(&Parameters::defaults(), &settings))?;
    let mut suite = Suite::read(&parameters)?;
    let stage = stage::make(&trial, &parameters, directory)?;
    let connection = sqlite::open(&trial, &stage.path)?;
    suite.resolve(&connection)?;
    let set = suite.set_by_gset();
    Pools::of(&connection, &suite, &parameters, &set, trial.seed)?.write(directory)?;
    let job = job(&connection, &settings, directory, trial.seed, 0)?;
    let mut client = Client::prepare(&connection, job)?;
    client.keep_journal();
    let mut changing = 0;
    for _ in 0..transactions.saturating_mul(ATTEMPTS) {
        let before = connection.total_changes();
        client.operate(0, 0)?;
        changing += usize::from(connection.total_changes() > before);
        if changing == transactions {
            break;
        }
    }
    let executed = client.take_journal();
    drop(client);
    connection.close()?;
    Ok(executed)
}
