//! Charts for the page: where marks stand, and on which axis.
//!
//! The drawing is our own because no light crate draws SVG that follows the style sheet of its page
//! (light, dark, print) and stays legible on a narrow screen: a picture scaled to 400 pixels has
//! text of five. Here text is HTML, every row has a small SVG of its own height, and marks stand
//! at percentages of its width, so no text is ever scaled. These modules compute the places and
//! the templates hold the elements.

mod axis;
pub(crate) mod claim;
pub(crate) mod curve;
pub(crate) mod effects;
pub(crate) mod forest;
pub(crate) mod heat;
mod labels;
pub(crate) mod tiers;

use std::fmt;

pub(crate) use axis::{Axis, Tick};

/// A place along an axis, 0 to 100, as SVG and CSS take it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Percent(pub(crate) f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}%", self.0)
    }
}

/// A stretch of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    /// Its beginning.
    pub(crate) from: Percent,
    /// Its end.
    pub(crate) to: Percent,
}

impl Span {
    /// The length of the stretch.
    pub(crate) fn length(&self) -> Percent {
        Percent(self.to.0 - self.from.0)
    }
}
