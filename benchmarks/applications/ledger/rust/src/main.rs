//! A ledger through rusqlite: transfers in transactions, some rolled back, look-ups, errors.

use rusqlite::{Connection, params};

fn main() -> rusqlite::Result<()> {
    let mut db = Connection::open("ledger.db")?;
    db.execute_batch(
        "CREATE TABLE account(id INTEGER PRIMARY KEY, name TEXT UNIQUE, balance REAL);
         CREATE TABLE entry(id INTEGER PRIMARY KEY, account INTEGER REFERENCES account, note TEXT, amount REAL, seal BLOB)",
    )?;
    for i in 0..50 {
        add(&db, i)?;
    }
    for i in 0..300_i64 {
        let id = i * 7 % 50 + 1;
        transfer(&mut db, i, id)?;
        let latest = format!("SELECT note FROM entry WHERE account = {id} ORDER BY id DESC");
        let _note: Option<String> = db.query_row(&latest, [], |row| row.get(0)).ok();
        if i % 20 == 0 {
            // The name is taken.
            let _ = add(&db, i);
        }
    }
    Ok(())
}

fn add(db: &Connection, i: i64) -> rusqlite::Result<usize> {
    let mut open = db.prepare_cached("INSERT INTO account(name, balance) VALUES (?, ?)")?;
    open.execute(params![format!("Konto №{i}"), 100.1])
}

fn transfer(db: &mut Connection, i: i64, id: i64) -> rusqlite::Result<()> {
    let transaction = db.transaction()?;
    let mut read = transaction.prepare_cached("SELECT balance FROM account WHERE id = ?")?;
    let balance: f64 = read.query_row([id], |row| row.get(0))?;
    drop(read);
    let mut change =
        transaction.prepare_cached("UPDATE account SET balance = :balance WHERE id = :id")?;
    change.execute(rusqlite::named_params! {":balance": balance - 0.1 * i as f64, ":id": id})?;
    drop(change);
    let mut write = transaction
        .prepare_cached("INSERT INTO entry(account, note, amount, seal) VALUES (?, ?, ?, ?)")?;
    let seal = i.to_le_bytes();
    write.execute(params![id, format!("it's entry {i}"), 0.1 * i as f64, seal])?;
    drop(write);
    match i % 10 {
        0 => transaction.rollback(),
        _ => transaction.commit(),
    }
}
