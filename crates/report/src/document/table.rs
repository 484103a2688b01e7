//! Tables as data.

use lab::stats::Interval;

use super::{Sentence, Sign, Tone};

/// Rows and columns.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// A description for those who cannot see it.
    pub label: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Row>,
    /// Rows that stand apart below the others and are not sorted with them.
    pub foot: Vec<Row>,
    /// Whether a reader may sort it.
    pub sortable: bool,
    /// Whether it has many narrow columns.
    pub dense: bool,
    /// Whether its cells are data of a machine, set in one width.
    pub data: bool,
    /// Which rows brief forms leave out.
    pub abridge: Abridge,
}

/// Which rows of a long table brief forms leave out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Abridge {
    /// None.
    #[default]
    Never,
    /// Those at the end.
    End,
    /// Those between the first and the last, but for [`Row::keep`].
    Middle,
}

/// A column.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// Its heading.
    pub heading: Sentence,
    /// A smaller line below the heading.
    pub below: Option<String>,
    /// The name of its metric, as records have it.
    pub about: Option<String>,
    /// Whether its cells end below each other rather than begin there.
    pub right: bool,
    /// Whether its cells are prose, which may be broken into lines.
    pub prose: bool,
    /// Whether brief forms leave it out.
    pub full_only: bool,
}

/// A row.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Its cells; where there are fewer than columns, the last ones are empty.
    pub cells: Vec<Cell>,
    /// Whether it is never left out.
    pub keep: bool,
    /// Whether it is left out before others.
    pub minor: bool,
    /// The name under which it is linked to.
    pub anchor: Option<String>,
}

/// A cell.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// One sign before the text.
    pub sign: Option<&'static str>,
    /// A colour of its own.
    pub tone: Tone,
    /// The text.
    pub text: Sentence,
    /// Smaller lines below it, in full forms.
    pub below: Vec<Sentence>,
    /// The number by which its column is sorted.
    pub value: Option<f64>,
    /// Further words, shown on demand.
    pub title: Option<String>,
    /// Whether it stands out.
    pub strong: bool,
    /// A chart in the place of the text, for renderers that draw.
    pub strip: Option<Strip>,
}

/// A figure against what is allowed, in the height of a line.
#[derive(Clone, Debug)]
pub struct Strip {
    /// The allowed range; open ends are none.
    pub allowed: (Option<f64>, Option<f64>),
    /// The figure.
    pub dot: f64,
    /// Its interval.
    pub interval: Option<Interval>,
    /// Another figure that it is compared with.
    pub other: Option<f64>,
    /// The figure that means no difference, which the axis holds.
    pub none: Option<f64>,
    /// The strip in words.
    pub words: String,
    /// The meaning of its colour.
    pub tone: Tone,
}

/// A column, and the cell that each thing has in it.
pub type Filled<'a, T> = (Column, &'a dyn Fn(&T) -> Cell);

impl Table {
    /// A table that is neither sorted nor abridged.
    pub fn new(
        label: impl Into<String>,
        columns: impl IntoIterator<Item = Column>,
        rows: impl IntoIterator<Item = Row>,
    ) -> Table {
        Table {
            label: label.into(),
            columns: columns.into_iter().collect(),
            rows: rows.into_iter().collect(),
            ..Table::default()
        }
    }

    /// A table with a row for each of these things. A heading stands next to its cells, so that it cannot stand over others.
    pub fn of<T>(
        label: impl Into<String>,
        all: impl IntoIterator<Item = T>,
        columns: &[Filled<'_, T>],
    ) -> Table {
        let row = |one: T| Row::new(columns.iter().map(|(_, cell)| cell(&one)));
        let headings = columns.iter().map(|(heading, _)| heading.clone());
        Table::new(label, headings, all.into_iter().map(row))
    }

    /// Lets a reader sort it.
    #[must_use]
    pub fn sortable(self) -> Table {
        Table { sortable: true, ..self }
    }

    /// Sets its many columns narrow.
    #[must_use]
    pub fn dense(self) -> Table {
        Table { dense: true, ..self }
    }

    /// Sets its cells in one width, as data of a machine.
    #[must_use]
    pub fn data(self) -> Table {
        Table { data: true, ..self }
    }

    /// Leaves rows out of brief forms.
    #[must_use]
    pub fn abridged(self, abridge: Abridge) -> Table {
        Table { abridge, ..self }
    }
}

impl Column {
    /// A column of text.
    pub fn left(heading: impl Into<Sentence>) -> Column {
        Column { heading: heading.into(), ..Column::default() }
    }

    /// A column of figures.
    pub fn right(heading: impl Into<Sentence>) -> Column {
        Column { right: true, ..Column::left(heading) }
    }

    /// The column, left out of brief forms.
    #[must_use]
    pub fn full_only(self) -> Column {
        Column { full_only: true, ..self }
    }

    /// The column, of prose.
    #[must_use]
    pub fn prose(self) -> Column {
        Column { prose: true, ..self }
    }
}

impl Cell {
    /// A cell of text.
    pub fn new(text: impl Into<Sentence>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }

    /// A cell with a name.
    pub fn code(name: impl Into<String>) -> Cell {
        Cell::new(Sentence::code(name))
    }

    /// A figure as `show` writes it, by which the column is sorted; a dash where there is none.
    pub fn figure(value: Option<f64>, show: impl Fn(f64) -> String) -> Cell {
        Cell { value, ..Cell::number(value.map(show)) }
    }

    /// A figure as text; a dash where there is none.
    pub fn number(text: Option<String>) -> Cell {
        Cell::new(Sentence::number(text.unwrap_or_else(|| "–".to_owned())))
    }

    /// The cell with a sign.
    #[must_use]
    pub fn signed(self, (sign, tone): Sign) -> Cell {
        Cell { sign: Some(sign), tone, ..self }
    }

    /// The cell with a smaller line below its text.
    #[must_use]
    pub fn with_below(mut self, below: impl Into<Sentence>) -> Cell {
        let below = below.into();
        if !below.is_empty() {
            self.below.push(below);
        }
        self
    }
}

impl Row {
    /// A row of these cells.
    pub fn new(cells: impl IntoIterator<Item = Cell>) -> Row {
        Row { cells: cells.into_iter().collect(), ..Row::default() }
    }

    /// A row of a first cell and others.
    pub fn led(first: Cell, others: impl IntoIterator<Item = Cell>) -> Row {
        Row::new(led(first, others))
    }
}

/// One thing, then others.
pub fn led<T>(first: T, others: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    std::iter::once(first).chain(others)
}
