//! The first page of help: commands in groups by what a person wants. Its lines fit a width of sixty columns.

use std::fmt::Write;

/// The commands, by what a person wants.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Your SQL", &["explain", "measure", "tune", "compare", "guard"]),
    ("Your application", &["record", "trace", "watch"]),
    ("Your database", &["inspect", "load", "unload", "anonymize"]),
    ("Safety", &["crash"]),
    ("Experiments", &["run", "list", "show", "new"]),
    ("Results", &["report", "runs", "settings"]),
    ("Set-up", &["doctor", "engine", "driver", "fleet"]),
];

/// The widest text.
const MOST: usize = 100;

/// The exit codes in one line; the manual page explains them.
const EXIT_CODES: &str =
    "Exit codes: 0 done, 1 trials failed, 2 wrong input, 3 unusable, 4 and 5 `guard`, 130 stopped.";

/// The first commands of a new user, by what the user has.
const QUICK_START: [(&str, &[(&str, &str)]); 3] = [
    (
        "Start with your own",
        &[
            ("inspect app.db", "what is wrong with your database"),
            ("explain --db app.db queries.sql", "why a query is slow, and which indexes help"),
            ("measure --db app.db queries.sql", "your SQL on a copy of your database"),
            ("tune queries.sql --db app.db", "the fastest settings that lose nothing"),
            ("record -- ./server", "what your program does with SQLite"),
        ],
    ),
    (
        "Start with nothing",
        &[
            ("run --quick txn-basics", "a first answer in half a minute"),
            ("run", "the tour of experiments, in five minutes"),
            ("crash --quick", "what a crash can destroy, by journal mode"),
        ],
    ),
    ("Afterwards", &[("report --open", "the page of the latest run in your browser")]),
];

/// Returns the page that is printed without a command.
pub fn quick_start(width: usize) -> String {
    let mut text = "pragmark measures SQLite on this machine: how fast it is,\n\
                    which settings help, and what a crash can destroy.\n"
        .to_owned();
    for (title, commands) in QUICK_START {
        let _ = writeln!(text, "\n{title}");
        for (command, about) in commands {
            let _ = if width < MOST {
                writeln!(text, "  pragmark {command}\n      {about}")
            } else {
                writeln!(text, "  pragmark {command:33}  {about}")
            };
        }
    }
    text + "\n`pragmark --help` lists all commands;\n`pragmark help run` explains one.\n"
}

/// Returns the width at hand, at most a hundred columns.
pub fn width() -> usize {
    terminal_size::terminal_size().map_or(MOST, |(width, _)| usize::from(width.0)).min(MOST)
}

/// Returns the command with its commands in groups, which clap does not have.
pub fn grouped(command: clap::Command, width: usize) -> clap::Command {
    let mut text = "{about}\n{usage-heading} {usage}\n\n".to_owned();
    for (title, names) in GROUPS {
        let _ = writeln!(text, "{title}");
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {name:10}{about}");
        }
    }
    let exit_codes = EXIT_CODES.replace(", 3", if width < MOST { ",\n  3" } else { ", 3" });
    command.help_template(text + "Options\n{options}\n" + &exit_codes)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    /// The options of a command and of its commands, without hidden ones, `--help` and `--version`.
    fn options(command: &clap::Command) -> usize {
        let own = command.get_opts().filter(|option| !option.is_hide_set()).count();
        let flags = ["help", "version"];
        let flags = command.get_opts().filter(|option| flags.contains(&option.get_id().as_str()));
        own - flags.count() + command.get_subcommands().map(options).sum::<usize>()
    }

    #[test]
    fn every_command_stands_in_one_group_and_none_is_invented() {
        let command = Cli::command();
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut shown: Vec<&str> = shown.map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(shown, grouped);
        assert!(shown.len() <= 24, "{}", shown.len());
    }

    #[test]
    fn there_are_at_most_200_options() {
        let count = options(&Cli::command());
        assert!((100..=200).contains(&count), "{count}");
    }

    #[test]
    fn the_first_pages_fit_a_screen_and_every_width() {
        for (width, most) in [(100, 40), (60, 60)] {
            let help = grouped(Cli::command(), width).term_width(width).render_help();
            for page in [help.to_string(), quick_start(width)] {
                assert!(page.lines().count() <= most, "{} lines\n{page}", page.lines().count());
                for line in page.lines() {
                    assert!(line.chars().count() <= width, "{line}");
                }
            }
        }
    }
}
