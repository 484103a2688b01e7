//! Where rows are written: files that are renamed to their places at the end, or standard output.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrow_schema::SchemaRef;
use engine::{Connection, ValueRef};
use tempfile::TempPath;

use super::columnar::{self, ColumnarWriter, GROUP_BYTES};
use super::output::{Output, Writer};
use super::text::TextWriter;
use super::{OutputFormat, Split, Unload, Unloaded};
use crate::as_text::{self, Classes};
use crate::database::is_same_file;
use crate::error::{LoadError, Result};
use crate::sql::quoted;
use crate::staging::{Unfinished, directory};
use crate::table::Column;

/// The files of an unload.
pub(super) struct Files<'u> {
    request: &'u Unload,
    pub(super) columns: Vec<Column>,
    /// Whether a delimiter ends each row: a row with nothing but NULL would be an empty line otherwise.
    ends_with_delimiter: bool,
    /// The storage classes of each column.
    classes: Vec<Classes>,
    /// Of a format whose columns have types.
    schema: Option<SchemaRef>,
    /// The final path of the current file, and its folder below the folder of the output.
    path: PathBuf,
    folder: PathBuf,
    /// The current file, unless rows go to standard output.
    file: Option<Unfinished>,
    writer: Option<Box<dyn Writer>>,
    /// Complete files, with their final paths.
    done: Vec<(TempPath, PathBuf)>,
    /// Rows of the current file, and of all.
    rows: u64,
    pub(super) total: u64,
    /// Bytes of the current file so far, and of the ones before.
    bytes: Arc<AtomicU64>,
    before: u64,
}

impl<'u> Files<'u> {
    /// Prepares the files for a query of these columns.
    ///
    /// # Errors
    /// Standard output is to be divided, or a column has no type; SQLite's.
    pub(super) fn new(
        connection: &Connection,
        request: &'u Unload,
        query: &str,
        columns: Vec<Column>,
    ) -> Result<Files<'u>> {
        if request.output.is_none() && request.split.is_some() {
            let reason = "standard output cannot be split; name a file";
            return Err(LoadError::Definition(reason.to_owned()));
        }
        request.schema.iter().try_for_each(|path| check_free(path, request))?;
        if request.output.is_some() && request.output == request.schema {
            let reason = "rows and statements need a file each";
            return Err(LoadError::Definition(reason.to_owned()));
        }
        let input = request.database.display().to_string();
        let is_columnar = request.form.is_columnar();
        let schema = is_columnar.then(|| columnar::schema(connection, &input, query, &columns));
        let has_null = || {
            let name = quoted(&columns[0].name);
            connection
                .query_i64(&format!("SELECT EXISTS (SELECT 1 FROM ({query}) WHERE {name} IS NULL)"))
        };
        let is_delimited = matches!(request.form.format, OutputFormat::Csv | OutputFormat::Tsv);
        Ok(Files {
            request,
            ends_with_delimiter: is_delimited && columns.len() == 1 && has_null()? == 1,
            schema: schema.transpose()?,
            classes: vec![Classes::default(); columns.len()],
            columns,
            path: request.output.clone().unwrap_or_else(|| "standard output".into()),
            folder: PathBuf::new(),
            file: None,
            writer: None,
            done: Vec::new(),
            rows: 0,
            total: 0,
            bytes: Arc::default(),
            before: 0,
        })
    }

    /// Writes a row of this folder.
    pub(super) fn push(&mut self, folder: PathBuf, values: &[ValueRef<'_>]) -> Result<()> {
        let ends = match self.request.split {
            Some(Split::Rows(most)) => self.rows >= most,
            Some(Split::Bytes(most)) => self.rows > 0 && self.bytes.load(Ordering::Relaxed) >= most,
            Some(Split::Columns(_)) => self.folder != folder,
            None => false,
        };
        if ends {
            self.end()?;
            self.folder = folder;
        }
        self.classes.iter_mut().zip(values).for_each(|(classes, value)| classes.add(value));
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.begin()?,
        };
        writer.row(values).map_err(LoadError::write(&self.path))?;
        self.writer = Some(writer);
        self.rows += 1;
        self.total += 1;
        Ok(())
    }

    /// Begins the next file.
    fn begin(&mut self) -> Result<Box<dyn Writer>> {
        self.before += self.bytes.swap(0, Ordering::Relaxed);
        let to = self.open()?;
        let unwritable = LoadError::write(&self.path);
        let output = Output::new(to, Arc::clone(&self.bytes), self.request.form.compression);
        let output = output.map_err(&unwritable)?;
        let Some(schema) = &self.schema else {
            let ends = self.ends_with_delimiter;
            let writer = TextWriter::new(output, self.request, &self.columns, ends);
            return Ok(Box::new(writer.map_err(unwritable)?));
        };
        // Several row groups make a file that is split.
        let group = match self.request.split {
            Some(Split::Bytes(most)) => (most / 4).min(GROUP_BYTES as u64) as usize,
            _ => GROUP_BYTES,
        };
        let writer = ColumnarWriter::new(output, self.request.form.format, schema, group);
        Ok(Box::new(writer.map_err(|error| unwritable(io::Error::other(error)))?))
    }

    /// Opens the next file.
    fn open(&mut self) -> Result<Box<dyn Write + Send>> {
        let Some(path) = &self.request.output else { return Ok(Box::new(io::stdout())) };
        let number = self.done.len() as u64 + 1;
        self.path = match self.request.split {
            None => path.clone(),
            Some(Split::Columns(_)) => {
                let name = path.file_name().unwrap_or_default();
                directory(path).join(&self.folder).join(name)
            }
            Some(_) => part(path, number),
        };
        check_free(&self.path, self.request)?;
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
        let Some(writer) = self.writer.take() else { return Ok(()) };
        self.rows = 0;
        let unwritable = LoadError::write(&self.path);
        writer.finish().map_err(&unwritable)?;
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
        if let Some(path) = &self.request.schema {
            let Unload { form, blobs, .. } = self.request;
            let has_types = matches!(form.format, OutputFormat::Json | OutputFormat::JsonLines);
            let line;
            (line, mixed) = as_text::line(&self.columns, &self.classes, *blobs, has_types);
            let sql = if self.schema.is_none() { line + sql } else { sql.to_owned() };
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
            if self.request.schema.as_ref() != Some(&path) {
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
