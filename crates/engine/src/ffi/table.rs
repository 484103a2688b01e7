//! The table of SQLite's functions, filled by name when a library is loaded.
//!
//! Required functions exist since SQLite 3.8.7, and 3.8.8 is the oldest version accepted; a function which is
//! younger, or which compile options can remove, is an `Option`.

use super::types::*;
use std::ffi::{c_char, c_double, c_int, c_uchar, c_void};

macro_rules! api {
    (
        required { $(fn $name:ident($($arg:ty),*) $(-> $ret:ty)?;)* }
        optional { $(fn $oname:ident($($oarg:ty),*) $(-> $oret:ty)?;)* }
    ) => {
        /// SQLite's functions, without their prefix `sqlite3_`. For their contracts see
        /// <https://sqlite.org/c3ref/funclist.html>.
        ///
        /// The pointers stay valid as long as the [`Library`](crate::Library) they came from.
        pub struct Api {
            $(
                #[doc = concat!("`sqlite3_", stringify!($name), "`")]
                pub $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,
            )*
            $(
                #[doc = concat!("`sqlite3_", stringify!($oname), "`, where the engine has it")]
                pub $oname: Option<unsafe extern "C" fn($($oarg),*) $(-> $oret)?>,
            )*
        }

        impl Api {
            /// Looks every function up in `library`; the error is the name of the first required one
            /// which is missing.
            ///
            /// # Safety
            /// `library` must be a build of SQLite: the symbols found must have SQLite's signatures.
            pub(crate) unsafe fn load(
                library: &libloading::os::unix::Library,
            ) -> Result<Api, &'static str> {
                Ok(Api {
                    $(
                        // SAFETY: the caller vouches that the symbol has SQLite's signature.
                        $name: unsafe { library.get(concat!("sqlite3_", stringify!($name), "\0")) }
                            .map(|symbol| *symbol)
                            .map_err(|_| concat!("sqlite3_", stringify!($name)))?,
                    )*
                    $(
                        // SAFETY: as above; a missing symbol is not an error here.
                        $oname: unsafe { library.get(concat!("sqlite3_", stringify!($oname), "\0")) }
                            .map(|symbol| *symbol)
                            .ok(),
                    )*
                })
            }
        }
    };
}

api! {
    required {
        fn libversion() -> *const c_char;
        fn sourceid() -> *const c_char;
        fn threadsafe() -> c_int;
        fn initialize() -> c_int;

        fn open_v2(*const c_char, *mut *mut sqlite3, c_int, *const c_char) -> c_int;
        fn close(*mut sqlite3) -> c_int;
        fn close_v2(*mut sqlite3) -> c_int;
        fn exec(*mut sqlite3, *const c_char, Option<ExecCallback>, *mut c_void, *mut *mut c_char) -> c_int;
        fn errmsg(*mut sqlite3) -> *const c_char;
        fn extended_errcode(*mut sqlite3) -> c_int;
        fn errstr(c_int) -> *const c_char;
        fn busy_handler(*mut sqlite3, Option<BusyCallback>, *mut c_void) -> c_int;
        fn busy_timeout(*mut sqlite3, c_int) -> c_int;
        fn changes(*mut sqlite3) -> c_int;
        fn total_changes(*mut sqlite3) -> c_int;
        fn last_insert_rowid(*mut sqlite3) -> i64;
        fn get_autocommit(*mut sqlite3) -> c_int;
        fn limit(*mut sqlite3, c_int, c_int) -> c_int;
        fn db_status(*mut sqlite3, c_int, *mut c_int, *mut c_int, c_int) -> c_int;
        fn file_control(*mut sqlite3, *const c_char, c_int, *mut c_void) -> c_int;
        fn memory_used() -> i64;
        fn memory_highwater(c_int) -> i64;
        fn malloc(c_int) -> *mut c_void;
        fn free(*mut c_void);

        fn prepare_v2(*mut sqlite3, *const c_char, c_int, *mut *mut sqlite3_stmt, *mut *const c_char) -> c_int;
        fn sql(*mut sqlite3_stmt) -> *const c_char;
        fn step(*mut sqlite3_stmt) -> c_int;
        fn reset(*mut sqlite3_stmt) -> c_int;
        fn finalize(*mut sqlite3_stmt) -> c_int;
        fn clear_bindings(*mut sqlite3_stmt) -> c_int;
        fn stmt_readonly(*mut sqlite3_stmt) -> c_int;
        fn stmt_status(*mut sqlite3_stmt, c_int, c_int) -> c_int;
        fn bind_int64(*mut sqlite3_stmt, c_int, i64) -> c_int;
        fn bind_double(*mut sqlite3_stmt, c_int, c_double) -> c_int;
        fn bind_text64(*mut sqlite3_stmt, c_int, *const c_char, u64, Destructor, c_uchar) -> c_int;
        fn bind_blob64(*mut sqlite3_stmt, c_int, *const c_void, u64, Destructor) -> c_int;
        fn bind_null(*mut sqlite3_stmt, c_int) -> c_int;
        fn bind_parameter_count(*mut sqlite3_stmt) -> c_int;
        fn bind_parameter_name(*mut sqlite3_stmt, c_int) -> *const c_char;
        fn create_collation(*mut sqlite3, *const c_char, c_int, *mut c_void, Option<Compare>) -> c_int;
        fn bind_value(*mut sqlite3_stmt, c_int, *const sqlite3_value) -> c_int;
        fn column_count(*mut sqlite3_stmt) -> c_int;
        fn column_name(*mut sqlite3_stmt, c_int) -> *const c_char;
        fn column_type(*mut sqlite3_stmt, c_int) -> c_int;
        fn column_int64(*mut sqlite3_stmt, c_int) -> i64;
        fn column_double(*mut sqlite3_stmt, c_int) -> c_double;
        fn column_text(*mut sqlite3_stmt, c_int) -> *const c_uchar;
        fn column_blob(*mut sqlite3_stmt, c_int) -> *const c_void;
        fn column_bytes(*mut sqlite3_stmt, c_int) -> c_int;
        fn column_value(*mut sqlite3_stmt, c_int) -> *mut sqlite3_value;

        fn randomness(c_int, *mut c_void);
        fn uri_boolean(*const c_char, *const c_char, c_int) -> c_int;
        fn vfs_find(*const c_char) -> *mut sqlite3_vfs;
        fn vfs_register(*mut sqlite3_vfs, c_int) -> c_int;
        fn vfs_unregister(*mut sqlite3_vfs) -> c_int;

        fn user_data(*mut sqlite3_context) -> *mut c_void;
        fn value_type(*mut sqlite3_value) -> c_int;
        fn value_text(*mut sqlite3_value) -> *const c_uchar;
        fn value_bytes(*mut sqlite3_value) -> c_int;
        fn result_int(*mut sqlite3_context, c_int);
        fn result_int64(*mut sqlite3_context, i64);
        fn result_double(*mut sqlite3_context, c_double);
        fn result_null(*mut sqlite3_context);
        fn result_value(*mut sqlite3_context, *mut sqlite3_value);
        fn result_text64(*mut sqlite3_context, *const c_char, u64, Destructor, c_uchar);
        fn result_blob64(*mut sqlite3_context, *const c_void, u64, Destructor);
        fn result_error(*mut sqlite3_context, *const c_char, c_int);
    }
    optional {
        fn compileoption_get(c_int) -> *const c_char;
        fn backup_init(*mut sqlite3, *const c_char, *mut sqlite3, *const c_char) -> *mut sqlite3_backup;
        fn backup_step(*mut sqlite3_backup, c_int) -> c_int;
        fn backup_finish(*mut sqlite3_backup) -> c_int;
        fn blob_open(*mut sqlite3, *const c_char, *const c_char, *const c_char, i64, c_int, *mut *mut sqlite3_blob) -> c_int;
        fn blob_write(*mut sqlite3_blob, *const c_void, c_int, c_int) -> c_int;
        fn blob_close(*mut sqlite3_blob) -> c_int;
        fn table_column_metadata(*mut sqlite3, *const c_char, *const c_char, *const c_char, *mut *const c_char, *mut *const c_char, *mut c_int, *mut c_int, *mut c_int) -> c_int;
        fn stmt_scanstatus_v2(*mut sqlite3_stmt, c_int, c_int, c_int, *mut c_void) -> c_int;
        fn vtab_collation(*mut sqlite3_index_info, c_int) -> *const c_char;
        fn column_decltype(*mut sqlite3_stmt, c_int) -> *const c_char;
        fn complete(*const c_char) -> c_int;
        fn set_authorizer(*mut sqlite3, Option<Authorizer>, *mut c_void) -> c_int;
        fn progress_handler(*mut sqlite3, c_int, Option<ProgressHandler>, *mut c_void);
        fn changes64(*mut sqlite3) -> i64;
        fn db_mutex(*mut sqlite3) -> *mut c_void;
        fn total_changes64(*mut sqlite3) -> i64;
        fn db_status64(*mut sqlite3, c_int, *mut i64, *mut i64, c_int) -> c_int;
        fn wal_hook(*mut sqlite3, Option<WalCallback>, *mut c_void) -> *mut c_void;
        fn wal_checkpoint_v2(*mut sqlite3, *const c_char, c_int, *mut c_int, *mut c_int) -> c_int;
        fn bind_pointer(*mut sqlite3_stmt, c_int, *mut c_void, *const c_char, Destructor) -> c_int;
        fn carray_bind(*mut sqlite3_stmt, c_int, *mut c_void, c_int, c_int, Destructor) -> c_int;
        fn value_pointer(*mut sqlite3_value, *const c_char) -> *mut c_void;
        fn create_module_v2(*mut sqlite3, *const c_char, *const sqlite3_module, *mut c_void, Option<DestroyFunction>) -> c_int;
        fn declare_vtab(*mut sqlite3, *const c_char) -> c_int;
        fn enable_load_extension(*mut sqlite3, c_int) -> c_int;
        fn load_extension(*mut sqlite3, *const c_char, *const c_char, *mut *mut c_char) -> c_int;
        fn create_function_v2(*mut sqlite3, *const c_char, c_int, c_int, *mut c_void, Option<ScalarFunction>, Option<ScalarFunction>, Option<FinalFunction>, Option<DestroyFunction>) -> c_int;
    }
}
