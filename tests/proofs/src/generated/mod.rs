//! Mutants that are computed from the text of `sqlite3.c` instead of chosen: each condition and each call that concerns
//! durability, recovery or locks is one, and so are effects on files in the other order.
//!
//! All of them are in one library, where a number selects one. What is inserted for them keeps the order of the text, so that they can lie
//! within each other.

mod source;
mod unnoticed;

use engine::{COMPILE_OPTIONS, link_arguments};
use source::{Function, blocks, code_only, functions, names, parentheses};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use unnoticed::{Unnoticed, Verdict, unnoticed};

/// The text before the number of the selected mutant in the compiled library.
const MARK: &str = "pragmark-generated-mutant:";

/// The variable that names the file of what a library was run through.
pub const COVERAGE: &str = "PRAGMARK_COVERAGE";

/// Calls through which SQLite changes files, shared memory and locks. Functions that make them have effects, too.
const EFFECTS: [&str; 19] = [
    "sqlite3OsWrite", "sqlite3OsTruncate", "sqlite3OsSync", "sqlite3OsDelete", "sqlite3OsLock",
    "sqlite3OsUnlock", "sqlite3OsShmLock", "sqlite3OsShmBarrier", "sqlite3OsShmUnmap",
    "sqlite3OsSleep", "full_fsync", "fdatasync", "robust_ftruncate", "osSetPosixAdvisoryLock",
    "osUnlink", "osOpenDirectory", "osPwrite", "osPwrite64", "osFcntl",
];

/// Calls through which it learns of files and locks. Functions that make them decide on recovery.
const LOOKS: [&str; 8] = [
    "sqlite3OsRead",
    "sqlite3OsFileSize",
    "sqlite3OsAccess",
    "sqlite3OsCheckReservedLock",
    "sqlite3OsShmMap",
    "sqlite3OsOpen",
    "sqlite3OsFetch",
    "osFstat",
];

/// The change that makes a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A condition means its opposite.
    Negated,
    /// A condition, evaluated, never holds.
    Never,
    /// A call is left out, and its result is 0.
    Uncalled,
    /// A statement comes after the one that follows it.
    Swapped,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Negated => "negated",
            Kind::Never => "never",
            Kind::Uncalled => "uncalled",
            Kind::Swapped => "swapped",
        }
    }
}

/// A mutant; its number is its position, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// Function, number of the place in it, and kind.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// The line of `sqlite3.c`.
    pub line: usize,
}

/// A place of the text at which there are mutants.
#[derive(Debug, Clone)]
enum Place {
    Condition(Range<usize>),
    Call { whole: Range<usize>, returns_nothing: bool },
    Pair { first: Range<usize>, end: usize },
}

/// Where something is inserted, in an order that lets ranges lie within each other: at one position, first the ends of ranges, the
/// inner ones first, then their beginnings, the outer ones first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    at: usize,
    is_before: bool,
    other_end: Reverse<usize>,
    rank: u8,
}

impl Position {
    fn before(range: &Range<usize>, rank: u8) -> Position {
        Position { at: range.start, is_before: true, other_end: Reverse(range.end), rank }
    }

    fn after(range: &Range<usize>, rank: u8) -> Position {
        Position { at: range.end, is_before: false, other_end: Reverse(range.start), rank }
    }
}

impl Place {
    fn begin(&self) -> usize {
        match self {
            Place::Condition(range) | Place::Call { whole: range, .. } => range.start,
            Place::Pair { first, .. } => first.start,
        }
    }

    /// Returns the insertions at the place for mutants from this number on.
    fn insertions(&self, source: &str, number: usize) -> Vec<(Position, String)> {
        match self {
            Place::Condition(range) => vec![
                (Position::before(range, 0), "(((".to_owned()),
                (
                    Position::after(range, 1),
                    format!(")!=0)!=PRAGMARK_IS({number})) && !PRAGMARK_IS({})", number + 1),
                ),
            ],
            Place::Call { whole, returns_nothing } => {
                let nothing = if *returns_nothing { "(void)0" } else { "0" };
                let before = format!("(PRAGMARK_IS({number}) ? {nothing} : ");
                vec![
                    (Position::before(whole, 1), before),
                    (Position::after(whole, 0), ")".to_owned()),
                ]
            }
            Place::Pair { first, end } => {
                let late = format!(" if( PRAGMARK_IS({number}) ){{ {} }}", &source[first.clone()]);
                vec![
                    (Position::before(first, 0), format!("if( !PRAGMARK_IS({number}) ){{ ")),
                    (Position::after(first, 1), " }".to_owned()),
                    (Position::after(&(first.start..*end), 1), late),
                ]
            }
        }
    }

    fn kinds(&self) -> &'static [Kind] {
        match self {
            Place::Condition(_) => &[Kind::Negated, Kind::Never],
            Place::Call { .. } => &[Kind::Uncalled],
            Place::Pair { .. } => &[Kind::Swapped],
        }
    }
}

/// `sqlite3.c` with all mutants, none of them selected.
#[derive(Debug, Clone)]
pub struct Amalgamation {
    /// The mutants.
    pub mutants: Vec<Generated>,
    text: String,
}

impl Amalgamation {
    /// Generates the mutants of a text of `sqlite3.c`.
    ///
    /// # Errors
    /// The C compiler cannot be started, or refuses the text.
    pub fn of(source: &str, folder: &Path) -> Result<Amalgamation, String> {
        let all = places(source);
        let compiled = compiled_places(source, &all, folder)?;
        let places = all.into_iter().enumerate().filter(|(number, _)| compiled.contains(number));
        let mut ordinals: HashMap<(String, Kind), usize> = HashMap::new();
        let (mut line, mut counted) = (1, 0);
        let mut mutants = Vec::new();
        let mut insertions = BTreeMap::new();
        for (_, (function, place)) in places {
            line += source[counted..place.begin()].matches('\n').count();
            counted = place.begin();
            let ordinal = ordinals.entry((function.clone(), place.kinds()[0])).or_default();
            *ordinal += 1;
            insertions.extend(place.insertions(source, mutants.len() + 1));
            mutants.extend(place.kinds().iter().map(|kind| Generated {
                name: format!("{function}-{ordinal}-{}", kind.name()),
                kind: *kind,
                line,
            }));
        }
        let text = format!(
            "{}{}{EPILOGUE}",
            PROLOGUE.replace("@TEXT@", MARK).replace("@COUNT@", &(mutants.len() + 1).to_string()),
            inserted(source, &insertions)
        );
        Ok(Amalgamation { mutants, text })
    }

    /// The text with all mutants.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Compiles the library with this optimisation, for `with_coverage` as one that writes what it was run through.
    ///
    /// # Errors
    /// The text cannot be written, or does not compile.
    pub fn compile(
        &self,
        folder: &Path,
        optimisation: &str,
        with_coverage: bool,
    ) -> Result<PathBuf, String> {
        let name = if with_coverage { "coverage" } else { "generated" };
        let (text, library) = (folder.join(format!("{name}.c")), folder.join(format!("{name}.so")));
        std::fs::write(&text, &self.text)
            .map_err(|error| format!("{}: {error}", text.display()))?;
        let mut command = compiler();
        command
            .args([optimisation, "-fPIC", "-Werror=implicit-function-declaration"])
            .args(with_coverage.then_some("-DPRAGMARK_COVERAGE"));
        command.arg(&text).arg("-o").arg(&library).args(link_arguments(std::env::consts::OS));
        output(command)?;
        Ok(library)
    }
}

/// The library with the mutant of a number selected.
///
/// # Errors
/// The compiler treated the mark in a way that was not foreseen.
pub fn selected(library: &[u8], number: usize) -> Result<Vec<u8>, String> {
    let windows = library.windows(MARK.len()).enumerate();
    let marks: Vec<usize> =
        windows.filter(|(_, window)| *window == MARK.as_bytes()).map(|(at, _)| at).collect();
    let [at] = marks[..] else { return Err(format!("{} marks instead of one", marks.len())) };
    let mut library = library.to_vec();
    let number = u16::try_from(number).map_err(|error| error.to_string())?;
    library[at + MARK.len()..][..2].copy_from_slice(&number.to_le_bytes());
    Ok(library)
}

/// The text with the insertions.
fn inserted(source: &str, insertions: &BTreeMap<Position, String>) -> String {
    let mut text = String::with_capacity(2 * source.len());
    let mut done = 0;
    for (position, insertion) in insertions {
        text.push_str(&source[done..position.at]);
        text.push_str(insertion);
        done = position.at;
    }
    text.push_str(&source[done..]);
    text
}

/// All places, in the order of the text, each with its function.
fn places(source: &str) -> Vec<(String, Place)> {
    let code = code_only(source);
    let files = ["os_unix.c", "pager.c", "wal.c", "btree.c"].map(|file| {
        let part = part(source, file);
        (file, functions(&code, part))
    });
    let all: Vec<&Function> = files.iter().flat_map(|(_, functions)| functions).collect();
    let effects = reaching(&code, &all, &EFFECTS);
    let looks = reaching(&code, &all, &LOOKS);
    let mut places = Vec::new();
    for (file, functions) in &files {
        for function in functions {
            let name = function.name.as_str();
            let is_chosen = match *file {
                "btree.c" => changes_first_page(&code, function),
                // Not ways of locking that have to be asked for, nor numbers of files and at random.
                "os_unix.c" => {
                    effects.contains(name)
                        && !["dotlock", "nolock", "robust_open", "unixRandomness"]
                            .iter()
                            .any(|other| name.starts_with(other))
                }
                _ => effects.contains(name) || looks.contains(name),
            };
            if is_chosen {
                let found = places_of(source, &code, function, &effects, &all);
                places.extend(found.into_iter().map(|place| (name.to_owned(), place)));
            }
        }
    }
    places
}

/// The part of the amalgamation that comes from a file.
fn part(source: &str, file: &str) -> Range<usize> {
    let begin = source.find(&format!("/************** Begin file {file} ***")).unwrap_or(0);
    let end = source.find(&format!("/************** End of {file} ***"));
    begin..end.unwrap_or(begin)
}

/// The calls of a list, and the functions that make them or call such functions.
fn reaching(code: &[u8], all: &[&Function], calls: &[&str]) -> HashSet<String> {
    let mut reaching: HashSet<String> = calls.iter().map(|call| (*call).to_owned()).collect();
    loop {
        let before = reaching.len();
        for function in all {
            if names(code, function.body.clone()).any(|(_, name)| reaching.contains(name)) {
                reaching.insert(function.name.clone());
            }
        }
        if reaching.len() == before {
            return reaching;
        }
    }
}

/// Whether a function of the B-tree writes to the page that holds the database's own size, free pages and cookies.
fn changes_first_page(code: &[u8], function: &Function) -> bool {
    let mut names = names(code, function.body.clone());
    names.any(|(at, name)| {
        let argument = parentheses(code, at + name.len());
        let argument = argument.filter(|_| name == "sqlite3PagerWrite");
        argument.is_some_and(|(argument, _)| {
            self::names(code, argument).any(|(_, name)| name == "pPage1" || name == "pP1")
        })
    })
}

fn places_of(
    source: &str,
    code: &[u8],
    function: &Function,
    effects: &HashSet<String>,
    all: &[&Function],
) -> Vec<Place> {
    let mut places = Vec::new();
    for (at, name) in names(code, function.body.clone()) {
        let Some((inside, end)) = parentheses(code, at + name.len()) else { continue };
        let opens = names(code, inside.clone()).next().map(|(_, name)| name);
        // A condition that the authors consider certain.
        let is_certain = matches!(opens, Some("NEVER" | "ALWAYS"));
        if name == "if" && !is_certain {
            places.push(Place::Condition(inside));
        } else if effects.contains(name) {
            let is_it = |function: &&&Function| function.name == name;
            let returns_nothing = name == "sqlite3OsShmBarrier"
                || all.iter().find(is_it).is_some_and(|function| function.returns_nothing);
            places.push(Place::Call { whole: at..end, returns_nothing });
        }
    }
    for block in blocks(code, function.body.clone()) {
        let pairs = block.windows(2).filter(|pair| is_pair(source, code, pair, effects));
        places.extend(pairs.map(|pair| Place::Pair { first: pair[0].clone(), end: pair[1].end }));
    }
    places.sort_by_key(Place::begin);
    places
}

/// Whether two statements change files or locks, and can change places.
fn is_pair(source: &str, code: &[u8], pair: &[Range<usize>], effects: &HashSet<String>) -> bool {
    let has_effect = |statement: &Range<usize>| {
        names(code, statement.clone()).any(|(_, name)| effects.contains(name))
    };
    let is_movable = |statement: &Range<usize>| {
        let mut names = names(code, statement.clone());
        let Some((at, first)) = names.next() else { return false };
        let next = code[at + first.len()..].iter().find(|byte| !byte.is_ascii_whitespace());
        let is_declaration = code[at + first.len()].is_ascii_whitespace()
            && next.is_some_and(|next| next.is_ascii_alphabetic() || *next == b'*')
            && !matches!(first, "do" | "else");
        !is_declaration && !matches!(first, "return" | "goto" | "assert" | "testcase")
    };
    let between = &source[pair[0].end..pair[1].start];
    let is_undivided = !between.lines().any(|line| line.starts_with('#'));
    is_undivided && pair.iter().all(|statement| has_effect(statement) && is_movable(statement))
}

/// The numbers of places that are compiled: the others lie between directives that exclude them, or in assertions.
fn compiled_places(
    source: &str,
    places: &[(String, Place)],
    folder: &Path,
) -> Result<HashSet<usize>, String> {
    const SIGN: &str = "PRAGMARK_PLACE_";
    let signs = places.iter().enumerate().map(|(number, (_, place))| {
        // Numbers keep several signs at one position apart.
        let range = place.begin()..number;
        (Position::before(&range, 0), format!(" {SIGN}{number} "))
    });
    let text = folder.join("places.c");
    std::fs::write(&text, inserted(source, &signs.collect()))
        .map_err(|error| format!("{}: {error}", text.display()))?;
    let mut command = compiler();
    command.args(["-E", "-P"]).arg(&text);
    let expanded = output(command)?;
    let after_signs = expanded.split(SIGN).skip(1);
    Ok(after_signs
        .filter_map(|rest| rest.split(|it: char| !it.is_ascii_digit()).next()?.parse().ok())
        .collect())
}

/// The C compiler with the options of the default engine.
fn compiler() -> Command {
    let mut command = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    command.arg("-w").args(COMPILE_OPTIONS.iter().map(engine::CompileOption::define));
    command
}

fn output(mut command: Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("cannot start the compiler: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!("the compiler failed: {}", errors.lines().take(20).collect::<Vec<_>>().join("\n")))
}

/// A number that selects a mutant, which the compiler must not look into, and for coverage a byte for each mutant.
const PROLOGUE: &str = r#"
static const volatile struct { char aMark[sizeof("@TEXT@")-1]; unsigned char aNumber[2]; }
  pragmarkSelected = { "@TEXT@", { 0, 0 } };
#ifdef PRAGMARK_COVERAGE
static unsigned char pragmarkUnseen[@COUNT@];
static unsigned char *pragmarkSeen = pragmarkUnseen;
# define PRAGMARK_SEES(n) (pragmarkSeen[n] = 1)
#else
# define PRAGMARK_SEES(n) 0
#endif
#define PRAGMARK_IS(n) (PRAGMARK_SEES(n), \
  pragmarkSelected.aNumber[0]==((n)&255) && pragmarkSelected.aNumber[1]==((n)>>8))
"#;

const EPILOGUE: &str = r#"
#ifdef PRAGMARK_COVERAGE
#include <stdlib.h>
__attribute__((constructor)) static void pragmarkOpenCoverage(void){
  const char *zFile = getenv("PRAGMARK_COVERAGE");
  int fd = zFile ? open(zFile, O_RDWR|O_CREAT, 0644) : -1;
  if( fd>=0 && ftruncate(fd, sizeof(pragmarkUnseen))==0 ){
    void *p = mmap(0, sizeof(pragmarkUnseen), PROT_READ|PROT_WRITE, MAP_SHARED, fd, 0);
    if( p!=MAP_FAILED ) pragmarkSeen = (unsigned char*)p;
  }
}
#endif
"#;
