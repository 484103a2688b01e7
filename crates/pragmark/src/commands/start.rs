//! `pragmark` without a command: a quick start.

use super::output;
use crate::failure::{Exit, Failure};

/// What to type first, by what the user has.
const QUICK_START: &str = "\
pragmark measures SQLite on this machine: how fast it is, which settings help, what a crash can destroy.

Start with nothing
  pragmark run --quick txn-basics               a first answer in half a minute
  pragmark run                                  the tour: the most informative experiments in five minutes
  pragmark crash --quick                        what a crash can destroy, by journal mode

Start with your own
  pragmark measure --db app.db queries.sql      your SQL on a copy of your database
  pragmark tune queries.sql --db app.db         the fastest settings for it that lose nothing
  pragmark record --out app.trace -- ./server   what your program does with SQLite
  pragmark new experiment my-question           an experiment file with comments, ready to run

Afterwards
  pragmark open                                 the page of the latest run in your browser
  pragmark runs                                 all runs: question, answer, age and size
  pragmark completions --install                completion of commands and names in your shell

`pragmark --help` lists all commands, and `pragmark help run` explains one.
";

/// Prints the quick start.
pub fn execute() -> Result<Exit, Failure> {
    output::display(QUICK_START)
}
