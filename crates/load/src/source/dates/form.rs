//! The form that all dates of a column have, chosen from its first values.

use super::moment::{Moment, Shape};

/// Whether the day or the month comes first in dates that end with the year.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DateOrder {
    /// As the values show; an error where they do not.
    #[default]
    Auto,
    /// 31/12/2024.
    DayFirst,
    /// 12/31/2024.
    MonthFirst,
}

/// The form of the dates of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    shape: Shape,
    day_first: bool,
    has_time: bool,
    has_zone: bool,
    /// Digits after the second, the same for every value: the order of the texts is that of the times.
    digits: usize,
}

impl Form {
    /// A date of this form as SQLite reads it.
    pub(super) fn written(&self, text: &str) -> Option<String> {
        let moment = Moment::of(text)?;
        let time = moment.time;
        let is_alike = moment.shape == self.shape
            && time.is_some() == self.has_time
            && time.is_none_or(|time| {
                time.zone.is_some() == self.has_zone && time.digits <= self.digits
            });
        is_alike.then(|| moment.written(self.day_first, self.digits))?
    }
}

/// The first values of a column.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    first: Option<(Moment, String)>,
    /// A value is no date, or one of another form than the first.
    differs: bool,
    /// The first number cannot be the month, or the second one.
    is_day_first: bool,
    is_month_first: bool,
    digits: usize,
}

/// What the first values of a column say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// There are none.
    Unknown,
    /// They are no dates of one form.
    Other,
    /// They are dates of this form, such as the first one.
    Dates(Form, String),
    /// They may begin with the day or the month, as the first one.
    Ambiguous(String),
}

impl Seen {
    /// Sees a value that is no text.
    pub(super) fn see_other(&mut self) {
        self.differs = true;
    }

    pub(super) fn see(&mut self, text: &str) {
        if self.differs {
            return;
        }
        let Some(moment) = Moment::of(text) else {
            self.differs = true;
            return;
        };
        if let Shape::YearLast(_) = moment.shape {
            self.is_day_first |= moment.numbers.0 > 12;
            self.is_month_first |= moment.numbers.1 > 12;
        }
        self.digits = self.digits.max(moment.time.map_or(0, |time| time.digits));
        match &self.first {
            None => self.first = Some((moment, text.to_owned())),
            Some((first, _)) => self.differs |= !is_alike(first, &moment),
        }
    }

    pub(super) fn verdict(&self, order: DateOrder) -> Verdict {
        let Some((first, text)) = &self.first else {
            return if self.differs { Verdict::Other } else { Verdict::Unknown };
        };
        if self.differs || self.is_day_first && self.is_month_first {
            return Verdict::Other;
        }
        let day_first = match (first.shape, order) {
            (Shape::YearLast(_), _) if self.is_day_first => true,
            (Shape::YearLast(_), _) if self.is_month_first => false,
            (Shape::YearLast(_), DateOrder::DayFirst) => true,
            (Shape::YearLast(_), DateOrder::MonthFirst) => false,
            // With points, the day comes first everywhere.
            (Shape::YearLast(b'.'), DateOrder::Auto) => true,
            (Shape::YearLast(_), DateOrder::Auto) => return Verdict::Ambiguous(text.clone()),
            _ => true,
        };
        let form = Form {
            shape: first.shape,
            day_first,
            has_time: first.time.is_some(),
            has_zone: first.time.is_some_and(|time| time.zone.is_some()),
            digits: match self.digits {
                0 => 0,
                1..=3 => 3,
                4..=6 => 6,
                _ => 9,
            },
        };
        Verdict::Dates(form, text.clone())
    }
}

fn is_alike(one: &Moment, other: &Moment) -> bool {
    let zone = |moment: &Moment| moment.time.map(|time| time.zone.is_some());
    one.shape == other.shape && zone(one) == zone(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(order: DateOrder, values: &[&str]) -> Vec<Option<String>> {
        let mut seen = Seen::default();
        for value in values {
            seen.see(value);
        }
        match seen.verdict(order) {
            Verdict::Dates(form, _) => values.iter().map(|value| form.written(value)).collect(),
            _ => Vec::new(),
        }
    }

    fn some(texts: [&str; 2]) -> Vec<Option<String>> {
        texts.map(|text| Some(text.to_owned())).to_vec()
    }

    #[test]
    fn one_day_above_twelve_tells_the_order_of_all() {
        let days = some(["2024-02-01", "2024-02-13"]);
        assert_eq!(written(DateOrder::Auto, &["1/2/2024", "13/2/2024"]), days);
        assert_eq!(written(DateOrder::Auto, &["2/1/2024", "2/13/2024"]), days);
        assert_eq!(written(DateOrder::MonthFirst, &["1/2/2024", "13/2/2024"]), days);
    }

    #[test]
    fn without_one_the_order_is_the_one_chosen_or_unknown() {
        let mut seen = Seen::default();
        seen.see("1/2/2024");
        assert_eq!(seen.verdict(DateOrder::Auto), Verdict::Ambiguous("1/2/2024".to_owned()));
        let one = |order| written(order, &["1/2/2024"])[0].clone().unwrap();
        assert_eq!(one(DateOrder::DayFirst), "2024-02-01");
        assert_eq!(one(DateOrder::MonthFirst), "2024-01-02");
        assert_eq!(written(DateOrder::Auto, &["1.2.2024"])[0].as_deref(), Some("2024-02-01"));
    }

    #[test]
    fn values_of_a_column_have_one_width() {
        assert_eq!(
            written(DateOrder::Auto, &["2024-01-01 12:00:00.5", "2024-01-01 12:00"]),
            some(["2024-01-01T12:00:00.500", "2024-01-01T12:00:00.000"])
        );
    }

    #[test]
    fn values_of_several_forms_or_of_none_are_no_dates() {
        for values in [
            ["1/13/2024", "13/1/2024"],
            ["1/13/2024", "1-14-2024"],
            ["2024-01-01", "2024-01-01 12:00"],
            ["2024-01-01 12:00", "2024-01-01 12:00Z"],
            ["2024-01-01", "n/a"],
            ["x", "2024-01-01"],
            ["2024-01-01", "2024-17-1"],
            ["0000-00-00", "0000-00-00"],
            ["2024-02-30", "2024-02-28"],
            ["30/02/2024", "13/02/2024"],
            ["31 Apr 2024", "1 Apr 2024"],
        ] {
            let mut seen = Seen::default();
            values.iter().for_each(|value| seen.see(value));
            assert_eq!(seen.verdict(DateOrder::Auto), Verdict::Other, "{values:?}");
        }
    }
}
