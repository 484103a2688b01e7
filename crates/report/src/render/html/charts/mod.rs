//! Charts on the page.
//!
//! The drawing is our own because no light crate draws SVG that follows the style sheet of its page
//! (light, dark, print) and stays legible on a narrow screen: a picture scaled to 400 pixels has
//! text of five. Here nothing is scaled: marks and labels stand at percentages of the width there is, and
//! attributes of SVG say where, so that the page needs no inline style.

mod axis;
mod bands;
mod course;
mod curve;
mod forest;
mod map;
pub(super) mod strip;

use std::fmt;

use super::Writer;
use super::markup::Html;
use crate::document::{Bars, Chart, Mark, Plot};
use axis::{Axis, Tick};

/// A place along an axis, 0 to 100, as SVG takes it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Percent(f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}%", self.0)
    }
}

impl Percent {
    /// As a value of an attribute.
    fn text(self) -> String {
        self.to_string()
    }

    /// The same from the other end.
    fn flipped(self) -> Percent {
        Percent(100.0 - self.0)
    }
}

/// A stretch of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    from: Percent,
    to: Percent,
}

impl Writer {
    /// A chart with its caption, its notes below it, and its figures folded away.
    pub(super) fn chart(&mut self, html: &mut Html, chart: &Chart) {
        self.charts += 1;
        let (id, class) = (format!("chart-{}", self.charts), class(&chart.plot));
        html.class("figure", class, |html| {
            html.element("figcaption", &[], |html| {
                self.sentence(html, &chart.caption);
                let remarks = [axis_remark(&chart.plot), chart.remark.clone()];
                let remarks: Vec<String> = remarks.into_iter().flatten().collect();
                if !remarks.is_empty() {
                    let remark = format!(" ({})", remarks.join("; "));
                    html.leaf("span", &[("class", "remark")], &remark);
                }
            });
            match &chart.plot {
                Plot::Forest(it) => self.forest(html, it, &id),
                Plot::Curve(it) => curve::draw(html, it),
                Plot::Course(it) => course::draw(html, it),
                Plot::Map(it) => map::draw(html, it),
                Plot::Bars(it) => self.bars(html, it),
                Plot::Bands(it) => self.bands(html, it),
            }
            if !chart.notes.is_empty() {
                html.class("ul", "notes", |html| {
                    for note in &chart.notes {
                        html.element("li", &[], |html| self.sentence(html, note));
                    }
                });
            }
        });
        if let Some(figures) = &chart.figures {
            html.class("details", "more print", |html| {
                html.leaf("summary", &[], &figures.label);
                self.table(html, figures);
            });
        }
    }

    /// A line for each bar.
    fn bars(&mut self, html: &mut Html, bars: &Bars) {
        html.element("ol", &[], |html| {
            for bar in &bars.bars {
                html.element("li", &[], |html| {
                    html.element("span", &[], |html| self.sentence(html, &bar.name));
                    html.drawing("rail-of", |html| {
                        let width = Percent(100.0 * bar.share.min(1.0)).text();
                        let class = if bar.filled { "fill" } else { "fill left" };
                        let attributes = [("class", class), ("width", &width), ("height", "100%")];
                        html.empty("rect", &attributes);
                    });
                    html.leaf("span", &[("class", "num r")], &bar.text);
                });
            }
        });
    }
}

fn class(plot: &Plot) -> &'static str {
    match plot {
        Plot::Forest(_) => "forest",
        Plot::Curve(_) => "curve",
        Plot::Course(_) => "curve course",
        Plot::Map(_) => "heat",
        Plot::Bars(_) => "shares",
        Plot::Bands(_) => "tiers",
    }
}

/// Returns what a reader must know of the axes, such as that one is logarithmic.
fn axis_remark(plot: &Plot) -> Option<String> {
    match plot {
        Plot::Forest(it) => forest::axis(it)?.remark().map(str::to_owned),
        Plot::Bands(it) => bands::axis(it)?.remark().map(str::to_owned),
        Plot::Curve(it) => curve::remark(it),
        Plot::Course(it) => course::remark(it),
        Plot::Map(_) | Plot::Bars(_) => None,
    }
}

/// A line of a chart.
fn line(html: &mut Html, class: &str, x: [&str; 2], y: [&str; 2]) {
    let ends = [("x1", x[0]), ("x2", x[1]), ("y1", y[0]), ("y2", y[1])];
    html.empty("line", &[&[("class", class)][..], &ends].concat());
}

/// A line at one place of the horizontal axis.
fn upright(html: &mut Html, class: &str, at: Percent) {
    let at = at.text();
    line(html, class, [&at, &at], ["0", "100%"]);
}

/// Draws a line at a mark of a horizontal axis, only where the mark has its label.
fn gridline(html: &mut Html, tick: &Tick) {
    upright(html, if tick.minor { "grid minor" } else { "grid" }, tick.at);
}

/// A dot of a form and a size.
fn dot(html: &mut Html, (x, y): (&str, &str), mark: Mark, radius: f64, class: &str) {
    let around = |html: &mut Html, path: &str| {
        let place = [("x", x), ("y", y), ("overflow", "visible")];
        html.element("svg", &place, |html| {
            html.empty("path", &[("class", class), ("d", path)]);
        });
    };
    let r = radius;
    match mark {
        Mark::Circle => {
            let (class, r) = (("class", class), r.to_string());
            html.empty("circle", &[class, ("cx", x), ("cy", y), ("r", &r)]);
        }
        Mark::Diamond => around(html, &format!("M0-{0} {0} 0 0 {0}-{0} 0z", r + 2.0)),
        Mark::Square => around(html, &format!("M-{r}-{r}h{0}v{0}h-{0}z", 2.0 * r)),
    }
}

/// Draws a line across at each mark of a vertical axis.
fn grid(html: &mut Html, ticks: &[Tick]) {
    for tick in ticks {
        let at = tick.at.flipped().text();
        line(html, "grid", ["0", "100%"], [&at, &at]);
    }
}

/// Writes the labels of a vertical axis.
fn up_labels(html: &mut Html, ticks: &[Tick]) {
    html.drawing("up", |html| {
        for tick in ticks {
            let at = tick.at.flipped().text();
            let place = [("x", "100%"), ("y", &at)];
            let aligned = [("dy", ".32em"), ("text-anchor", "end")];
            html.leaf("text", &[place, aligned].concat(), &tick.label);
        }
    });
}

/// Draws within a box of 100 by 100 that is stretched to the room there is.
fn stretched(html: &mut Html, within: impl FnOnce(&mut Html)) {
    let place = [("viewBox", "0 0 100 100"), ("preserveAspectRatio", "none")];
    let size = [("width", "100%"), ("height", "100%")];
    html.element("svg", &[place, size].concat(), within);
}

/// Text of a class at a place of a chart.
fn label(html: &mut Html, class: &str, at: [&str; 2], aligned: (&'static str, &str), text: &str) {
    let attributes = [("class", class), ("x", at[0]), ("y", at[1]), aligned];
    html.leaf("text", &attributes, text);
}

/// The labels of a horizontal axis.
fn tick_labels(html: &mut Html, ticks: &[Tick]) {
    html.drawing("ticks", |html| {
        for tick in ticks {
            let class = if tick.minor { "minor" } else { "major" };
            let middle = ("text-anchor", "middle");
            label(html, class, [&tick.at.text(), "1em"], middle, &tick.label);
        }
    });
}
