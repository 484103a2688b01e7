//! Whether the table holds the users that were to be inserted, in whatever order.

use std::iter::repeat_n;

use engine::Connection;

use super::parameters::Data;
use crate::error::TrialError;
use crate::generate::{User, Users};
use crate::workload::common::expect;
use crate::workload::sums::{Sum, check_sums, sums};

/// What is compared, and the query that finds it; in the order of [`figures`]. The last ties the
/// columns of a row together, so that values in the wrong row are noticed.
const SUMS: [Sum; 7] = [
    ("the count of rows", "count(*)"),
    ("the count of areas", "count(area)"),
    ("the length of all areas", "sum(length(area))"),
    ("the sum of areas", "sum(CAST(area AS INTEGER))"),
    ("the sum of ages", "sum(age)"),
    ("the sum of active users", "sum(active)"),
    (
        "the sum of products of areas and the rest",
        "sum((ifnull(CAST(area AS INTEGER), 0) + 1) * (age + active))",
    ),
];

pub(super) fn check(connection: &Connection, data: Data, users: Users) -> Result<(), TrialError> {
    let wanted = match data {
        Data::BoundRandom => figures(users.all()),
        Data::Literals | Data::BoundConstants => figures(
            (0..users.parts()).flat_map(|part| repeat_n(User::CONSTANT, users.part(part).len())),
        ),
    };
    check_sums(connection, &SUMS, ("user", ""), &wanted)?;
    let ids = connection.query_i64("SELECT ifnull(max(id) - min(id) + 1, 0) FROM user")?;
    expect("the range of ids", ids, wanted[0])
}

fn figures(users: impl Iterator<Item = User>) -> [i64; SUMS.len()] {
    sums(users.map(|user| {
        let number = user.area.map(|digits| number(&digits));
        let (age, active) = (i64::from(user.age), i64::from(user.active));
        [
            1,
            i64::from(number.is_some()),
            6 * i64::from(number.is_some()),
            number.unwrap_or_default(),
            age,
            active,
            (number.unwrap_or_default() + 1) * (age + active),
        ]
    }))
}

fn number(digits: &[u8; 6]) -> i64 {
    digits.iter().fold(0, |number, digit| 10 * number + i64::from(digit - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::user_insert::CREATE_TABLE;
    use engine::{Library, OpenFlags, Source};
    use lab::seed::Seed;
    use std::path::Path;
    use std::sync::Arc;

    #[test]
    fn any_change_of_a_row_is_a_wrong_result() {
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let memory = Path::new(":memory:");
        let connection = Connection::open(&library, memory, OpenFlags::default(), None).unwrap();
        let row = "(area, age, active) VALUES ('123456', 5, 0)";
        connection.execute(CREATE_TABLE).unwrap();
        for _ in 0..2 {
            connection.execute(&format!("INSERT INTO user{row}")).unwrap();
        }
        let users = Users::new(Seed(1), 2, 10, 50);
        let holds = || check(&connection, Data::Literals, users);
        assert!(holds().is_ok());
        for change in [
            "DELETE FROM user WHERE id = 2",
            "UPDATE user SET area = NULL WHERE id = 1",
            "UPDATE user SET area = '123457' WHERE id = 1",
            "UPDATE user SET area = ' 123456' WHERE id = 1",
            "UPDATE user SET age = 10 WHERE id = 1",
            "UPDATE user SET active = 1 WHERE id = 1",
            "UPDATE user SET id = 7 WHERE id = 2",
        ] {
            connection.execute("BEGIN").unwrap();
            connection.execute(change).unwrap();
            assert!(holds().is_err(), "{change}");
            connection.execute("ROLLBACK").unwrap();
        }
        assert!(check(&connection, Data::BoundRandom, users).is_err());
    }
}
