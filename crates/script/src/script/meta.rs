//! Meta commands: which there are, and which belong to PostgreSQL alone.

use crate::error::Mistake;
use crate::expression::{self, Expression};
use crate::script::Popularity;
use crate::variables::{Names, Slot};

/// A meta command, read.
#[derive(Debug, PartialEq)]
pub(super) enum Meta {
    Set(String, Expression),
    If(Expression),
    Elif(Expression),
    Else,
    Endif,
    Sleep(Expression, u64),
    /// Variable, table, column, popularity.
    Draw(String, String, String, Option<Popularity>),
    /// The prefix of the names of columns.
    Gset(String),
}

/// The commands.
const KNOWN: [&str; 8] = ["set", "if", "elif", "else", "endif", "sleep", "gset", "draw"];

/// Commands of pgbench that SQLite cannot support, with the reason.
const REFUSED: [(&str, &str); 6] = [
    ("aset", "SQLite executes one statement at a time; use \\gset"),
    ("setshell", "scripts run no programs"),
    ("shell", "scripts run no programs"),
    ("startpipeline", "SQLite has no pipelines"),
    ("endpipeline", "SQLite has no pipelines"),
    ("syncpipeline", "SQLite has no pipelines"),
];

/// Reads a command without its backslash; `used` gets each variable that it reads.
pub(super) fn read(text: &str, names: &mut Names, used: &mut Vec<Slot>) -> Result<Meta, Mistake> {
    let text = text.trim();
    let (command, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    match command.to_ascii_lowercase().as_str() {
        "set" => {
            let (name, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            check_name(name, "\\set NAME EXPRESSION")?;
            let value = expression::parse(value, names, used)?;
            Ok(Meta::Set(name.to_owned(), value))
        }
        "if" => expression::parse(rest, names, used).map(Meta::If),
        "elif" => expression::parse(rest, names, used).map(Meta::Elif),
        "else" => nothing_after("else", rest, Meta::Else),
        "endif" => nothing_after("endif", rest, Meta::Endif),
        "sleep" => sleep(rest, names, used),
        "draw" => draw(rest),
        "gset" => {
            if rest.is_empty() || is_name(rest) {
                Ok(Meta::Gset(rest.to_owned()))
            } else {
                Err(Mistake::new("\\gset takes the beginning of names, or nothing"))
            }
        }
        other => Err(unknown(other)),
    }
}

fn unknown(command: &str) -> Mistake {
    match REFUSED.iter().find(|(refused, _)| *refused == command) {
        Some((_, why)) => Mistake::new(format!("\\{command} is not possible: {why}")),
        None => Mistake::unknown(format!("unknown meta command \\{command}"), command, KNOWN),
    }
}

fn nothing_after(command: &str, rest: &str, meta: Meta) -> Result<Meta, Mistake> {
    if rest.is_empty() {
        Ok(meta)
    } else {
        Err(Mistake::new(format!("unexpected `{rest}` after \\{command}")))
    }
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    let first = letters.next();
    first.is_some_and(|c| c.is_alphabetic() || c == '_')
        && letters.all(|c| c.is_alphanumeric() || c == '_')
}

fn check_name(name: &str, form: &str) -> Result<(), Mistake> {
    if is_name(name) {
        Ok(())
    } else {
        Err(Mistake::new(format!("`{name}` is no name of a variable: {form}")))
    }
}

/// `\sleep NUMBER [us|ms|s]`; the number may be a variable, and its unit may follow it at once.
fn sleep(rest: &str, names: &mut Names, used: &mut Vec<Slot>) -> Result<Meta, Mistake> {
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (time, unit) = match digits {
        0 => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        digits => rest.split_at(digits),
    };
    let micros = match unit.trim().to_ascii_lowercase().as_str() {
        "us" => 1,
        "ms" => 1_000,
        "" | "s" => 1_000_000,
        other => {
            return Err(Mistake::new(format!(
                "unknown unit `{other}`: \\sleep NUMBER [us | ms | s]"
            )));
        }
    };
    Ok(Meta::Sleep(expression::parse(time, names, used)?, micros))
}

/// `\draw NAME TABLE.COLUMN [uniform | zipfian PARAMETER]`.
fn draw(rest: &str) -> Result<Meta, Mistake> {
    const FORM: &str = "\\draw NAME TABLE.COLUMN [uniform | zipfian PARAMETER]";
    let words: Vec<&str> = rest.split_whitespace().collect();
    let wrong = || Mistake::new(format!("expected {FORM}"));
    let [name, from, how @ ..] = words.as_slice() else { return Err(wrong()) };
    check_name(name, FORM)?;
    let (table, column) = from.rsplit_once('.').ok_or_else(wrong)?;
    let popularity = match how {
        [] => None,
        ["uniform"] => Some(Popularity::Uniform),
        ["zipfian", parameter] => match parameter.parse() {
            Ok(parameter) if (1.001..=1000.0).contains(&parameter) => {
                Some(Popularity::Zipfian(parameter))
            }
            _ => {
                return Err(Mistake::new("the parameter of zipfian must be from 1.001 to 1000"));
            }
        },
        _ => return Err(wrong()),
    };
    let owned = |text: &str| text.to_owned();
    Ok(Meta::Draw(owned(name), owned(table), owned(column), popularity))
}
