//! Colours of the terminal: the sixteen that every theme sets for its own background.

use crate::document::Tone;

/// What a piece of text is, as far as its colour goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Paint {
    /// As it comes.
    Plain,
    /// Headings and numbers.
    Strong,
    /// Small print.
    Dim,
    /// What a sign means.
    Tone(Tone),
}

impl Paint {
    /// The text between the codes that colour it.
    pub(super) fn on(self, text: &str, colour: bool) -> String {
        match self.code().filter(|_| colour) {
            Some(code) => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            None => text.to_owned(),
        }
    }

    fn code(self) -> Option<&'static str> {
        match self {
            Paint::Plain => None,
            Paint::Strong => Some("1"),
            Paint::Dim => Some("2"),
            Paint::Tone(tone) => Paint::of_tone(tone),
        }
    }
}
