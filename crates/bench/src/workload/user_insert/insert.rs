//! The inserting of users: nothing but what an application would do.

use std::iter::repeat_n;
use std::time::Instant;

use engine::{Connection, Statement};

use super::generators;
use super::parameters::{Data, Parameters};
use crate::error::TrialError;
use crate::generate::{User, Users};
use crate::measure::Windows;

/// Where the rows come from.
pub(super) enum Source {
    /// Every row is [`User::CONSTANT`].
    Constant,
    /// They were generated before.
    Ready(Vec<User>),
    /// The inserting thread draws each when it needs it.
    Drawn,
    /// So many other threads draw them.
    Threads(usize),
}

/// Everything prepared for inserting.
pub(super) struct Inserter<'c> {
    many: Statement<'c, 'static>,
    one: Statement<'c, 'static>,
    rows_per_statement: usize,
    bound: bool,
}

impl<'c> Inserter<'c> {
    pub(super) fn prepare(
        connection: &'c Connection,
        parameters: &Parameters,
    ) -> Result<Inserter<'c>, TrialError> {
        let (rows, data) = (parameters.rows_per_statement, parameters.data);
        Ok(Inserter {
            many: connection.prepare(&insert_sql(rows, data))?,
            one: connection.prepare(&insert_sql(1, data))?,
            rows_per_statement: rows,
            bound: data != Data::Literals,
        })
    }

    /// Inserts all rows, part by part.
    pub(super) fn insert_all(
        &mut self,
        source: &Source,
        users: Users,
        windows: &mut Windows,
    ) -> Result<(), TrialError> {
        if let Source::Threads(threads) = source {
            return generators::each_part(users, *threads, |part| {
                self.insert(part.iter().copied())?;
                windows.tick(part.len(), Instant::now());
                Ok(())
            });
        }
        let mut done = 0;
        for number in 0..users.parts() {
            let part = users.part(number);
            let rows = part.len();
            match source {
                Source::Constant => self.insert(repeat_n(User::CONSTANT, rows))?,
                Source::Ready(ready) => self.insert(ready[done..done + rows].iter().copied())?,
                Source::Drawn | Source::Threads(_) => self.insert(part)?,
            }
            done += rows;
            windows.tick(rows, Instant::now());
        }
        Ok(())
    }

    /// Inserts rows in statements of many, and what is left over one by one.
    #[inline]
    fn insert(&mut self, mut rows: impl ExactSizeIterator<Item = User>) -> Result<(), TrialError> {
        while rows.len() >= self.rows_per_statement {
            insert_some(&mut self.many, &mut rows, self.rows_per_statement, self.bound)?;
        }
        while rows.len() > 0 {
            insert_some(&mut self.one, &mut rows, 1, self.bound)?;
        }
        Ok(())
    }
}

#[inline]
fn insert_some(
    statement: &mut Statement<'_, 'static>,
    rows: &mut impl Iterator<Item = User>,
    count: usize,
    bound: bool,
) -> Result<(), TrialError> {
    for (index, user) in rows.take(count).enumerate() {
        if bound {
            bind(statement, index as i32 * 3, &user)?;
        }
    }
    statement.run()?;
    Ok(())
}

/// Binds a row to the three parameters after `before`. SQLite copies the area, since a row that
/// was just drawn lives no longer than this call.
#[inline]
fn bind(
    statement: &mut Statement<'_, 'static>,
    before: i32,
    user: &User,
) -> Result<(), TrialError> {
    match &user.area {
        Some(digits) => statement.bind_text(before + 1, text(digits))?,
        None => statement.bind_null(before + 1)?,
    }
    statement.bind_i64(before + 2, i64::from(user.age))?;
    statement.bind_i64(before + 3, i64::from(user.active))?;
    Ok(())
}

#[inline]
fn text(digits: &[u8; 6]) -> &str {
    std::str::from_utf8(digits).expect("an area is made of ASCII digits")
}

fn insert_sql(rows: usize, data: Data) -> String {
    let User { area, age, active } = User::CONSTANT;
    let row = match (data, &area) {
        (Data::Literals, Some(area)) => format!("('{}',{age},{active})", text(area)),
        (Data::Literals, None) => format!("(NULL,{age},{active})"),
        _ => "(?,?,?)".to_owned(),
    };
    format!("INSERT INTO user(area, age, active) VALUES {}", vec![row; rows].join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_stand_in_the_statement_and_the_rest_is_bound() {
        let start = "INSERT INTO user(area, age, active) VALUES ";
        assert_eq!(insert_sql(2, Data::Literals), format!("{start}('123456',5,0),('123456',5,0)"));
        assert_eq!(insert_sql(2, Data::BoundRandom), format!("{start}(?,?,?),(?,?,?)"));
    }
}
