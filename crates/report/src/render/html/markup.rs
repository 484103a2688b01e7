//! HTML that grows element by element. Names of elements and attributes are constants of this program;
//! everything else is escaped on its way in.

use lab::text::lines;

/// Markup.
#[derive(Default)]
pub(super) struct Html {
    out: String,
}

/// Attributes of an element.
pub(super) type Attributes<'a> = &'a [(&'static str, &'a str)];

impl Html {
    /// The markup.
    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Text.
    pub(super) fn text(&mut self, text: &str) {
        escape(&mut self.out, text);
    }

    /// An element and what is in it.
    pub(super) fn element(
        &mut self,
        name: &'static str,
        attributes: Attributes<'_>,
        within: impl FnOnce(&mut Html),
    ) {
        self.open(name, attributes, ">");
        within(self);
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push('>');
    }

    /// An element of text.
    pub(super) fn leaf(&mut self, name: &'static str, attributes: Attributes<'_>, text: &str) {
        self.element(name, attributes, |html| html.text(text));
    }

    /// An element of a class.
    pub(super) fn class(
        &mut self,
        name: &'static str,
        class: &str,
        within: impl FnOnce(&mut Html),
    ) {
        self.element(name, &[("class", class)], within);
    }

    /// One sign before what it is repeated by in words.
    pub(super) fn sign(&mut self, sign: &str) {
        self.leaf("span", &[("class", "sign"), ("aria-hidden", "true")], sign);
    }

    /// A drawing that only repeats what text says.
    pub(super) fn drawing(&mut self, class: &str, within: impl FnOnce(&mut Html)) {
        self.element("svg", &[("class", class), ("aria-hidden", "true")], within);
    }

    /// A region that scrolls by itself where it is too wide.
    pub(super) fn scrolling(&mut self, label: &str, within: impl FnOnce(&mut Html)) {
        let region = [("class", "scroll"), ("tabindex", "0")];
        let region = [region, [("role", "region"), ("aria-label", label)]];
        self.element("div", &region.concat(), within);
    }

    /// An element with nothing in it, such as a mark of a chart.
    pub(super) fn empty(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.open(name, attributes, "/>");
    }

    /// The end of a line, for those who read the source.
    pub(super) fn line(&mut self) {
        self.out.push('\n');
    }

    fn open(&mut self, name: &'static str, attributes: Attributes<'_>, end: &str) {
        self.out.push('<');
        self.out.push_str(name);
        for (name, value) in attributes {
            self.out.push(' ');
            self.out.push_str(name);
            self.out.push_str("=\"");
            escape(&mut self.out, value);
            self.out.push('"');
        }
        self.out.push_str(end);
    }
}

fn escape(out: &mut String, text: &str) {
    for character in lines(text).chars() {
        match character {
            '&' => out.push_str("&#38;"),
            '<' => out.push_str("&#60;"),
            '>' => out.push_str("&#62;"),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_cannot_become_markup() {
        let mut html = Html::default();
        html.leaf("b", &[("title", "\"><script>")], "<i>&");
        let expected = "<b title=\"&#34;&#62;&#60;script&#62;\">&#60;i&#62;&#38;</b>";
        assert_eq!(html.finish(), expected);
        let mut html = Html::default();
        html.leaf("b", &[("title", "\0")], "\u{1b}\u{202e}a\n\tb");
        let expected = "<b title=\"\u{fffd}\">\u{fffd}\u{fffd}a\n\tb</b>";
        assert_eq!(html.finish(), expected);
    }
}
