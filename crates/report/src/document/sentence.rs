//! Sentences in pieces, which each renderer dresses in its own way.

/// A piece of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Plain words.
    Words(String),
    /// A setting or a name out of a file.
    Code(String),
    /// A figure that the sentence is about.
    Figure(String),
    /// A figure among others, such as an interval; it stays on one line.
    Number(String),
    /// A word that is explained elsewhere.
    Term(&'static Term),
    /// Words that lead to a section.
    Link {
        /// The words.
        text: String,
        /// The anchor of the section.
        to: String,
    },
}

/// A word with its meaning.
#[derive(Debug, PartialEq, Eq)]
pub struct Term {
    /// The word.
    pub word: &'static str,
    /// The name under which its meaning is linked to.
    pub anchor: &'static str,
    /// Its meaning in one sentence.
    pub meaning: &'static str,
}

/// A sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence(pub Vec<Piece>);

impl Sentence {
    /// A name.
    pub fn code(name: impl Into<String>) -> Sentence {
        Sentence(vec![Piece::Code(name.into())])
    }

    /// A figure among others.
    pub fn number(text: impl Into<String>) -> Sentence {
        Sentence(vec![Piece::Number(text.into())])
    }

    /// Text in which what stands between backticks is a name; a backtick alone is a backtick.
    pub fn marked(text: &str) -> Sentence {
        let parts: Vec<&str> = text.split('`').collect();
        if parts.len().is_multiple_of(2) {
            return Sentence::from(text);
        }
        let piece = |(number, part): (usize, &&str)| match number % 2 {
            0 => Piece::Words((*part).to_owned()),
            _ => Piece::Code((*part).to_owned()),
        };
        Sentence(parts.iter().enumerate().map(piece).collect())
    }

    /// The sentence with words at its end.
    #[must_use]
    pub fn words(mut self, text: impl Into<String>) -> Sentence {
        self.0.push(Piece::Words(text.into()));
        self
    }

    /// The sentence with a name at its end.
    #[must_use]
    pub fn and_code(mut self, name: impl Into<String>) -> Sentence {
        self.0.push(Piece::Code(name.into()));
        self
    }

    /// The sentence with a figure at its end.
    #[must_use]
    pub fn figure(mut self, text: impl Into<String>) -> Sentence {
        self.0.push(Piece::Figure(text.into()));
        self
    }

    /// The sentence with another one at its end.
    #[must_use]
    pub fn and(mut self, other: Sentence) -> Sentence {
        self.0.extend(other.0);
        self
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The sentence without any dress.
    pub fn plain(&self) -> String {
        plain(&self.0)
    }
}

impl From<&str> for Sentence {
    fn from(text: &str) -> Sentence {
        Sentence::from(text.to_owned())
    }
}

impl From<String> for Sentence {
    fn from(text: String) -> Sentence {
        if text.is_empty() { Sentence::default() } else { Sentence(vec![Piece::Words(text)]) }
    }
}

/// Pieces without any dress.
pub fn plain(pieces: &[Piece]) -> String {
    let text = |piece: &Piece| match piece {
        Piece::Words(text) | Piece::Code(text) | Piece::Figure(text) | Piece::Number(text) => {
            text.clone()
        }
        Piece::Link { text, .. } => text.clone(),
        Piece::Term(term) => term.word.to_owned(),
    };
    pieces.iter().map(text).collect()
}

/// Sentences in a row, with `between` between them.
pub fn joined(sentences: impl IntoIterator<Item = Sentence>, between: &str) -> Sentence {
    let mut all = Sentence::default();
    for sentence in sentences {
        if !all.is_empty() {
            all = all.words(between);
        }
        all = all.and(sentence);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_between_backticks_are_told_from_words() {
        let sentence = Sentence::marked("What does `detail` save?");
        assert!(matches!(&sentence.0[1], Piece::Code(name) if name == "detail"));
        assert_eq!(sentence.plain(), "What does detail save?");
        assert_eq!(Sentence::marked("a ` alone").plain(), "a ` alone");
    }
}
