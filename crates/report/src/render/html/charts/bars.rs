//! Bars of one whole.

use super::Percent;
use crate::document::Bars;
use crate::render::html::Writer;
use crate::render::html::markup::Html;

impl Writer {
    /// A line for each bar.
    pub(super) fn bars(&mut self, html: &mut Html, bars: &Bars) {
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
