//! A batch of rows of text columns, in one piece of memory that is filled again and again.

/// Rows of a fixed number of text columns. A field without a character counts as NULL.
#[derive(Clone, Debug)]
pub struct Documents {
    letters: String,
    /// Where each field ends, row after row.
    ends: Vec<usize>,
    /// Columns of a row.
    pub columns: usize,
}

impl Documents {
    /// Returns no rows yet, for rows of this number of columns (at least one).
    pub fn new(columns: usize) -> Documents {
        Documents { letters: String::new(), ends: Vec::new(), columns }
    }

    /// Forgets the rows and keeps the memory.
    pub fn clear(&mut self) {
        self.letters.clear();
        self.ends.clear();
    }

    /// Returns the text to which the next field is appended; [`Documents::end_field`] ends it.
    #[inline]
    pub fn letters(&mut self) -> &mut String {
        &mut self.letters
    }

    /// Ends a field, which is the text appended since the last end.
    #[inline]
    pub fn end_field(&mut self) {
        self.ends.push(self.letters.len());
    }

    /// Appends a field.
    pub fn push_field(&mut self, text: &str) {
        self.letters.push_str(text);
        self.end_field();
    }

    /// Whole rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.ends.len() / self.columns
    }

    /// Returns bytes of all fields.
    pub fn bytes(&self) -> usize {
        self.letters.len()
    }

    /// Returns a field, or `None` if it is empty.
    #[inline]
    pub fn field(&self, row: usize, column: usize) -> Option<&str> {
        let number = row * self.columns + column;
        let from = match number {
            0 => 0,
            _ => self.ends[number - 1],
        };
        let text = &self.letters[from..self.ends[number]];
        (!text.is_empty()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_again_and_empty_ones_are_none() {
        let mut documents = Documents::new(2);
        for field in ["a", "", "bé", "c"] {
            documents.push_field(field);
        }
        assert_eq!((documents.rows(), documents.bytes()), (2, 5));
        assert_eq!(documents.field(0, 0), Some("a"));
        assert_eq!(documents.field(0, 1), None);
        assert_eq!(documents.field(1, 0), Some("bé"));
        assert_eq!(documents.field(1, 1), Some("c"));
        documents.clear();
        assert_eq!(documents.rows(), 0);
    }
}
