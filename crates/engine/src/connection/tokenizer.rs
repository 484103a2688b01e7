//! The tokenizers of FTS5, called as FTS5 calls them (<https://sqlite.org/fts5.html#custom_tokenizers>).

use super::Connection;
use crate::error::{Result, unsupported};
use crate::ffi::{self, AnyFunction};
use crate::text::c_string;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

/// Receives a token: the context, flags, the token's bytes and their number, and where it begins and ends in the text.
type OnToken =
    unsafe extern "C" fn(*mut c_void, c_int, *const c_char, c_int, c_int, c_int) -> c_int;

/// `fts5_tokenizer`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Methods {
    create: Option<
        unsafe extern "C" fn(*mut c_void, *const *const c_char, c_int, *mut *mut c_void) -> c_int,
    >,
    delete: Option<unsafe extern "C" fn(*mut c_void)>,
    tokenize: Option<
        unsafe extern "C" fn(
            *mut c_void,
            *mut c_void,
            c_int,
            *const c_char,
            c_int,
            OnToken,
        ) -> c_int,
    >,
}

/// The beginning of `fts5_api`.
#[repr(C)]
struct Fts5Api {
    version: c_int,
    create_tokenizer: Option<AnyFunction>,
    find_tokenizer: Option<
        unsafe extern "C" fn(*mut Fts5Api, *const c_char, *mut *mut c_void, *mut Methods) -> c_int,
    >,
}

/// `FTS5_TOKENIZE_DOCUMENT`.
const DOCUMENT: c_int = 4;

/// `FTS5_TOKEN_COLOCATED`.
const COLOCATED: c_int = 1;

/// A tokenizer of a connection.
pub struct Tokenizer<'c> {
    raw: *mut c_void,
    methods: Methods,
    connection: &'c Connection,
}

impl Connection {
    /// Returns a tokenizer of FTS5 without arguments, by its name.
    ///
    /// # Errors
    /// An engine without FTS5, or without this tokenizer.
    pub fn tokenizer(&self, name: &str) -> Result<Tokenizer<'_>> {
        let missing = || unsupported("tokenizers", "fts5_api");
        let bind = self.handle.api().bind_pointer.ok_or(missing())?;
        let mut query = self.prepare("SELECT fts5(?1)")?;
        let mut api: *mut Fts5Api = null_mut();
        // SAFETY: the statement is alive, `api` lives longer than it is stepped, and the type is the one that `fts5()` demands.
        let code = unsafe {
            let place = (&raw mut api).cast();
            bind(query.as_ptr(), 1, place, c"fts5_api_ptr".as_ptr(), ffi::SQLITE_STATIC)
        };
        self.handle.check(code, "asking for the functions of FTS5")?;
        query.step()?;
        let name = c_string(name, "name of the tokenizer")?;
        let (mut data, mut methods, mut raw) = (null_mut(), Methods::default(), null_mut());
        // SAFETY: SQLite has set `api` to a record that lives as long as the connection, unless it is null.
        let find = unsafe { api.as_ref() }.and_then(|api| api.find_tokenizer).ok_or(missing())?;
        // SAFETY: as above; the results are written to places that are alive.
        let code = unsafe { find(api, name.as_ptr(), &mut data, &mut methods) };
        self.handle.check(code, "looking for a tokenizer")?;
        let create = methods.create.ok_or(missing())?;
        // SAFETY: the function belongs to `data`, and takes zero arguments from an empty list.
        let code = unsafe { create(data, std::ptr::null(), 0, &mut raw) };
        self.handle.check(code, "making a tokenizer")?;
        Ok(Tokenizer { raw, methods, connection: self })
    }
}

impl Tokenizer<'_> {
    /// Calls `each` with every token of a document's text, and whether it has the position of the one before.
    ///
    /// # Errors
    /// The tokenizer's, such as too little memory.
    pub fn tokens(&mut self, text: &[u8], mut each: impl FnMut(&[u8], bool)) -> Result<()> {
        let tokenize = self.methods.tokenize.ok_or(unsupported("tokenizers", "xTokenize"))?;
        // Texts of SQLite are at most as long.
        let length = text.len() as c_int;
        // SAFETY: the tokenizer is alive; `on_token` is given `each`, whose type it knows, only during this call.
        let code = unsafe {
            let context = (&raw mut each).cast();
            let on_token = on_token_of(&each);
            tokenize(self.raw, context, DOCUMENT, text.as_ptr().cast(), length, on_token)
        };
        self.connection.handle.check(code, "dividing a text into tokens")
    }
}

/// Returns the function that calls a closure of this type.
fn on_token_of<F: FnMut(&[u8], bool)>(_each: &F) -> OnToken {
    on_token::<F>
}

unsafe extern "C" fn on_token<F: FnMut(&[u8], bool)>(
    each: *mut c_void,
    flags: c_int,
    token: *const c_char,
    length: c_int,
    _start: c_int,
    _end: c_int,
) -> c_int {
    // SAFETY: `tokens` gives a closure of this type, and FTS5 a token of this length.
    let (each, token) = unsafe {
        (&mut *each.cast::<F>(), std::slice::from_raw_parts(token.cast(), length as usize))
    };
    each(token, flags & COLOCATED != 0);
    ffi::SQLITE_OK
}

impl Drop for Tokenizer<'_> {
    fn drop(&mut self) {
        if let Some(delete) = self.methods.delete {
            // SAFETY: made by `create` of the same methods, and not used again.
            unsafe { delete(self.raw) };
        }
    }
}
