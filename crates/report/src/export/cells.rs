//! Cells and columns of CSV tables.

use lab::text::one_line;

/// Which columns a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// Those that most readers want.
    Narrow,
    /// All of them.
    Wide,
}

impl Columns {
    /// The places of the columns among all names.
    pub(super) fn among<'a>(
        self,
        all: impl IntoIterator<Item = &'a str>,
        narrow: &[&str],
    ) -> Vec<usize> {
        let named = all.into_iter().enumerate();
        let wanted = named.filter(|(_, name)| self == Columns::Wide || narrow.contains(name));
        wanted.map(|(place, _)| place).collect()
    }
}

/// A number: the shortest form that reads back as the same; empty where there is none or it is
/// not finite.
pub(super) fn number(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map(|value| value.to_string()).unwrap_or_default()
}

const FORMULAS: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// A text in one line. Spreadsheets take text that begins with one of these characters for a formula
/// (<https://owasp.org/www-community/attacks/CSV_Injection>); an apostrophe before it keeps it a text.
pub(super) fn text(cell: &str) -> String {
    let line = one_line(cell);
    if line.trim_start().starts_with(FORMULAS) { format!("'{line}") } else { line.into_owned() }
}

/// The text of a cell, without the apostrophe that [`text`] put before it.
pub(super) fn plain(cell: &str) -> &str {
    let quoted = cell.strip_prefix('\'');
    let quoted = quoted.filter(|rest| rest.trim_start().starts_with(FORMULAS));
    quoted.unwrap_or(cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_no_formula_and_numbers_stay_numbers() {
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\r\n-1", "＝1"] {
            assert_eq!(text(formula), format!("'{}", one_line(formula)));
            assert_eq!(plain(&text(formula)), one_line(formula));
        }
        assert_eq!(text("cache_size=-8000"), "cache_size=-8000");
        assert_eq!(plain("'a' or b"), "'a' or b");
        assert_eq!(text("a\u{1b}\nb"), "a\u{fffd} b");
        assert_eq!(number(Some(-3.5)), "-3.5");
        assert_eq!(number(Some(f64::INFINITY)) + &number(None), "");
    }

    #[test]
    fn a_narrow_table_has_the_named_columns_in_the_order_of_all() {
        let all = ["a", "b", "c"];
        assert_eq!(Columns::Narrow.among(all, &["c", "a"]), [0, 2]);
        assert_eq!(Columns::Wide.among(all, &["c"]), [0, 1, 2]);
    }
}
