//! VFS shims: layers between SQLite and the real file system that watch what is read, written and
//! synced.
