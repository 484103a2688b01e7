#![forbid(unsafe_code)]
//! Views of an analysis: terminal, Markdown, one HTML page, CSV and JSON.
//!
//! This crate presents and never computes: every figure, interval, rank and verdict comes from
//! [`lab::analysis`] as it is, and only its wording and form are decided here. It depends on `lab`
//! alone, so it can neither start a trial nor open a database, and it writes to nothing but the
//! writer it is given.
//!
//! All views say the same in the same words: [`figures`] turns numbers into text, the private
//! modules `words`, `answer`, `recall`, `effects`, `knees`, `advice` and `facts` hold the sentences, `work` and
//! `found` what trials found out besides figures, and the views arrange them. [`settings`] prints
//! settings of SQLite in the forms that programs take.

mod accidents;
mod advice;
mod answer;
mod beside;
mod bindings;
mod charts;
mod durability;
mod effects;
mod error;
pub mod export;
mod facts;
pub mod figures;
mod found;
mod html;
mod knees;
mod markdown;
mod names;
mod place;
mod recall;
pub mod settings;
mod side_by_side;
mod terminal;
mod tiers;
mod words;
mod work;

pub use advice::{SettingsQuery, settings_to_use};
pub use error::Error;
pub use html::html;
pub use markdown::markdown;
pub use terminal::{Style, terminal};

/// What a view that can fail returns.
pub type Result<T> = std::result::Result<T, Error>;
