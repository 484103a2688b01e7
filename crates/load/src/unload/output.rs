//! Where rows are written: files that are renamed to their places at the end, or standard output.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::write::GzEncoder;
use tempfile::TempPath;

use super::{Compression, Split, Unload, part};
use crate::database::is_same_file;
use crate::error::{LoadError, Result};
use crate::staging::{Unfinished, directory};

/// The files of an unload.
pub(super) struct OutputFiles {
    /// The path as it was named; none is standard output.
    path: Option<PathBuf>,
    done: Vec<(TempPath, PathBuf)>,
    current: PathBuf,
    /// The current file, unless rows go to standard output.
    file: Option<Unfinished>,
    /// The folder of the current file, below that of the path.
    pub(super) folder: PathBuf,
    /// Bytes of the current file so far, and of the ones before.
    bytes: Arc<AtomicU64>,
    before: u64,
}

impl OutputFiles {
    /// Returns the place that is named.
    ///
    /// # Errors
    /// The output is the database, or exists and is not to be replaced; or standard output is to be divided.
    pub(super) fn new(request: &Unload) -> Result<OutputFiles> {
        if request.output.is_none() && request.split.is_some() {
            let reason = "standard output cannot be split; name a file";
            return Err(LoadError::Definition(reason.to_owned()));
        }
        let path = request.output.clone();
        let current = path.clone().unwrap_or_else(|| "standard output".into());
        let (done, folder, bytes) = (Vec::new(), PathBuf::new(), Arc::default());
        Ok(OutputFiles { path, done, current, file: None, folder, bytes, before: 0 })
    }

    pub(super) fn path(&self) -> &Path {
        &self.current
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Begins the next file.
    pub(super) fn begin(&mut self, request: &Unload) -> Result<Output> {
        self.before += self.bytes.swap(0, Ordering::Relaxed);
        let to: Box<dyn Write + Send> = match &self.path {
            None => Box::new(io::stdout()),
            Some(path) => {
                let number = self.done.len() as u64 + 1;
                self.current = match request.split {
                    None => path.clone(),
                    Some(Split::Columns(_)) => {
                        let name = path.file_name().unwrap_or_default();
                        directory(path).join(&self.folder).join(name)
                    }
                    Some(_) => part(path, number),
                };
                check_free(&self.current, request)?;
                // In the folder that is there; by its number none of these files is taken for a leftover.
                let unfinished = if number > 1 { part(path, number) } else { path.clone() };
                let unwritable = LoadError::write(&self.current);
                let file = Unfinished::next_to(&unfinished).map_err(&unwritable)?;
                let writer = file.writer().map_err(unwritable)?;
                self.file = Some(file);
                Box::new(writer)
            }
        };
        let counted =
            BufWriter::with_capacity(BUFFER, Counted { to, bytes: Arc::clone(&self.bytes) });
        let output = match request.form.compression {
            Compression::None => Ok(Output::Plain(counted)),
            Compression::Gzip => {
                Ok(Output::Gzip(GzEncoder::new(counted, flate2::Compression::default())))
            }
            Compression::Zstd => zstd::Encoder::new(counted, 0).map(Output::Zstd),
        };
        output.map_err(LoadError::write(&self.current))
    }

    /// Keeps a file that is complete, and closes it: there may be more of them than a process may have open.
    pub(super) fn end(&mut self) -> io::Result<()> {
        if let Some(file) = self.file.take() {
            file.sync()?;
            self.done.push((file.closed(), self.current.clone()));
        }
        Ok(())
    }

    /// Moves all files to their places; returns them and the bytes written.
    pub(super) fn publish(self) -> Result<(Vec<PathBuf>, u64)> {
        let bytes = self.before + self.bytes();
        let mut files = Vec::new();
        for (file, path) in self.done {
            let made = std::fs::create_dir_all(directory(&path));
            let moved = made.and_then(|()| file.persist(&path).map_err(|error| error.error));
            moved.map_err(LoadError::write(&path))?;
            files.push(path);
        }
        Ok((files, bytes))
    }
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

/// Bytes that are written at a time.
const BUFFER: usize = 256 << 10;

/// Counts what is written.
pub(super) struct Counted {
    to: Box<dyn Write + Send>,
    bytes: Arc<AtomicU64>,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.to.write(bytes)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// A file with its compression.
pub(super) enum Output {
    Plain(BufWriter<Counted>),
    Gzip(GzEncoder<BufWriter<Counted>>),
    Zstd(zstd::Encoder<'static, BufWriter<Counted>>),
}

impl Output {
    /// Writes the end.
    pub(super) fn finish(self) -> io::Result<()> {
        let mut buffered = match self {
            Output::Plain(buffered) => buffered,
            Output::Gzip(encoder) => encoder.finish()?,
            Output::Zstd(encoder) => encoder.finish()?,
        };
        buffered.flush()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Plain(output) => output.write(bytes),
            Output::Gzip(output) => output.write(bytes),
            Output::Zstd(output) => output.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Plain(output) => output.flush(),
            Output::Gzip(output) => output.flush(),
            Output::Zstd(output) => output.flush(),
        }
    }
}
