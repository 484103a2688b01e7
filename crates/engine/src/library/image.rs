//! The mapped image of a library, and the private copy it is mapped from.
//!
//! It stands apart because it alone speaks to the dynamic loader and differs between systems.
//!
//! Taking the name out of a copy of a library.
//!
//! The dynamic loader takes a mapped library for the requested one if it calls itself
//! so (`DT_SONAME`, elf(5)). A copy that kept its name would thus be found instead of the
//! system's library. It stands apart because it alone reads ELF files; it is free of unsafe code.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library as Mapped, RTLD_LOCAL, RTLD_NOW};

use super::{Origin, Source};
use crate::build::provenance;
use crate::error::{EngineError, Result};

/// The default engine, compiled by the build script.
static DEFAULT_ENGINE: &[u8] = include_bytes!(env!("PRAGMARK_DEFAULT_ENGINE"));

/// The engine of explanations.
static EXPLAINING_ENGINE: &[u8] = include_bytes!(env!("PRAGMARK_EXPLAINING_ENGINE"));

impl Source {
    /// Returns the bytes of the shared library, for programs that load it in their own way; `None` for the
    /// system's own, which they find by themselves.
    ///
    /// # Errors
    /// The file is unreadable, or not the one that was kept.
    pub fn bytes(&self) -> Result<Option<Cow<'static, [u8]>>> {
        match self {
            Source::Embedded => Ok(Some(Cow::Borrowed(DEFAULT_ENGINE))),
            Source::Explaining => Ok(Some(Cow::Borrowed(EXPLAINING_ENGINE))),
            Source::Path(path) => read(path).map(|bytes| Some(Cow::Owned(bytes))),
            Source::System => Ok(None),
        }
    }
}

/// Reads a library, which must be the one that was kept.
fn read(path: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(path).map_err(|error| {
        EngineError::Library(format!("cannot read the SQLite library {}: {error}", path.display()))
    })?;
    provenance::check(path, &bytes)?;
    Ok(bytes)
}

/// A library mapped into the process.
pub(super) struct Image {
    mapped: Mapped,
    pub(super) origin: Origin,
    /// Kept as long as the image: the dynamic loader takes two libraries of one name for the same,
    /// so the name of the copy must not be used again while this one is mapped.
    _copy: Option<copy::Copy>,
}

impl Image {
    pub(super) fn load(source: &Source) -> Result<Image> {
        let Some(bytes) = source.bytes()? else { return system::load() };
        let origin = match source {
            Source::Path(path) => Origin::File(path.clone()),
            Source::Embedded | Source::Explaining | Source::System => Origin::Embedded,
        };
        Image::from_bytes(bytes, origin)
    }

    fn from_bytes(mut bytes: Cow<'_, [u8]>, origin: Origin) -> Result<Image> {
        let path = path_of(&origin).to_owned();
        // The loader would otherwise find this copy when the system's library is requested.
        if let Some(offset) = offset(&bytes) {
            remove(bytes.to_mut(), offset);
        }
        let copy = copy::Copy::of(&bytes).map_err(|error| {
            let path = path.display();
            EngineError::Library(format!("cannot make a private copy of {path} to load: {error}"))
        })?;
        let mapped = open(&copy.path()).map_err(|reason| {
            let what = format!("is not a shared library that can be loaded here: {reason}");
            EngineError::library(&path, what)
        })?;
        Ok(Image { mapped, origin, _copy: Some(copy) })
    }

    pub(super) fn handle(&self) -> &Mapped {
        &self.mapped
    }

    /// Returns the path for messages.
    pub(super) fn path(&self) -> &Path {
        path_of(&self.origin)
    }
}

fn path_of(origin: &Origin) -> &Path {
    match origin {
        Origin::Embedded => Path::new("(the default engine)"),
        Origin::System(path) | Origin::File(path) => path,
    }
}

/// Maps a library; the error is the dynamic loader's message.
fn open(path: &Path) -> Result<Mapped, String> {
    // SAFETY: loading runs the library's initialisers. SQLite has none; a file that the user names is
    // trusted as any program the user starts.
    unsafe { Mapped::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| {
        let mut reason = error.to_string();
        if let Some(cause) = std::error::Error::source(&error) {
            reason = format!("{reason}: {cause}");
        }
        reason
    })
}

/// A copy in anonymous memory.
#[cfg(target_os = "linux")]
mod copy {
    use rustix::fs::{MemfdFlags, memfd_create};
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::path::PathBuf;

    pub(super) struct Copy(File);

    impl Copy {
        pub(super) fn of(bytes: &[u8]) -> std::io::Result<Copy> {
            let mut file = File::from(memfd_create("pragmark-engine", MemfdFlags::CLOEXEC)?);
            file.write_all(bytes)?;
            Ok(Copy(file))
        }

        pub(super) fn path(&self) -> PathBuf {
            format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
        }
    }
}

/// A copy in a temporary file.
#[cfg(not(target_os = "linux"))]
mod copy {
    use std::io::Write;
    use std::path::PathBuf;

    pub(super) struct Copy(tempfile::NamedTempFile);

    impl Copy {
        pub(super) fn of(bytes: &[u8]) -> std::io::Result<Copy> {
            let mut file = tempfile::Builder::new().prefix("pragmark-engine-").tempfile()?;
            file.write_all(bytes)?;
            file.flush()?;
            Ok(Copy(file))
        }

        pub(super) fn path(&self) -> PathBuf {
            self.0.path().to_owned()
        }
    }
}

/// The system's library: requested from the dynamic loader by name, as any program would, which
/// honours the configured directories without knowing them.
mod system {
    use super::*;

    #[cfg(target_os = "macos")]
    const NAMES: &[&str] = &["libsqlite3.dylib", "libsqlite3.0.dylib"];
    #[cfg(not(target_os = "macos"))]
    const NAMES: &[&str] = &["libsqlite3.so.0", "libsqlite3.so"];

    pub(super) fn load() -> Result<Image> {
        let mut reason = String::new();
        for name in NAMES {
            match open(Path::new(name)) {
                Ok(mapped) => return image(mapped, name),
                Err(said) => reason = said,
            }
        }
        Err(EngineError::NoSystemLibrary(NAMES.to_vec(), reason))
    }

    /// Loads a fresh copy of the file that the loader chose.
    #[cfg(target_os = "linux")]
    fn image(mapped: Mapped, name: &'static str) -> Result<Image> {
        let path = mapped_file(&mapped).ok_or_else(|| {
            let what = "it was loaded, but its file is not among the mapped ones";
            EngineError::NoSystemLibrary(vec![name], what.to_owned())
        })?;
        drop(mapped);
        let bytes = read(&path)?;
        Image::from_bytes(Cow::Owned(bytes), Origin::System(path))
    }

    /// Keeps the library that the loader chose: the system's own may exist in the loader's cache only,
    /// without a file to copy.
    #[cfg(not(target_os = "linux"))]
    fn image(mapped: Mapped, name: &'static str) -> Result<Image> {
        Ok(Image { mapped, origin: Origin::System(PathBuf::from(name)), _copy: None })
    }

    /// Returns the file behind the mapping that holds `sqlite3_libversion`, from `/proc/self/maps`
    /// (proc_pid_maps(5)).
    #[cfg(target_os = "linux")]
    fn mapped_file(mapped: &Mapped) -> Option<PathBuf> {
        // SAFETY: the symbol is looked at as an address and never called.
        let symbol = unsafe { mapped.get::<*const u8>("sqlite3_libversion\0") }.ok()?;
        let address = symbol.as_raw_ptr() as usize;
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        maps.lines().find_map(|line| file_of_mapping(line, address))
    }

    #[cfg(target_os = "linux")]
    fn file_of_mapping(line: &str, address: usize) -> Option<PathBuf> {
        let (start, end) = line.split_whitespace().next()?.split_once('-')?;
        let start = usize::from_str_radix(start, 16).ok()?;
        let end = usize::from_str_radix(end, 16).ok()?;
        let path = &line[line.find('/')?..];
        (start..end).contains(&address).then(|| PathBuf::from(path))
    }
}

/// The tag of an entry that the loader ignores: within the range reserved for systems, and unknown to glibc
/// and musl.
const UNUSED: u64 = 0x6000_0f0f;

const PT_DYNAMIC: u64 = 2;
const DT_NULL: u64 = 0;
const DT_SONAME: u64 = 14;

/// The size of an entry of the dynamic section.
const ENTRY: usize = 16;

/// Returns the offset of the tag of the name in a 64-bit little-endian file; `None` if the file has no name,
/// and for files of other kinds.
pub(super) fn offset(file: &[u8]) -> Option<usize> {
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (headers, size, count) = (number(file, 32, 8)?, number(file, 54, 2)?, number(file, 56, 2)?);
    let header = (0..count)
        .map(|index| (headers + index * size) as usize)
        .find(|header| number(file, *header, 4) == Some(PT_DYNAMIC))?;
    let begin = number(file, header + 8, 8)? as usize;
    let length = number(file, header + 32, 8)? as usize;
    (begin..begin.checked_add(length)?)
        .step_by(ENTRY)
        .map_while(|entry| Some((entry, number(file, entry, 8)?)))
        .take_while(|(_, tag)| *tag != DT_NULL)
        .find(|(_, tag)| *tag == DT_SONAME)
        .map(|(entry, _)| entry)
}

/// Makes the name at a [`offset`] one that the loader does not see.
pub(super) fn remove(file: &mut [u8], offset: usize) {
    if let Some(tag) = file.get_mut(offset..offset + 8) {
        tag.copy_from_slice(&UNUSED.to_le_bytes());
    }
}

fn number(file: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = file.get(at..at.checked_add(length)?)?;
    let fold = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    Some(bytes.iter().rev().fold(0, fold))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a file with one program header, of the dynamic section, with these tags.
    fn file(tags: &[u64]) -> Vec<u8> {
        let mut file = vec![0; 64 + 56];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[32] = 64;
        file[54] = 56;
        file[56] = 1;
        file[64] = PT_DYNAMIC as u8;
        file[64 + 8] = 120;
        file[64 + 32] = (tags.len() * ENTRY) as u8;
        for tag in tags {
            file.extend(tag.to_le_bytes());
            file.extend([7; 8]);
        }
        file
    }

    #[test]
    fn the_name_is_found_and_taken_out() {
        let mut named = file(&[1, DT_SONAME, 5]);
        let found = offset(&named).unwrap();
        assert_eq!(found, 120 + ENTRY);
        remove(&mut named, found);
        assert_eq!(offset(&named), None);
        assert_eq!(number(&named, 120, 8), Some(1));
        assert_eq!(number(&named, 120 + 2 * ENTRY, 8), Some(5));
    }

    #[test]
    fn what_has_no_name_is_left_alone() {
        assert_eq!(offset(&file(&[1, DT_NULL, DT_SONAME])), None);
        assert_eq!(offset(b"\x7fELF\x01\x01"), None);
        assert_eq!(offset(b""), None);
        let whole = file(&[1, DT_SONAME]);
        for length in 0..whole.len() - ENTRY {
            assert_eq!(offset(&whole[..length]), None, "cut after {length}");
        }
    }
}
