//! Where rows are written: files that are renamed to their places at the end, or standard output.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use engine::ValueRef;
use tempfile::TempPath;

use super::columnar::{ColumnarWriter, GROUP_BYTES, Types};
use super::output::Output;
use super::rows::{Block, Content, Gatherer};
use super::text::TextWriter;
use super::{OutputFormat, Shape, Split, Unload, Unloaded};
use crate::as_text;
use crate::database::is_same_file;
use crate::error::{LoadError, Result};
use crate::staging::{Unfinished, directory};

/// The files of an unload.
pub(super) struct Files<'u> {
    pub(super) shape: Shape<'u>,
    /// The types of the rows so far.
    pub(super) types: Types,
    /// The rows of the current file that are not written yet.
    gatherer: Gatherer,
    /// The final path of the current file, and its folder below the folder of the output.
    pub(super) path: PathBuf,
    folder: PathBuf,
    /// The current file, unless rows go to standard output.
    file: Option<Unfinished>,
    writer: Option<Writer>,
    /// Complete files, with their final paths.
    done: Vec<(TempPath, PathBuf)>,
    /// Rows of the current file, and of all.
    rows: u64,
    pub(super) total: u64,
    /// Bytes of the current file so far, and of the ones before.
    bytes: Arc<AtomicU64>,
    before: u64,
}

/// Writes the rows of a file.
enum Writer {
    Text(Box<TextWriter>),
    Columns(Box<ColumnarWriter>),
}

impl Writer {
    fn write(&mut self, rows: &Content) -> io::Result<()> {
        match (self, rows) {
            (Writer::Text(writer), Content::Text(text)) => writer.write(text),
            (Writer::Columns(writer), Content::Columns(columns)) => {
                writer.write(columns).map_err(io::Error::other)
            }
            _ => Err(io::Error::other("the rows have the form of another format")),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Writer::Text(writer) => writer.finish(),
            Writer::Columns(writer) => writer.finish(),
        }
    }
}

impl<'u> Files<'u> {
    pub(super) fn new(shape: Shape<'u>) -> Files<'u> {
        let output = shape.request.output.clone();
        Files {
            types: Types::of(&shape.columns, shape.schema.is_some()),
            gatherer: Gatherer::new(&shape),
            shape,
            path: output.unwrap_or_else(|| "standard output".into()),
            folder: PathBuf::new(),
            file: None,
            writer: None,
            done: Vec::new(),
            rows: 0,
            total: 0,
            bytes: Arc::default(),
            before: 0,
        }
    }

    /// Writes a row of this folder.
    pub(super) fn push(&mut self, folder: PathBuf, values: &[ValueRef<'_>]) -> Result<()> {
        let ends = match self.shape.request.split {
            Some(Split::Rows(most)) => self.rows >= most,
            Some(Split::Bytes(most)) => self.rows > 0 && self.bytes.load(Ordering::Relaxed) >= most,
            Some(Split::Columns(_)) => self.folder != folder,
            None => false,
        };
        if ends {
            self.end()?;
            self.folder = folder;
        }
        self.gatherer.push(values).map_err(LoadError::write(&self.path))?;
        self.rows += 1;
        self.total += 1;
        if self.gatherer.is_full() { self.flush() } else { Ok(()) }
    }

    /// Writes rows that were gathered elsewhere.
    pub(super) fn push_block(&mut self, block: &Block) -> Result<()> {
        self.total += block.rows;
        self.write(block)
    }

    /// Writes the rows that were gathered.
    fn flush(&mut self) -> Result<()> {
        let block = self.gatherer.take(&self.path)?;
        block.map_or(Ok(()), |block| self.write(&block))
    }

    fn write(&mut self, block: &Block) -> Result<()> {
        self.types.merge(&block.types);
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.begin()?,
        };
        writer.write(&block.content).map_err(LoadError::write(&self.path))?;
        self.writer = Some(writer);
        Ok(())
    }

    /// Begins the next file.
    fn begin(&mut self) -> Result<Writer> {
        let to = self.open()?;
        let unwritable = LoadError::write(&self.path);
        let Unload { form, .. } = self.shape.request;
        let output = Output::new(to, &self.bytes, form.compression, self.shape.request.block());
        let output = output.map_err(&unwritable)?;
        let Some(schema) = &self.shape.schema else {
            let writer = TextWriter::new(output, &self.shape);
            return Ok(Writer::Text(Box::new(writer.map_err(unwritable)?)));
        };
        // Several row groups make a file that is split.
        let group = match self.shape.request.split {
            Some(Split::Bytes(most)) => (most / 4).min(GROUP_BYTES as u64) as usize,
            _ => GROUP_BYTES,
        };
        let writer = ColumnarWriter::new(output, self.shape.request.form.format, schema, group);
        let writer = writer.map_err(|error| unwritable(io::Error::other(error)))?;
        Ok(Writer::Columns(Box::new(writer)))
    }

    /// Opens the next file.
    fn open(&mut self) -> Result<Box<dyn Write + Send>> {
        let Some(path) = &self.shape.request.output else { return Ok(Box::new(io::stdout())) };
        let number = self.done.len() as u64 + 1;
        self.path = match self.shape.request.split {
            None => path.clone(),
            Some(Split::Columns(_)) => {
                let name = path.file_name().unwrap_or_default();
                directory(path).join(&self.folder).join(name)
            }
            Some(_) => part(path, number),
        };
        check_free(&self.path, self.shape.request)?;
        // In the folder that is there; by its number none of these files is taken for a leftover.
        let unfinished = if number > 1 { part(path, number) } else { path.clone() };
        let unwritable = LoadError::write(&self.path);
        let file = Unfinished::next_to(&unfinished).map_err(&unwritable)?;
        let writer = file.writer().map_err(unwritable)?;
        self.file = Some(file);
        Ok(Box::new(writer))
    }

    /// Ends the current file, and closes it: there may be more of them than a process may have open.
    fn end(&mut self) -> Result<()> {
        self.flush()?;
        let Some(writer) = self.writer.take() else { return Ok(()) };
        self.rows = 0;
        let unwritable = LoadError::write(&self.path);
        writer.finish().map_err(&unwritable)?;
        self.before += self.bytes.swap(0, Ordering::Relaxed);
        if let Some(file) = self.file.take() {
            file.sync().map_err(unwritable)?;
            self.done.push((file.closed(), self.path.clone()));
        }
        Ok(())
    }

    /// Ends the last file, which there is even without a row, writes the statements that make the table, and moves all files
    /// to their places.
    pub(super) fn finish(mut self, sql: &str) -> Result<Unloaded> {
        if self.total == 0 {
            self.writer = Some(self.begin()?);
        }
        self.end()?;
        let mut mixed = Vec::new();
        if let Some(path) = &self.shape.request.schema {
            let Unload { form, blobs, .. } = self.shape.request;
            let has_types = matches!(form.format, OutputFormat::Json | OutputFormat::JsonLines);
            let line;
            let classes = self.types.classes();
            (line, mixed) = as_text::line(&self.shape.columns, &classes, *blobs, has_types);
            let sql = if self.shape.schema.is_none() { line + sql } else { sql.to_owned() };
            let unwritable = LoadError::write(path);
            let file = Unfinished::next_to(path).map_err(&unwritable)?;
            let written = file.writer().and_then(|mut writer| writer.write_all(sql.as_bytes()));
            written.and_then(|()| file.sync()).map_err(unwritable)?;
            self.done.push((file.closed(), path.clone()));
        }
        let bytes = self.before + self.bytes.load(Ordering::Relaxed);
        let mut files = Vec::new();
        for (file, path) in self.done {
            let made = std::fs::create_dir_all(directory(&path));
            let moved = made.and_then(|()| file.persist(&path).map_err(|error| error.error));
            moved.map_err(LoadError::write(&path))?;
            if self.shape.request.schema.as_ref() != Some(&path) {
                files.push(path);
            }
        }
        Ok(Unloaded { rows: self.total, bytes, files, mixed, time: Duration::ZERO })
    }
}

/// Returns the path of a part of an output: `people.csv.gz` becomes `people-0001.csv.gz`.
fn part(path: &Path, number: u64) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (stem, ending) = name.split_once('.').unwrap_or((&name, ""));
    let dot = if ending.is_empty() { "" } else { "." };
    path.with_file_name(format!("{stem}-{number:04}{dot}{ending}"))
}

/// Folders that were made for the files of an unload. Those without files go with it.
pub(super) struct NewFolders(Vec<PathBuf>);

impl NewFolders {
    /// Makes the folder of the output, if rows are divided into folders below it.
    ///
    /// # Errors
    /// A folder cannot be made.
    pub(super) fn of(request: &Unload) -> Result<NewFolders> {
        let (Some(path), Some(Split::Columns(_))) = (&request.output, &request.split) else {
            return Ok(NewFolders(Vec::new()));
        };
        let missing = directory(path).ancestors().take_while(|folder| !folder.exists());
        let folders = NewFolders(missing.map(Path::to_owned).collect());
        std::fs::create_dir_all(directory(path)).map_err(LoadError::write(path))?;
        Ok(folders)
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        for folder in &self.0 {
            // One with files stays.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Checks that the request's files can be made.
///
/// # Errors
/// Standard output is to be divided, a file is there or is named twice.
pub(super) fn check(request: &Unload) -> Result<()> {
    if request.output.is_none() && request.split.is_some() {
        let reason = "standard output cannot be split; name a file";
        return Err(LoadError::Definition(reason.to_owned()));
    }
    request.schema.iter().try_for_each(|path| check_free(path, request))?;
    if request.output.is_some() && request.output == request.schema {
        let reason = "rows and statements need a file each";
        return Err(LoadError::Definition(reason.to_owned()));
    }
    Ok(())
}

fn check_free(path: &Path, request: &Unload) -> Result<()> {
    if is_same_file(path, &request.database) {
        let (one, other) = ("the database", "the file to write");
        return Err(LoadError::same_file(path, one, other));
    }
    if !request.replace && path.exists() {
        return Err(LoadError::FileExists(path.to_owned()));
    }
    Ok(())
}
