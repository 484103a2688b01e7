//! Errors of writing a view.

/// A view that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The HTML page could not be put together.
    #[error("the HTML page could not be put together: {0}")]
    Page(#[from] askama::Error),
    /// A CSV table could not be written.
    #[error("the CSV table of {0} could not be written: {1}")]
    Csv(&'static str, csv::Error),
    /// The JSON export could not be written.
    #[error("the JSON export could not be written: {0}")]
    Json(#[from] serde_json::Error),
}

impl Error {
    /// Names the table that a CSV error belongs to.
    pub(crate) fn csv(table: &'static str) -> impl Fn(csv::Error) -> Error {
        move |source| Error::Csv(table, source)
    }
}
