//! SQLite, built and loaded at run time: libraries, connections, statements, the PRAGMA catalogue and
//! the counting VFS.
//!
//! This is the only room that speaks to SQLite, and it knows nothing of experiments. Design
//! constraints:
//! - no binary links SQLite: every library, the default engine included, is loaded through a table of
//!   function pointers ([`Library`]), and costs no more than a static link;
//! - the safe interface is sound whatever the caller does: lifetimes tie borrowed bindings to
//!   statements, statements to connections and connections to libraries;
//! - a setting that did not take effect is an error ([`pragma::apply`]);
//! - counting happens in a shim that is not there when time is measured ([`vfs::CountingVfs`]).
//!
//! ```
//! use pragmark_engine::{Connection, Library, OpenFlags, Source, Step};
//! use std::{path::Path, sync::Arc};
//!
//! let library = Arc::new(Library::load(&Source::Embedded)?);
//! let connection = Connection::open(&library, Path::new(":memory:"), OpenFlags::default(), None)?;
//! connection.execute("CREATE TABLE t(x)")?;
//! let mut insert = connection.prepare("INSERT INTO t VALUES (?)")?;
//! for x in 1..=3 {
//!     insert.bind_i64(1, x)?;
//!     assert_eq!(insert.step()?, Step::Done);
//!     insert.reset()?;
//! }
//! assert_eq!(connection.query_i64("SELECT sum(x) FROM t")?, 6);
//! # Ok::<(), pragmark_engine::EngineError>(())
//! ```

#[cfg(all(target_os = "linux", target_feature = "crt-static"))]
compile_error!(
    "a static program cannot load SQLite libraries; compile pragmark for a target that links the C library \
     dynamically, such as x86_64-unknown-linux-gnu"
);

mod array;
pub mod build;
mod columns;
mod confinement;
mod connection;
mod error;
pub mod ffi;
mod handle;
mod library;
mod locks;
mod options;
pub mod pragma;
pub mod schema;
mod shared;
mod stand_in;
mod statement;
mod text;
mod value;
pub mod vfs;

pub use array::{Array, BlobArray, TextArray};
pub use columns::Columns;
pub use confinement::CONFINED;
pub use connection::{
    BlobAt, Checkpoint, CheckpointMode, Connection, DbStatus, Instruction, OpenFlags, Question,
    Questions, Status, Term, TermKind, Tokenizer,
};
pub use error::{During, EngineError, SqliteError};
pub use library::{Identity, Library, Origin, Source};
pub use locks::{locked, unlocked};
pub use options::{
    COMMON_FLAGS, COMPILE_OPTIONS, CompileOption, OPTIMISATION, SCAN_STATUS,
    SCAN_STATUS_OPTIMISATION, WHERE_SUPPORTED, link_arguments,
};
pub use shared::SharedNumbers;
pub use stand_in::StandIn;
pub use statement::{ScanNode, Statement, StatementCounter, Step};
pub use value::{Value, ValueRef};
