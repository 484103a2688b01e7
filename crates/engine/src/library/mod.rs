//! Finding and loading SQLite libraries.
//!
//! Nothing in pragmark links SQLite: a library is data, loaded at run time into a typed table of
//! functions, so that versions and compile options become factors like any other.
//!
//! Which library to load, and the identity of a loaded one.

mod image;

use std::any::Any;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use image::Image;
use serde::{Deserialize, Serialize};

use crate::error::{EngineError, Result, unsupported};
use crate::ffi::{self, Api};
use crate::locks::locked;
use crate::stand_in::StandIn;
use crate::text::{SQL, c_string, copied};

/// The oldest version accepted. 3.8.7 of October 2014 brought `sqlite3_bind_text64` and `sqlite3_bind_blob64`, through
/// which every text and blob is bound; 3.8.8 brought the last mode of checkpoints, TRUNCATE
/// (<https://sqlite.org/changes.html#version_3_8_8>).
const OLDEST: (i32, &str) = (3_008_008, "3.8.8");

/// A loaded SQLite library.
///
/// Each `Library` is a private copy: its memory, its global state and its placement are its own, even
/// when the same file is loaded twice. Two libraries in one process must not open the same database
/// file, because POSIX drops a process's locks on a file whenever any of its descriptors is closed
/// (<https://sqlite.org/howtocorrupt.html>, section 2.2.1); pragmark loads one per trial process.
///
/// A library may be shared between threads. One compiled with `THREADSAFE=0` gives out only one
/// connection at a time, which keeps it on one thread at a time.
pub struct Library {
    api: Api,
    identity: Identity,
    single_threaded: bool,
    /// Whether a single-threaded library is in use.
    in_use: AtomicBool,
    /// Values that SQLite points into until the library is gone: the VFS shims.
    retained: Mutex<Vec<Box<dyn Any + Send>>>,
    pub(crate) stand_ins: OnceLock<Vec<StandIn>>,
    /// Last, because fields are dropped in order: everything above may point into it.
    _image: Image,
}

impl Library {
    /// Loads the library that `source` names.
    ///
    /// On Linux the file's bytes are first copied into anonymous memory, so that every load has its own
    /// placement and nothing is left on the disk: byte-identical copies differ in speed by up to 8 %, which
    /// must be noise between trials instead of a bias.
    ///
    /// # Errors
    /// The file is missing or unreadable, differs from the recorded one, is not a shared library, is not
    /// SQLite, is older than 3.8.8, lacks a function that every build has, or cannot be initialised.
    pub fn load(source: &Source) -> Result<Library> {
        let image = Image::load(source)?;
        let path = image.path().to_owned();
        check_is_sqlite(&image, &path)?;
        // SAFETY: the library exports sqlite3_libversion with an acceptable version, so the symbols
        // prefixed sqlite3_ are SQLite's.
        let api = unsafe { Api::load(image.handle()) }.map_err(|symbol| {
            EngineError::library(&path, format!("is SQLite, but lacks the function {symbol}"))
        })?;
        // Libraries compiled with SQLITE_OMIT_AUTOINIT need it; the others have no objection.
        // SAFETY: takes nothing; nothing else uses this copy of the library yet.
        let code = unsafe { (api.initialize)() };
        if code != ffi::SQLITE_OK {
            let what = format!("cannot be initialised (SQLite result code {code})");
            return Err(EngineError::library(&path, what));
        }
        let identity = Identity::read(&api, image.origin.clone());
        Ok(Library {
            single_threaded: identity.threadsafe == 0,
            api,
            identity,
            in_use: AtomicBool::new(false),
            retained: Mutex::new(Vec::new()),
            stand_ins: OnceLock::new(),
            _image: image,
        })
    }

    /// Returns version, source id, compile options and origin of the library.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns whether it encrypts databases, as SQLCipher does.
    pub fn encrypts(&self) -> bool {
        self.identity.compile_options.iter().any(|option| option == "HAS_CODEC")
    }

    /// Returns whether arrays can be bound ([`Statement::bind_array`](crate::Statement::bind_array)).
    /// SQLite's list of compile options does not say.
    pub fn has_carray(&self) -> bool {
        self.api.carray_bind.is_some()
    }

    /// Returns whether rows of the program can be made a table
    /// ([`Connection::create_columns_function`](crate::Connection::create_columns_function)): there are
    /// virtual tables, and pointers can be bound (SQLite 3.20).
    pub fn has_columns_function(&self) -> bool {
        let api = &self.api;
        api.create_module_v2.is_some() && api.declare_vtab.is_some() && api.value_pointer.is_some()
    }

    /// Returns whether a text ends in a whole statement, so that the semicolon at its end is not within a
    /// string, a comment or a trigger (<https://sqlite.org/c3ref/complete.html>).
    ///
    /// # Errors
    /// The engine was compiled without that function, or the text holds a NUL byte.
    pub fn is_complete(&self, sql: &str) -> Result<bool> {
        let what = "function that finds the end of a statement";
        let complete = (self.api.complete).ok_or(unsupported(what, "sqlite3_complete"))?;
        let sql = c_string(sql, SQL)?;
        // SAFETY: a C string; the function touches no state of the library.
        Ok(unsafe { complete(sql.as_ptr()) } != 0)
    }

    /// Returns the table of functions, for code which must call SQLite itself. Calling them is unsafe.
    #[inline]
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Takes the only permit of a single-threaded library; other libraries have any number.
    pub(crate) fn enter(&self) -> Result<()> {
        if self.single_threaded && self.in_use.swap(true, Ordering::Acquire) {
            return Err(EngineError::SingleThreaded);
        }
        Ok(())
    }

    /// Gives back the permit taken by [`enter`](Self::enter).
    pub(crate) fn leave(&self) {
        self.in_use.store(false, Ordering::Release);
    }

    /// Does `work` with the only permit of a single-threaded library.
    pub(crate) fn within<R>(&self, work: impl FnOnce() -> R) -> Result<R> {
        self.enter()?;
        let done = work();
        self.leave();
        Ok(done)
    }

    /// Keeps `value` alive until the library is unloaded.
    pub(crate) fn retain(&self, value: Box<dyn Any + Send>) {
        locked(&self.retained).push(value);
    }
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").field("identity", &self.identity).finish_non_exhaustive()
    }
}

/// Checks the two functions every SQLite has before any other symbol is trusted.
fn check_is_sqlite(image: &Image, path: &Path) -> Result<()> {
    type Version = unsafe extern "C" fn() -> *const std::ffi::c_char;
    type Number = unsafe extern "C" fn() -> std::ffi::c_int;
    let not_sqlite = |_| {
        let what = "is a shared library, but not SQLite (it does not export sqlite3_libversion)";
        EngineError::library(path, what)
    };
    // SAFETY: any library that exports this name is SQLite or imitates it; both have this signature.
    let version =
        unsafe { image.handle().get::<Version>("sqlite3_libversion\0") }.map_err(not_sqlite)?;
    // SAFETY: as above.
    let number = unsafe { image.handle().get::<Number>("sqlite3_libversion_number\0") }
        .map_err(not_sqlite)?;
    // SAFETY: the function takes nothing and has no preconditions.
    if unsafe { number() } < OLDEST.0 {
        // SAFETY: the function returns a static string that ends in NUL.
        let found = unsafe { copied(version()) }.unwrap_or_default();
        let what = format!("is SQLite {found}; pragmark requires {} or later", OLDEST.1);
        return Err(EngineError::library(path, what));
    }
    Ok(())
}

/// Which SQLite library to load.
///
/// Its textual form, also in JSON and TOML, is `default`, `system` or a path; a file of one of those
/// two names is written `./default` or `./system`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Source {
    /// The engine compiled with pragmark and embedded in it.
    #[default]
    Embedded,
    /// The same with [`SCAN_STATUS`](crate::options::SCAN_STATUS), embedded as well.
    Explaining,
    /// The library that programs of this system get when they link SQLite.
    System,
    /// A shared library by its path.
    Path(PathBuf),
}

impl FromStr for Source {
    type Err = EngineError;

    fn from_str(text: &str) -> Result<Source> {
        match text {
            "" => Err(EngineError::Library(
                "an engine is `default`, `system` or the path of a SQLite library; the name is empty".to_owned(),
            )),
            "default" => Ok(Source::Embedded),
            "default+scanstatus" => Ok(Source::Explaining),
            "system" => Ok(Source::System),
            path => Ok(Source::Path(path.into())),
        }
    }
}

impl TryFrom<String> for Source {
    type Error = EngineError;

    fn try_from(text: String) -> Result<Source> {
        text.parse()
    }
}

impl From<Source> for String {
    fn from(source: Source) -> String {
        source.to_string()
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Embedded => f.write_str("default"),
            Source::Explaining => f.write_str("default+scanstatus"),
            Source::System => f.write_str("system"),
            Source::Path(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Where a library came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "path")]
pub enum Origin {
    /// Embedded in pragmark.
    Embedded,
    /// The system's library, at this path.
    System(PathBuf),
    /// The file requested.
    File(PathBuf),
}

/// Version, options and origin of a library: recorded with every trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The version, for example `3.54.1` (`sqlite3_libversion`).
    pub version: String,
    /// Check-in date and hash of the source (`sqlite3_sourceid`).
    pub source_id: String,
    /// The compile options without their prefix `SQLITE_`, in SQLite's order
    /// (`sqlite3_compileoption_get`); empty where the library was built without diagnostics.
    pub compile_options: Vec<String>,
    /// The threading mode compiled in: 0 single-threaded, 1 serialised, 2 multi-threaded
    /// (`sqlite3_threadsafe`).
    pub threadsafe: i32,
    /// Where the library came from.
    pub origin: Origin,
}

impl Identity {
    pub(crate) fn read(api: &Api, origin: Origin) -> Identity {
        Identity {
            // SAFETY: these two return static strings that end in NUL.
            version: unsafe { copied((api.libversion)()) }.unwrap_or_default(),
            // SAFETY: as above.
            source_id: unsafe { copied((api.sourceid)()) }.unwrap_or_default(),
            compile_options: compile_options(api),
            // SAFETY: takes nothing, has no preconditions.
            threadsafe: unsafe { (api.threadsafe)() },
            origin,
        }
    }

    /// Returns the value of a compile option, by its name without `SQLITE_`: the text after `=`, or an empty
    /// one where it has none.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.compile_options.iter().find_map(|option| match option.split_once('=') {
            Some((found, value)) => (found == name).then_some(value),
            None => (option == name).then_some(""),
        })
    }
}

fn compile_options(api: &Api) -> Vec<String> {
    let Some(get) = api.compileoption_get else { return Vec::new() };
    (0..)
        // SAFETY: any index is allowed; past the last option the result is null, before it a static
        // string that ends in NUL.
        .map_while(|index| unsafe { copied(get(index)) })
        .collect()
}
