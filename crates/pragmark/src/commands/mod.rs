//! The commands: each carries out a use case and shows its result.

mod anonymize;
mod compare;
mod completions;
mod doctor;
mod driver;
mod engine;
mod examination;
mod fleet;
mod guard;
mod list;
mod load;
mod man;
mod new;
mod open;
mod outline;
mod record;
mod report;
mod run;
mod runs;
mod settings;
mod show;
mod trace;
mod worker;

use app::Error;

use crate::action::{Action, LoadAction};
use crate::exit::Exit;
use crate::output;
use crate::terminal::Terminal;

/// The first commands, by what the user has.
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

/// Carries out a command.
pub fn execute(action: Action) -> Result<Exit, Error> {
    match action {
        Action::QuickStart => output::display(QUICK_START),
        Action::Run { run, plain } => run::execute(&run, plain),
        Action::Measure { request, plain } => run::execute_measure(&request, plain),
        Action::WriteExperiment { request, out } => run::write_experiment(&request, &out),
        Action::Compare { subjects, request, output } => {
            compare::execute(&subjects, request, &output)
        }
        Action::Tune { request, plain } => run::execute_tune(&request, plain),
        Action::Guard { request, undecided, output } => {
            guard::execute(&request, undecided, &output)
        }
        Action::History { sources, output } => report::execute_history(&sources, &output),
        Action::List(lists) => list::execute(&lists),
        Action::Schema => show::schema(),
        Action::Show { experiment, scale, drivers } => {
            show::execute(&experiment, scale, drivers.as_deref())
        }
        Action::Report { run, output } => report::execute(&run, &output),
        Action::Open { run } => open::execute(run.as_deref()),
        Action::Runs { folders } => runs::list(&folders),
        Action::Prune(prune) => runs::prune(&prune),
        Action::Settings { run, query, out } => settings::execute(&run, &query, out.as_deref()),
        Action::Export { runs, form, out } => report::execute_export(&runs, &form, out.as_deref()),
        Action::Load { request, load: LoadAction::Outline, .. } => outline::execute(&request),
        Action::Load { request, load: LoadAction::Load { measure_disk }, plain } => {
            load::execute(&request, measure_disk, plain)
        }
        Action::Record(action) => record::execute(&action),
        Action::Trace(action) => trace::execute(&action),
        Action::Anonymize { database, keep, out } => anonymize::execute(&database, &keep, &out),
        Action::Machine { directories, noise_s, json } => {
            doctor::execute(&directories, noise_s, json)
        }
        Action::Database { request, json } => examination::execute(&request, json),
        Action::Drivers { json } => driver::list(&app::driver::registry(None)?, json),
        Action::Driver { directory, action } => driver::execute(directory.as_deref(), &action),
        Action::NewExperiment { name } => new::experiment(&name),
        Action::NewDriver { name, language } => new::driver(&name, language),
        Action::Crash { crash, plain } => run::execute_crash(&crash, plain),
        Action::Engine(action) => engine::execute(&action),
        Action::Agent(request) => {
            app::agent::agent(&request, &Terminal::new(true)).map(|()| Exit::Success)
        }
        Action::Fleet(action) => fleet::execute(&action),
        Action::Completions { shell, install } => completions::execute(shell, install),
        Action::Man => man::page(),
        Action::Trial => worker::trial(),
        Action::ContentionWorker => worker::contention_worker(),
        Action::ReplayWorker => worker::replay_worker(),
        Action::SignalListener => worker::signal_listener(),
        Action::WriteUntilKilled => worker::write_until_killed(),
        Action::Become { program, arguments } => worker::become_program(&program, &arguments),
        Action::MakeSyncedCommits { engine } => worker::make_synced_commits(&engine),
        Action::DescribeEngine { engine } => worker::describe_engine(&engine),
    }
}
