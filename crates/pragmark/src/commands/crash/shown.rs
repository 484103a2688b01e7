//! How far a measurement is.

use std::io::IsTerminal;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ::crash::Progress;
use indicatif::{ProgressBar, ProgressStyle};

use crate::progress::humanly;

/// How far it is, on standard error: a bar, or a line now and then.
pub(super) struct Shown {
    bar: Option<ProgressBar>,
    cells: usize,
    begin: Instant,
    last: Instant,
}

impl Shown {
    /// Begins; without a bar where `plain`, and where standard error is no terminal.
    pub(super) fn new(plain: bool, cells: usize) -> Shown {
        let bar = !plain && std::io::stderr().is_terminal();
        tell!("{cells} cells: settings × storage models");
        let now = Instant::now();
        Shown {
            bar: bar.then(|| bar_of(cells)),
            cells,
            begin: now,
            last: now,
        }
    }

    /// Shows what was done so far, not too often.
    pub(super) fn update(&mut self, progress: &Progress) {
        let every = match self.bar {
            Some(_) => Duration::from_millis(200),
            None => Duration::from_secs(5),
        };
        if self.last.elapsed() < every {
            return;
        }
        self.last = Instant::now();
        let done = progress.cells.load(Ordering::Relaxed);
        let images = progress.images.load(Ordering::Relaxed);
        let left = match done {
            0 => String::new(),
            done => {
                let each = self.begin.elapsed().as_secs_f64() / done as f64;
                format!(", {} to go", humanly(each * (self.cells - done) as f64))
            }
        };
        let message = format!("{done} of {} cells, {images} images{left}", self.cells);
        match &self.bar {
            Some(bar) => {
                bar.set_position(done as u64);
                bar.set_message(message);
            }
            None => tell!("  {message}"),
        }
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar_of(cells: usize) -> ProgressBar {
    let bar = ProgressBar::new(cells as u64);
    // The template is fixed, so that it parses is checked by the tests.
    if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
        bar.set_style(style);
    }
    bar
}

const TEMPLATE: &str = "{bar:20} {wide_msg}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_of_the_bar_parses() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }
}
