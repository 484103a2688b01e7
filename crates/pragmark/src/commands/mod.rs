//! The commands: each carries out a use case and shows its result.

mod anonymize;
mod compare;
mod doctor;
mod driver;
mod engine;
mod examination;
mod fleet;
mod generate;
mod guard;
mod list;
mod load;
mod new;
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

use crate::action::Action;
use crate::exit::Exit;
use crate::output;
use crate::terminal::Terminal;

/// Carries out a command.
pub fn execute(action: Action) -> Result<Exit, Error> {
    match action {
        Action::QuickStart(text) => output::display(&text),
        Action::Run(run) => run::execute(&run),
        Action::Measure(request) => run::execute_measure(&request),
        Action::WriteExperiment { request, out } => run::write_experiment(&request, &out),
        Action::Compare { subjects, request, output } => {
            compare::execute(&subjects, request, &output)
        }
        Action::Tune(request) => run::execute_tune(&request),
        Action::Guard { request, undecided } => guard::execute(&request, undecided),
        Action::History { sources, output } => report::execute_history(&sources, &output),
        Action::List(list) => list::execute(list),
        Action::Show { experiment, scale } => show::execute(&experiment, scale),
        Action::Report { runs, form, out } => report::execute(runs, &form, out.as_deref()),
        Action::Open { run } => report::open(run),
        Action::Runs { folders } => runs::list(&folders),
        Action::Prune(prune) => runs::prune(&prune),
        Action::Settings { run, query } => settings::execute(run, &query),
        Action::Load { request, is_outline: true } => outline::execute(&request),
        Action::Load { request, is_outline: false } => load::execute(&request),
        Action::Record(action) => record::execute(&action),
        Action::Trace(action) => trace::execute(&action),
        Action::Anonymize { database, keep, out } => anonymize::execute(&database, &keep, &out),
        Action::Machine { directories, noise_s, json } => {
            doctor::execute(&directories, noise_s, json)
        }
        Action::Database { request, json } => examination::execute(&request, json),
        Action::Driver(action) => driver::execute(&action),
        Action::NewExperiment { name } => new::experiment(&name),
        Action::NewDriver { name, language } => new::driver(&name, language),
        Action::Crash(crash) => run::execute_crash(&crash),
        Action::Engine(action) => engine::execute(&action),
        Action::Agent(request) => {
            app::agent::agent(&request, &Terminal::lines()).map(|()| Exit::Success)
        }
        Action::Fleet(action) => fleet::execute(&action),
        Action::Generate(file) => generate::execute(file),
        Action::InstallCompletions { shell } => generate::install_completions(shell),
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
