//! The effects of a workload on its files, reduced to those that storage can lose.
//!
//! A [`Trace`] stands between the engine's record, which knows calls, and the storage models, which know
//! inodes, sectors, sizes and directory entries. Locks, reads and shared memory are gone; a name that is
//! deleted and made again is a new inode.

use engine::vfs::{Bytes, Call, FileId, FileKind};
use std::collections::HashMap;
use std::path::Path;

/// A file's content, whatever its names; numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Inode(pub usize);

/// A directory entry's name; numbered from 0 in the order in which names appear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(pub usize);

/// One thing done to storage.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // Variants describe their fields.
pub enum Step {
    /// A name was given to a new, empty inode.
    Create { name: Name, inode: Inode },
    /// A name was removed.
    Unlink { name: Name },
    /// Bytes were written, from this offset on.
    Write { inode: Inode, offset: u64, bytes: Box<[u8]> },
    /// The size was set to this number of bytes.
    Truncate { inode: Inode, size: u64 },
    /// An inode was synced.
    Sync { inode: Inode },
    /// A directory was synced: its path as the names have it, empty for names without one.
    SyncDirectory { directory: String },
}

impl Step {
    /// Returns whether it makes earlier steps durable instead of changing anything.
    pub fn is_sync(&self) -> bool {
        matches!(self, Step::Sync { .. } | Step::SyncDirectory { .. })
    }
}

/// A file: its name and content.
pub type File = (String, Bytes);

/// The steps of a workload on files that began as `initial`, all of it durable.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// The names, by their number.
    pub names: Vec<String>,
    /// The bytes that inodes began with; those made later began empty.
    pub initial: Vec<Bytes>,
    /// The inode that each of the first names had at the beginning.
    pub named: Vec<Inode>,
    /// The number of inodes.
    pub inodes: usize,
    /// The steps.
    pub steps: Vec<Step>,
    /// How many steps the first calls of the record came to, by the number of calls.
    pub(crate) cuts: Vec<usize>,
    /// Names of files of kind database, in the order in which they were opened.
    pub databases: Vec<Name>,
    /// The promises of the device of the first database (`SQLITE_IOCAP_*`).
    pub characteristics: Option<i32>,
}

impl Trace {
    /// Returns the trace of a record, made on a file system that held just `initial`. Temporary files are
    /// left out: SQLite never looks for them after a crash.
    pub fn new(initial: &[File], calls: &[Call]) -> Trace {
        let mut builder = Builder::new(initial);
        for call in calls {
            builder.trace.cuts.push(builder.trace.steps.len());
            builder.add(call);
        }
        let steps = builder.trace.steps.len();
        builder.trace.cuts.push(steps);
        builder.trace
    }

    /// Returns the bytes that the steps write.
    pub fn written(&self) -> u64 {
        let writes = self.steps.iter().map(|step| match step {
            Step::Write { bytes, .. } => bytes.len() as u64,
            _ => 0,
        });
        writes.sum()
    }

    /// Returns the number of steps that the first `calls` of the record came to.
    ///
    /// # Panics
    /// If the record had fewer calls.
    pub fn cut_after(&self, calls: usize) -> usize {
        self.cuts[calls]
    }

    /// Returns the directory of a name: everything before its last slash.
    pub fn directory(&self, name: Name) -> &str {
        let name = &self.names[name.0];
        name.rfind('/').map_or("", |slash| &name[..slash])
    }
}

/// Returns whether a file is a database, its journal or its log.
pub(crate) fn is_of(database: &str, file: &str) -> bool {
    file.strip_prefix(database).is_some_and(|suffix| matches!(suffix, "" | "-journal" | "-wal"))
}

/// Builds a trace from calls: keeps the inode of each name and of each open file.
#[derive(Default)]
struct Builder {
    trace: Trace,
    numbers: HashMap<String, Name>,
    present: HashMap<Name, Inode>,
    open: HashMap<FileId, (Name, Inode)>,
}

impl Builder {
    fn new(initial: &[File]) -> Builder {
        let mut builder = Builder::default();
        for (name, bytes) in initial {
            let name = builder.name(name);
            let inode = builder.inode();
            builder.present.insert(name, inode);
            builder.trace.initial.push(bytes.clone());
            builder.trace.named.push(inode);
        }
        builder
    }

    fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.numbers.get(text) {
            return *name;
        }
        let name = Name(self.trace.names.len());
        self.trace.names.push(text.to_owned());
        self.numbers.insert(text.to_owned(), name);
        name
    }

    fn inode(&mut self) -> Inode {
        self.trace.inodes += 1;
        Inode(self.trace.inodes - 1)
    }

    /// Notes a change of a file that is open.
    fn change(&mut self, file: FileId, step: impl FnOnce(Inode) -> Step) {
        self.trace.steps.extend(self.open.get(&file).map(|(_, inode)| step(*inode)));
    }

    fn add(&mut self, call: &Call) {
        match call {
            Call::Open { file, kind, name: Some(name), characteristics, .. }
                if *kind != FileKind::Temporary =>
            {
                self.open(*file, *kind, name, *characteristics)
            }
            Call::Write { file, offset, bytes, .. } => self.change(*file, |inode| Step::Write {
                inode,
                offset: *offset,
                bytes: bytes.clone(),
            }),
            Call::Truncate { file, size, .. } => {
                self.change(*file, |inode| Step::Truncate { inode, size: *size });
            }
            Call::Sync { file, with_directory, .. } => self.sync(*file, *with_directory),
            Call::Delete { name, with_directory, .. } => self.delete(name, *with_directory),
            Call::Close { file, .. } => {
                self.open.remove(file);
            }
            _ => {}
        }
    }

    fn open(&mut self, file: FileId, kind: FileKind, path: &Path, characteristics: i32) {
        let name = self.name(&path.to_string_lossy());
        let inode = match self.present.get(&name) {
            Some(inode) => *inode,
            None => {
                let inode = self.inode();
                self.present.insert(name, inode);
                self.trace.steps.push(Step::Create { name, inode });
                inode
            }
        };
        self.open.insert(file, (name, inode));
        if kind == FileKind::Database {
            self.trace.characteristics.get_or_insert(characteristics);
            if !self.trace.databases.contains(&name) {
                self.trace.databases.push(name);
            }
        }
    }

    fn sync(&mut self, file: FileId, with_directory: bool) {
        let Some((name, inode)) = self.open.get(&file).copied() else { return };
        self.trace.steps.push(Step::Sync { inode });
        if with_directory {
            self.sync_directory(name);
        }
    }

    fn sync_directory(&mut self, name: Name) {
        let directory = self.trace.directory(name).to_owned();
        self.trace.steps.push(Step::SyncDirectory { directory });
    }

    fn delete(&mut self, path: &Path, with_directory: bool) {
        let name = self.name(&path.to_string_lossy());
        if self.present.remove(&name).is_some() {
            self.trace.steps.push(Step::Unlink { name });
        }
        if with_directory {
            self.sync_directory(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::vfs::SyncKind;
    use std::path::PathBuf;

    fn open(file: u64, kind: FileKind, name: &str) -> Call {
        Call::Open {
            file: FileId(file),
            kind,
            name: Some(PathBuf::from(name)),
            flags: 0,
            characteristics: 0x1000,
            sector_size: 4096,
        }
    }

    fn write(file: u64, kind: FileKind) -> Call {
        Call::Write { file: FileId(file), kind, offset: 0, bytes: (*b"x").into() }
    }

    #[test]
    fn a_name_made_again_is_a_new_inode_and_temporary_files_are_left_out() {
        let calls = [
            open(1, FileKind::Database, "d/db"),
            open(2, FileKind::Journal, "d/db-journal"),
            write(2, FileKind::Journal),
            open(3, FileKind::Temporary, "d/temp"),
            write(3, FileKind::Temporary),
            Call::Sync {
                file: FileId(2),
                kind: FileKind::Journal,
                sync: SyncKind { full: false, data_only: false },
                with_directory: true,
            },
            Call::Delete {
                kind: FileKind::Journal,
                name: PathBuf::from("d/db-journal"),
                with_directory: false,
            },
            open(4, FileKind::Journal, "d/db-journal"),
        ];
        let trace = Trace::new(&[("d/db".to_owned(), vec![7].into())], &calls);
        let (db, journal) = (Name(0), Name(1));
        assert_eq!(
            trace.steps,
            [
                Step::Create { name: journal, inode: Inode(1) },
                Step::Write { inode: Inode(1), offset: 0, bytes: (*b"x").into() },
                Step::Sync { inode: Inode(1) },
                Step::SyncDirectory { directory: "d".to_owned() },
                Step::Unlink { name: journal },
                Step::Create { name: journal, inode: Inode(2) },
            ]
        );
        assert_eq!((trace.databases, trace.characteristics), (vec![db], Some(0x1000)));
        assert_eq!(trace.cuts, [0, 0, 1, 2, 2, 2, 4, 5, 6]);
    }
}
