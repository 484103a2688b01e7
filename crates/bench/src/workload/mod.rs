//! Workloads: the work done to a target, as a pure function of settings and seed.
//!
//! A new workload is a module here that implements [`Declared`], and a line in [`ALL`].

mod binding_basics;
pub(crate) mod common;
mod contention;
pub(crate) mod crash;
pub(crate) mod declared;
mod durability;
mod explain;
pub(crate) mod fts;
mod inserts;
mod many_databases;
mod orm;
mod prelude;
mod preparation;
mod queue;
pub(crate) mod replay;
mod set_query;
pub(crate) mod sql;
mod upper_bounds;

use std::io::{self, BufRead, Write};

use lab::trial::Measured;

use self::declared::{Declared, Workload};
use crate::drive::messages::Role;
use crate::drive::worker;
use crate::error::Result;
use crate::trial::Trial;

/// Every workload.
pub const ALL: &[&dyn Workload] = &[
    &inserts::BulkInsert,
    &inserts::TextInsert,
    &inserts::UserInsert,
    &inserts::Quotes,
    &inserts::KeyedRows,
    &set_query::SetQuery,
    &explain::Explain,
    &contention::Contention,
    &many_databases::ManyDatabases,
    &queue::Queue,
    &fts::FtsInsert,
    &fts::FtsQuery,
    &fts::FtsOverlap,
    &fts::FtsUpdate,
    &binding_basics::BindingBasics,
    &orm::Orm,
    &upper_bounds::UpperBounds,
    &crash::Crash,
    &crash::Kill,
    &crash::Meetings,
    &sql::Sql,
    &replay::Replay,
    &Empty,
];

/// Returns the workload of this name.
pub fn find(name: &str) -> Option<&'static dyn Workload> {
    ALL.iter().copied().find(|workload| workload.name() == name)
}

/// Works in a process of its own for a trial of `sql` or `contention`.
///
/// # Errors
/// Responses cannot be written. Whatever goes wrong in the work is a response.
pub fn contention_worker(input: impl BufRead, output: impl Write) -> io::Result<()> {
    worker::serve_process(input, output, |connection, spec| match spec.role {
        Role::Client => sql::client(connection, spec),
        Role::Writer | Role::Reader => contention::client(connection, spec),
    })
}

/// A trial without work: the overhead of the laboratory itself.
struct Empty;

impl Declared for Empty {
    const NAME: &'static str = "empty";
    const ABOUT: &'static str = "Does nothing: measures the overhead of the laboratory itself.";
    const COUNTS: bool = false;
    type Parameters = ();

    fn run(_: &mut Trial<'_>, (): &()) -> Result<Measured> {
        let metrics = [("seconds".to_owned(), 0.0)].into();
        Ok(Measured { metrics, ..Measured::default() })
    }
}
