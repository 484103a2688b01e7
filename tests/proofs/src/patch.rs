//! The table of mutations, and the amalgamation with all of them in it.
//!
//! It stands apart because the build script includes it too: it knows texts only.

use serde::Deserialize;
use std::ops::Range;
use thiserror::Error;

/// The table as it was written.
pub const TABLE: &str = include_str!("../mutations.toml");

/// The text before the number of the selected mutation in the compiled library.
pub const MARK: &str = "pragmark-selected-mutation:";

/// The placeholder of [`Mutation::replace`] for "this mutation is selected".
const PLACEHOLDER: &str = "MUTATED";

/// One change to SQLite that breaks a promise.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutation {
    /// Its name.
    pub id: String,
    /// What is taken away, in words.
    pub removes: String,
    /// Why that matters.
    pub why: String,
    /// The instrument that has to notice.
    pub found_by: Instrument,
    /// The settings under which it has to: `journal_mode/synchronous[/locking_mode]`, or
    /// `journal_mode` alone where no crash is needed.
    pub settings: Vec<String>,
    /// Why nothing can be noticed, where the mutation is believed to change nothing.
    pub equivalent: Option<String>,
    /// Why the instruments do not reach what it changes.
    pub beyond: Option<String>,
    /// The mutation that is selected as well: one that changes nothing by itself, but brings about what this one is about.
    pub with: Option<String>,
    /// Text of `sqlite3.c` that occurs exactly once.
    pub find: String,
    /// The replacement, with `MUTATED` for "this mutation is selected".
    pub replace: String,
}

/// What can notice a mutation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Instrument {
    /// Images after a crash.
    Crash,
    /// Schedules of two connections.
    Schedule,
    /// The system calls of a few commits.
    Syncs,
    /// The end of the process that recovers crash images.
    Process,
}

/// What is wrong with the table, or with its fit to a version of SQLite.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PatchError {
    /// The table is not valid.
    #[error("the table of mutations is not valid: {0}")]
    Table(String),
    /// The text is not in this version of SQLite, or more than once.
    #[error(
        "{id}: its text occurs {times} times in this sqlite3.c instead of once; update mutations.toml"
    )]
    Occurrences {
        /// The mutation.
        id: String,
        /// How often the text occurs.
        times: usize,
    },
    /// Two mutations want to change the same text.
    #[error("{first} and {second} change the same text")]
    Overlap {
        /// The one that comes first in the file.
        first: String,
        /// The other.
        second: String,
    },
    /// A mutation that is to be selected as well, but that the table does not have.
    #[error("{id}: there is no mutation {with} to select with it")]
    With {
        /// The mutation.
        id: String,
        /// The other.
        with: String,
    },
    /// A replacement that does not depend on its mutation.
    #[error("{0}: its replacement lacks MUTATED, so it could not be switched off")]
    Unconditional(String),
}

#[derive(Deserialize)]
struct Table {
    mutation: Vec<Mutation>,
}

/// The mutations of a table; the number of each is its position, counted from 1.
///
/// # Errors
/// [`PatchError::Table`], and [`PatchError::Unconditional`].
pub fn parse(table: &str) -> Result<Vec<Mutation>, PatchError> {
    let table: Table =
        toml::from_str(table).map_err(|error| PatchError::Table(error.to_string()))?;
    let all = &table.mutation;
    if let Some(mutation) = all.iter().find(|it| !it.replace.contains(PLACEHOLDER)) {
        return Err(PatchError::Unconditional(mutation.id.clone()));
    }
    for mutation in all {
        if let Some(with) = &mutation.with
            && number(all, with).is_none()
        {
            let (id, with) = (mutation.id.clone(), with.clone());
            return Err(PatchError::With { id, with });
        }
    }
    Ok(table.mutation)
}

/// The number of the mutation of that name.
pub fn number(mutations: &[Mutation], id: &str) -> Option<u8> {
    let position = mutations.iter().position(|mutation| mutation.id == id)?;
    u8::try_from(position + 1).ok()
}

/// The source with every mutation that fits in it, and what is wrong with the others.
pub fn apply(source: &str, mutations: &[Mutation]) -> (String, Vec<PatchError>) {
    let mut problems = Vec::new();
    let mut changes: Vec<(Range<usize>, usize)> = Vec::new();
    for (index, mutation) in mutations.iter().enumerate() {
        match position(source, mutation) {
            Ok(range) => changes.push((range, index)),
            Err(problem) => problems.push(problem),
        }
    }
    changes.sort_by_key(|(range, _)| range.start);
    let mut patched = String::with_capacity(source.len() + 0x10000);
    patched.push_str(&prologue());
    let mut done = 0;
    let mut last = None;
    for (range, index) in changes {
        let mutation = &mutations[index];
        if let Some(first) = last.filter(|_| range.start < done) {
            let first: &Mutation = first;
            problems
                .push(PatchError::Overlap { first: first.id.clone(), second: mutation.id.clone() });
            continue;
        }
        patched.push_str(&source[done..range.start]);
        let selected = format!("PRAGMARK_SELECTED({})", index + 1);
        patched.push_str(&mutation.replace.replace(PLACEHOLDER, &selected));
        done = range.end;
        last = Some(mutation);
    }
    patched.push_str(&source[done..]);
    (patched, problems)
}

fn position(source: &str, mutation: &Mutation) -> Result<Range<usize>, PatchError> {
    let mut positions = source.match_indices(&mutation.find);
    match (positions.next(), positions.count()) {
        (Some((start, found)), 0) => Ok(start..start + found.len()),
        (first, more) => Err(PatchError::Occurrences {
            id: mutation.id.clone(),
            times: usize::from(first.is_some()) + more,
        }),
    }
}

/// The numbers that select a mutation and another one with it: constant data that the compiler must not look into, so that a
/// copy of the library with other numbers is another mutant.
fn prologue() -> String {
    format!(
        "static const volatile struct {{ char aMark[{}]; unsigned char iSelected; unsigned char iWith; }} \
         pragmarkMutation = {{ \"{MARK}\", 0, 0 }};\n\
         #define PRAGMARK_SELECTED(n) (pragmarkMutation.iSelected==(n) || pragmarkMutation.iWith==(n))\n",
        MARK.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutation(id: &str, find: &str, replace: &str) -> Mutation {
        Mutation {
            id: id.to_owned(),
            removes: String::new(),
            why: String::new(),
            found_by: Instrument::Crash,
            settings: Vec::new(),
            equivalent: None,
            beyond: None,
            with: None,
            find: find.to_owned(),
            replace: replace.to_owned(),
        }
    }

    #[test]
    fn a_mutation_takes_the_place_of_its_text_under_its_number() {
        let mutations = [
            mutation("second", "c();", "if( !MUTATED ) c();"),
            mutation("first", "a();", "if( !MUTATED ) a();"),
        ];
        let (patched, problems) = apply("a(); b(); c();", &mutations);
        assert_eq!(problems, []);
        assert!(
            patched.ends_with(
                "if( !PRAGMARK_SELECTED(2) ) a(); b(); if( !PRAGMARK_SELECTED(1) ) c();"
            ),
            "{patched}"
        );
    }

    #[test]
    fn a_text_that_is_gone_or_ambiguous_is_named_and_left_alone() {
        let mutations = [mutation("gone", "z();", "MUTATED"), mutation("twice", "a();", "MUTATED")];
        let (patched, problems) = apply("a(); a();", &mutations);
        assert!(patched.ends_with("a(); a();"));
        let texts: Vec<String> = problems.iter().map(PatchError::to_string).collect();
        assert!(texts[0].starts_with("gone: its text occurs 0 times"), "{texts:?}");
        assert!(texts[1].starts_with("twice: its text occurs 2 times"), "{texts:?}");
    }

    #[test]
    fn two_mutations_of_one_text_are_reported() {
        let mutations =
            [mutation("one", "a(); b();", "MUTATED"), mutation("two", "b();", "MUTATED")];
        let (_, problems) = apply("a(); b();", &mutations);
        assert_eq!(
            problems,
            [PatchError::Overlap { first: "one".to_owned(), second: "two".to_owned() }]
        );
    }

    #[test]
    fn a_mutation_that_needs_one_which_is_not_there_is_refused() {
        let table = "[[mutation]]\nid = 'x'\nremoves = ''\nwhy = ''\nfound_by = 'crash'\n\
                     settings = []\nwith = 'y'\nfind = 'a'\nreplace = 'MUTATED'\n";
        let error = parse(table).unwrap_err();
        assert_eq!(error.to_string(), "x: there is no mutation y to select with it");
    }

    #[test]
    fn a_mutation_that_cannot_be_switched_off_is_refused() {
        let table = "[[mutation]]\nid = 'x'\nremoves = ''\nwhy = ''\nfound_by = 'crash'\n\
                     settings = []\nfind = 'a'\nreplace = 'b'\n";
        assert_eq!(parse(table).unwrap_err(), PatchError::Unconditional("x".to_owned()));
    }
}
