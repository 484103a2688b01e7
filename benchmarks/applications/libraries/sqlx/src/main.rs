//! Accounts with sqlx: a pool of connections in WAL mode, transactions, streams of rows, errors.
use sqlx::Row;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions};
use std::time::Duration;

async fn transfer(pool: &SqlitePool, number: i64) -> Result<(), sqlx::Error> {
    let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
    let (from, to) = (number % 20 + 1, number * 7 % 20 + 1);
    let balance: f64 = sqlx::query_scalar("SELECT balance FROM account WHERE id = ?").bind(from).fetch_one(&mut *transaction).await?;
    sqlx::query("UPDATE account SET balance = ? WHERE id = ?").bind(balance - 1.5).bind(from).execute(&mut *transaction).await?;
    sqlx::query("UPDATE account SET balance = balance + 1.5 WHERE id = ?").bind(to).execute(&mut *transaction).await?;
    let entry = sqlx::query("INSERT INTO entry(account, amount, note) VALUES (?, ?, ?) RETURNING id");
    entry.bind(from).bind(-1.5).bind((number % 3 == 0).then_some("note")).fetch_one(&mut *transaction).await?;
    if number % 10 == 9 { transaction.rollback().await } else { transaction.commit().await }
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), sqlx::Error> {
    let options = SqliteConnectOptions::new().filename("app.db").create_if_missing(true).journal_mode(SqliteJournalMode::Wal);
    let pool = SqlitePoolOptions::new().max_connections(4).connect_with(options.busy_timeout(Duration::from_secs(60))).await?;
    sqlx::query("CREATE TABLE account(id INTEGER PRIMARY KEY, name TEXT UNIQUE, balance REAL);
                 CREATE TABLE entry(id INTEGER PRIMARY KEY, account INTEGER REFERENCES account(id), amount REAL, note TEXT)").execute(&pool).await?;
    for id in 1..=20 {
        sqlx::query("INSERT INTO account VALUES (?, ?, 100.0)").bind(id).bind(format!("account {id}")).execute(&pool).await?;
    }
    let tasks: Vec<_> = (0..4)
        .map(|client| {
            let pool = pool.clone();
            tokio::spawn(async move {
                for number in 0..50 {
                    transfer(&pool, client * 50 + number).await.expect("a transfer");
                    let rows = sqlx::query("SELECT id, amount FROM entry WHERE account = ? ORDER BY id DESC LIMIT 5").bind(number % 20 + 1).fetch_all(&pool).await.expect("rows");
                    assert!(rows.iter().all(|row| row.get::<f64, _>(1) < 0.0));
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a client");
    }
    let taken = sqlx::query("INSERT INTO account(name) VALUES ('account 1')").execute(&pool).await;
    assert!(taken.is_err());
    pool.close().await;
    Ok(())
}
