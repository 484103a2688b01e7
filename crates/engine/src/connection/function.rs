//! SQL functions written in Rust.
//!
//! SQLite hands a function nothing but a context, from which only the library that made the context
//! can tell what belongs to the function; and a process may have loaded several libraries. So each
//! library that has such functions occupies one of a few slots, and each slot has an entry point of its
//! own, which knows its library.

use super::Connection;
use crate::error::{EngineError, Result, unsupported};
use crate::ffi::{self, Api};
use crate::library::Library;
use crate::locks::locked;
use crate::text::c_string;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

/// Computes a function: sets the context's result from the values of the arguments, which are valid during the call.
type Body = dyn Fn(&Api, *mut ffi::sqlite3_context, &[*mut ffi::sqlite3_value]) -> Result<(), String>
    + Send;

/// The data that SQLite keeps for a function; freed by [`forget`] when the function goes.
struct Registered {
    body: Box<Body>,
    library: Arc<Library>,
    slot: usize,
}

/// Libraries that may have functions at the same time.
const SLOTS: usize = 16;

/// The function of SQLite that makes functions.
const CREATE: &str = "sqlite3_create_function_v2";

/// The most arguments that a predicate may have.
const MOST_ARGUMENTS: usize = 8;

type UserData = unsafe extern "C" fn(*mut ffi::sqlite3_context) -> *mut c_void;

/// Who occupies each slot: the library's `sqlite3_user_data`, and how many functions it has.
static OCCUPIED: Mutex<[Option<(UserData, usize)>; SLOTS]> = Mutex::new([None; SLOTS]);

/// The entry point of each slot.
const ENTRIES: [ffi::ScalarFunction; SLOTS] = [
    call::<0>, call::<1>, call::<2>, call::<3>, call::<4>, call::<5>, call::<6>, call::<7>,
    call::<8>, call::<9>, call::<10>, call::<11>, call::<12>, call::<13>, call::<14>, call::<15>,
];

impl Connection {
    /// Makes `predicate` an SQL function of this connection that takes `arguments` texts, eight at
    /// most, and gives 0 or 1 (<https://sqlite.org/c3ref/create_function.html>). It must give the same
    /// answer for the same arguments; other values come as SQLite converts them. An `Err`
    /// or a panic is an error of the statement that called it. The operator `X REGEXP Y` calls
    /// `regexp(Y, X)`.
    ///
    /// # Errors
    /// SQLite's, for a bad name or number of arguments; an engine too old; functions of more than
    /// sixteen libraries at the same time.
    pub fn create_predicate(
        &self,
        name: &str,
        arguments: u8,
        predicate: impl Fn(&[Option<&str>]) -> Result<bool, String> + Send + 'static,
    ) -> Result<()> {
        if usize::from(arguments) > MOST_ARGUMENTS {
            return Err(EngineError::Usage(format!(
                "{name} has {arguments} arguments, and a function may have at most {MOST_ARGUMENTS} here"
            )));
        }
        let body = move |api: &Api, context, values: &[*mut ffi::sqlite3_value]| {
            let mut texts = [None; MOST_ARGUMENTS];
            for (text, value) in texts.iter_mut().zip(values) {
                // SAFETY: the value is valid; the text lives until the call ends.
                *text = unsafe { text_of(api, *value) }?;
            }
            let answer = predicate(&texts[..values.len().min(MOST_ARGUMENTS)])?;
            // SAFETY: the context is valid for the time of this call.
            unsafe { (api.result_int)(context, c_int::from(answer)) };
            Ok(())
        };
        self.create_function(name, c_int::from(arguments), true, Box::new(body))
    }

    /// Makes a function of this connection, which may always give the same for the same arguments; −1 for any number of arguments.
    ///
    /// # Errors
    /// As [`create_predicate`](Self::create_predicate).
    pub(super) fn create_function(
        &self,
        name: &str,
        arguments: c_int,
        is_fixed: bool,
        body: Box<Body>,
    ) -> Result<()> {
        let api = self.handle.api();
        let unsupported = |what| unsupported(what, CREATE);
        let create = api.create_function_v2.ok_or(unsupported("functions of the application"))?;
        let name = c_string(name, "name of the function")?;
        let slot =
            occupy(api.user_data).ok_or(unsupported("slot for functions of one more library"))?;
        let registered = Box::new(Registered { body, library: Arc::clone(self.library()), slot });
        let fixed = if is_fixed { ffi::SQLITE_DETERMINISTIC } else { 0 };
        let flags = c_int::from(ffi::SQLITE_UTF8) | fixed;
        let (data, entry) = (Box::into_raw(registered).cast(), Some(ENTRIES[slot]));
        let (database, name) = (self.as_ptr(), name.as_c_str().as_ptr());
        // SAFETY: the handle is open and the name is a C string. SQLite gives the pointer to the entry
        // point of this library's slot, and exactly once to `forget`, also when it refuses.
        let code = unsafe {
            create(database, name, arguments, flags, data, entry, None, None, Some(forget))
        };
        self.handle.check(code, "making an SQL function")
    }
}

/// Returns the slot of this library, which gets one more function; `None` where all are taken.
fn occupy(user_data: UserData) -> Option<usize> {
    let mut slots = locked(&OCCUPIED);
    let same = |slot: &Option<(UserData, usize)>| {
        slot.is_some_and(|(of, _)| of as usize == user_data as usize)
    };
    let number = slots.iter().position(same).or_else(|| slots.iter().position(Option::is_none))?;
    let functions = slots[number].map_or(0, |(_, functions)| functions);
    slots[number] = Some((user_data, functions + 1));
    Some(number)
}

/// # Safety
/// Called by the library in slot `SLOT` only, with a context of a function that
/// [`Connection::create_function`] made and the `count` values given to it.
unsafe extern "C" fn call<const SLOT: usize>(
    context: *mut ffi::sqlite3_context,
    count: c_int,
    values: *mut *mut ffi::sqlite3_value,
) {
    // A library whose function is being called occupies its slot.
    let Some((user_data, _)) = locked(&OCCUPIED)[SLOT] else { return };
    // SAFETY: the context is of the library in this slot, and its functions were made with a pointer
    // to `Registered`, which lives until `forget`; only shared references to it are ever made.
    let registered = unsafe { &*user_data(context).cast::<Registered>() };
    let api = registered.library.api();
    let values = match usize::try_from(count) {
        // SAFETY: by the caller's word; without arguments SQLite may give no pointer.
        Ok(count) if count > 0 => unsafe { std::slice::from_raw_parts(values, count) },
        _ => &[],
    };
    // A panic must not unwind into C.
    let done = catch_unwind(AssertUnwindSafe(|| (registered.body)(api, context, values)));
    if let Err(message) = done.unwrap_or_else(|_| Err("the function panicked".to_owned())) {
        let length = c_int::try_from(message.len()).unwrap_or(c_int::MAX);
        // SAFETY: the context is valid for the time of this call; SQLite copies `length` bytes of the message.
        unsafe { (api.result_error)(context, message.as_ptr().cast(), length) }
    }
}

/// # Safety
/// `value` must be a valid value of a function that is being called; the text lives until it ends.
unsafe fn text_of<'a>(
    api: &Api,
    value: *mut ffi::sqlite3_value,
) -> Result<Option<&'a str>, String> {
    // SAFETY: the value is valid. The text is requested before its length, as SQLite demands.
    let (kind, start, length) = unsafe {
        let kind = (api.value_type)(value);
        let start = (api.value_text)(value);
        (kind, start, (api.value_bytes)(value))
    };
    if kind == ffi::SQLITE_NULL {
        return Ok(None);
    }
    if start.is_null() {
        return Err("out of memory".to_owned());
    }
    // SAFETY: SQLite promises `length` bytes, which stay until the value is converted or freed.
    let bytes = unsafe { std::slice::from_raw_parts(start, usize::try_from(length).unwrap_or(0)) };
    std::str::from_utf8(bytes).map(Some).map_err(|_| "a text is not valid UTF-8".to_owned())
}

/// # Safety
/// SQLite calls this once, with the pointer given when the function was made.
unsafe extern "C" fn forget(registered: *mut c_void) {
    // SAFETY: the pointer came from `Box::into_raw` and nobody uses it any more. The library stays
    // loaded while SQLite runs this, since the connection that is closed owns a share of it.
    let registered = unsafe { Box::from_raw(registered.cast::<Registered>()) };
    let mut slots = locked(&OCCUPIED);
    slots[registered.slot] = slots[registered.slot]
        .filter(|(_, functions)| *functions > 1)
        .map(|(of, functions)| (of, functions - 1));
}
