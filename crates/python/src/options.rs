//! The options of a load, as Python gives them.

use std::path::{Path, PathBuf};

use load::{
    Column, Decimals, Duplicates, FullText, Index, LoadStrategy, Mode, OnError, Request, Table,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The options of a load: the items of a dictionary, which must be complete.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    mode: String,
    add_columns: bool,
    keep_indexes: bool,
    types: Vec<(String, String)>,
    primary_key: Vec<String>,
    indexes: Vec<Vec<String>>,
    unique: Vec<Vec<String>>,
    not_null: Vec<String>,
    fts: Vec<String>,
    strict: bool,
    without_rowid: bool,
    decimals: String,
    ignore: bool,
    upsert: Vec<String>,
    on_error: String,
    rejects: Option<PathBuf>,
    max_errors: Option<u64>,
    strategy: String,
    page_size: Option<u32>,
    foreign_keys: bool,
    analyze: bool,
    check: bool,
}

/// Returns the value of an option with few values.
pub(crate) fn one_of<T: Copy>(option: &str, value: &str, known: &[(&str, T)]) -> PyResult<T> {
    known.iter().find(|(name, _)| *name == value).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<String> = known.iter().map(|(name, _)| format!("'{name}'")).collect();
        PyValueError::new_err(format!("{option} is '{value}', but must be {}", names.join(" or ")))
    })
}

impl Options {
    /// Returns how decimals are stored.
    pub(crate) fn decimals(&self) -> PyResult<Decimals> {
        let known = [
            ("numbers", Decimals::Numbers),
            ("text", Decimals::Text),
            ("real", Decimals::Real),
            ("scaled-integer", Decimals::ScaledInteger),
        ];
        one_of("decimals", &self.decimals, &known)
    }

    /// Returns the request of a load with these options.
    pub(crate) fn request(&self, path: &Path, table: &str) -> PyResult<Request> {
        let mut request = Request::new(path, self.table(table));
        let modes =
            [("create", Mode::Create), ("append", Mode::Append), ("replace", Mode::Replace)];
        request.mode = one_of("mode", &self.mode, &modes)?;
        request.adds_columns = self.add_columns;
        request.keeps_indexes = self.keep_indexes;
        let strategies = [
            ("auto", None),
            ("pages", Some(LoadStrategy::Pages)),
            ("arrays", Some(LoadStrategy::Arrays)),
        ];
        request.strategy = one_of("strategy", &self.strategy, &strategies)?;
        let known = [("fail", OnError::Fail), ("skip", OnError::Skip)];
        request.on_error = one_of("on_error", &self.on_error, &known)?;
        if request.on_error == OnError::Fail
            && (self.rejects.is_some() || self.max_errors.is_some())
        {
            let message = "rejects and max_errors need on_error='skip'";
            return Err(PyValueError::new_err(message));
        }
        request.duplicates = match (self.ignore, self.upsert.is_empty()) {
            (true, false) => return Err(PyValueError::new_err("choose one of ignore and upsert")),
            (true, true) => Duplicates::Ignore,
            (false, true) => Duplicates::Refuse,
            (false, false) => Duplicates::Update(self.upsert.clone()),
        };
        request.rejects.clone_from(&self.rejects);
        request.max_errors = self.max_errors;
        request.page_size = self.page_size;
        request.foreign_keys = self.foreign_keys;
        request.analyze = self.analyze;
        request.check = self.check;
        Ok(request)
    }

    fn table(&self, name: &str) -> Table {
        let index =
            |unique| move |columns: &Vec<String>| Index { columns: columns.clone(), unique };
        let indexes = self.indexes.iter().map(index(false));
        let types = self.types.iter();
        Table {
            types: types.map(|(name, declared)| Column::new(name, declared)).collect(),
            not_null: self.not_null.clone(),
            primary_key: self.primary_key.clone(),
            strict: self.strict,
            without_rowid: self.without_rowid,
            indexes: indexes.chain(self.unique.iter().map(index(true))).collect(),
            full_text: (!self.fts.is_empty())
                .then(|| FullText { columns: self.fts.clone(), name: None }),
            ..Table::new(name)
        }
    }
}
