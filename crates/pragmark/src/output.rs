//! Where the answer of a command goes: a file, or standard output.

use std::io::{self, BufWriter, IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};

use app::{Error, Result, files};
use clap::{Args, ValueEnum};
use report::document::Document;
use report::render;
use serde::Serialize;

use crate::exit::Exit;

/// Forms in which a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for the terminal.
    Terminal,
    /// Markdown, for a comment on a pull request.
    Markdown,
    /// One self-contained page.
    Html,
    /// JSON with every figure.
    Json,
}

/// The form of a result, and the file for it.
#[derive(Debug, Args)]
pub struct Output {
    /// Output format [default: the ending of --out; otherwise terminal].
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Write to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Endings of files with data, which a text for the terminal must not have.
const DATA: [&str; 5] = ["csv", "json", "jsonl", "parquet", "sqlite"];

/// Returns the format that was asked for; otherwise the one that the ending of the file names, such as `.html` or `.md`;
/// otherwise the usual one.
///
/// # Errors
/// The ending names a format of data that the command does not write.
pub fn format_for<F: ValueEnum>(asked: Option<F>, out: Option<&Path>, usual: F) -> Result<F> {
    let ending = out.and_then(|path| path.extension()?.to_str());
    let name = match ending {
        Some("htm") => "html",
        Some("md") => "markdown",
        Some("db") => "sqlite",
        other => other.unwrap_or_default(),
    };
    match (asked, F::from_str(name, true)) {
        (Some(format), _) | (None, Ok(format)) => Ok(format),
        (None, Err(_)) if DATA.contains(&name) => {
            let known = F::value_variants().iter().filter_map(F::to_possible_value);
            let known: Vec<String> = known.map(|value| value.get_name().to_owned()).collect();
            let path = out.unwrap_or(Path::new("")).display();
            Err(Error::mistake(format!("--out {path}: the command does not write {name}"))
                .hint(format!("it writes {}", known.join(", "))))
        }
        (None, Err(_)) => Ok(usual),
    }
}

/// Writes to the file, or to standard output by default. A reader that closes the pipe early (`| head`) is not an error.
pub fn write(
    out: Option<&Path>,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Exit> {
    match out {
        Some(path) => files::write(path, fill)?,
        None => match fill(&mut BufWriter::new(stdout().lock())) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                return Err(Error::unusable(format!("cannot write to standard output: {error}")));
            }
            _ => {}
        },
    }
    Ok(Exit::Success)
}

/// Writes a text with names out of files to standard output, without what a terminal would act on.
pub fn display(text: &str) -> Result<Exit> {
    write_text(None, &lab::text::lines(text))
}

/// Writes a text as it is.
pub fn write_text(out: Option<&Path>, text: &str) -> Result<Exit> {
    write(out, |writer| {
        writer.write_all(text.as_bytes())?;
        writer.flush()
    })
}

/// Writes JSON to standard output.
pub fn display_json(value: &impl Serialize) -> Result<Exit> {
    let json = serde_json::to_string_pretty(value).map_err(Error::unusable)?;
    display(&format!("{json}\n"))
}

/// Writes a document that is all that there is.
pub fn write_answer(output: &Output, document: &Document) -> Result<Exit> {
    write_document(output, document, &render::data(document))
}

/// Writes a document, or its data as JSON.
pub fn write_document(output: &Output, document: &Document, data: &impl Serialize) -> Result<Exit> {
    let out = output.out.as_deref();
    let text = match format_for(output.format, out, Format::Terminal)? {
        Format::Terminal => render::terminal(document, terminal_style()),
        Format::Markdown => render::markdown(document),
        Format::Html => app::report::html(document)?,
        Format::Json => {
            let json = serde_json::to_string_pretty(data).map_err(Error::unusable)?;
            format!("{json}\n")
        }
    };
    write_text(out, &text)
}

/// Returns how to print on the terminal at hand.
pub fn terminal_style() -> report::Style {
    // Obeys NO_COLOR, CLICOLOR, CLICOLOR_FORCE and TERM (https://no-color.org, https://bixense.com/clicolors).
    let colour = anstream::AutoStream::choice(&stdout()) != anstream::ColorChoice::Never;
    let width = terminal_size::terminal_size().filter(|_| stdout().is_terminal());
    report::Style { width: width.map_or(100, |(width, _)| usize::from(width.0)), colour }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_in_the_format_of_its_ending() {
        let of = |name| format_for(None, Some(Path::new(name)), Format::Terminal).unwrap();
        assert_eq!(of("page.html"), Format::Html);
        assert_eq!(of("comment.md"), Format::Markdown);
        assert_eq!(of("figures.json"), Format::Json);
        assert_eq!(of("answer.txt"), Format::Terminal);
        assert_eq!(of("answer"), Format::Terminal);
    }

    #[test]
    fn the_format_that_is_asked_for_goes_before_the_ending() {
        let out = Some(Path::new("page.html"));
        let format = format_for(Some(Format::Markdown), out, Format::Terminal);
        assert_eq!(format.unwrap(), Format::Markdown);
    }

    #[test]
    fn data_that_a_command_does_not_write_are_refused() {
        let error = format_for(None, Some(Path::new("a.csv")), Format::Terminal).unwrap_err();
        assert_eq!(error.message, "--out a.csv: the command does not write csv");
    }
}
