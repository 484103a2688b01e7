//! Renderers of a [`Document`](crate::document::Document). None knows a topic.

mod data;
mod html;
mod markdown;
mod rows;
mod terminal;

pub use data::data;
pub use html::html;
pub use markdown::markdown;
pub use terminal::{Style, terminal};
