//! Rows and columns that text renderers leave out of tables.

use crate::document::Column;
use crate::document::{Abridge, Cell, Map, MapCell, MapRow, Row, Sentence, Table, led};

/// Up to this number every row of a table is shown in a brief form.
const ALL_UP_TO: usize = 12;
/// Number of first rows that are shown of a longer table.
const FIRST: usize = 8;
/// Number of last rows that are shown of a longer table.
const LAST: usize = 3;

/// One line of an abridged table.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<T> {
    /// A row.
    Row(T),
    /// The number of rows that are left out here.
    LeftOut(usize),
}

/// The rows that a brief form shows.
pub(super) fn abridged(table: &Table) -> Vec<Line<&Row>> {
    let all: Vec<&Row> = table.rows.iter().collect();
    match table.abridge {
        _ if all.len() <= ALL_UP_TO => all.into_iter().map(Line::Row).collect(),
        Abridge::Never => all.into_iter().map(Line::Row).collect(),
        Abridge::End => {
            let more = Line::LeftOut(all.len() - ALL_UP_TO);
            all.into_iter().take(ALL_UP_TO).map(Line::Row).chain([more]).collect()
        }
        Abridge::Middle => {
            let (minor, major): (Vec<&Row>, Vec<&Row>) = all.into_iter().partition(|row| row.minor);
            let minor = (!minor.is_empty()).then_some(Line::LeftOut(minor.len()));
            let lines = first_and_last(major, |row| row.keep);
            lines.into_iter().chain(minor).collect()
        }
    }
}

fn first_and_last<T: Copy>(all: Vec<T>, is_kept: impl Fn(T) -> bool) -> Vec<Line<T>> {
    let is_shown = |place: usize| place < FIRST || place + LAST >= all.len() || is_kept(all[place]);
    let mut lines = Vec::new();
    let mut next = 0;
    for place in (0..all.len()).filter(|place| is_shown(*place)) {
        match place - next {
            0 => {}
            // The row itself takes no more room than saying that it is left out.
            1 => lines.push(Line::Row(all[next])),
            more => lines.push(Line::LeftOut(more)),
        }
        lines.push(Line::Row(all[place]));
        next = place + 1;
    }
    lines
}

/// The columns in which there is text, by their places.
pub(super) fn with_text(table: &Table) -> Vec<usize> {
    let has_text = |column: &usize| {
        table.rows.iter().chain(&table.foot).any(|row| {
            let cell = row.cells.get(*column);
            cell.is_some_and(|cell| !cell.text.is_empty() || cell.sign.is_some())
        })
    };
    (0..table.columns.len()).filter(has_text).collect()
}

/// A map as a table.
pub(super) fn of_map(map: &Map) -> Table {
    let factors = [&map.row_factor, &map.column_factor].into_iter().flatten();
    let names: Vec<&str> = factors.map(String::as_str).collect();
    let cell = |cell: &MapCell| {
        let reason = cell.reason.map_or(String::new(), |number| format!(" ({number})"));
        Cell::new(format!("{}{reason}", cell.text)).with_below(cell.below.as_str())
    };
    let row = |row: &MapRow| {
        let name = Cell::new(Sentence::code(&row.name));
        Row::new([name].into_iter().chain(row.cells.iter().map(cell)))
    };
    let columns = map.columns.iter().map(|column| Column::left(Sentence::code(column)));
    let first = Column::left(names.join(" \\ "));
    Table {
        columns: led(first, columns).collect(),
        rows: map.rows.iter().map(row).collect(),
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(rows: usize, kept: usize) -> Vec<Line<usize>> {
        first_and_last((0..rows).collect(), |row| row == kept)
    }

    #[test]
    fn the_first_the_kept_and_the_last_rows_are_shown() {
        let lines = lines(24, 15);
        let rows = lines.iter().filter_map(|line| match line {
            Line::Row(row) => Some(*row),
            Line::LeftOut(_) => None,
        });
        let expected = [0, 1, 2, 3, 4, 5, 6, 7, 15, 21, 22, 23];
        assert_eq!(rows.collect::<Vec<_>>(), expected);
        assert_eq!((&lines[8], &lines[10]), (&Line::LeftOut(7), &Line::LeftOut(5)));
    }

    #[test]
    fn a_single_row_is_not_left_out() {
        let lines = lines(13, 9);
        assert_eq!(lines[8], Line::Row(8));
        assert_eq!(lines.len(), 13);
    }
}
