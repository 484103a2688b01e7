// A ledger through node:sqlite: transfers in transactions, some rolled back, look-ups, errors.
const { DatabaseSync } = require("node:sqlite");
const { createHash } = require("node:crypto");

const db = new DatabaseSync("ledger.db");
db.exec("CREATE TABLE account(id INTEGER PRIMARY KEY, name TEXT UNIQUE, balance REAL)");
db.exec("CREATE TABLE entry(id INTEGER PRIMARY KEY, account INTEGER REFERENCES account, note TEXT, amount REAL, seal BLOB)");
const open = db.prepare("INSERT INTO account(name, balance) VALUES (?, ?)");
for (let i = 0; i < 50; i++) open.run(`Konto №${i}`, 100.1);
const read = db.prepare("SELECT balance FROM account WHERE id = ?");
const change = db.prepare("UPDATE account SET balance = :balance WHERE id = :id");
const write = db.prepare("INSERT INTO entry(account, note, amount, seal) VALUES (?, ?, ?, ?)");
for (let i = 0; i < 300; i++) {
  const id = ((i * 7) % 50) + 1;
  db.exec("BEGIN");
  const { balance } = read.get(id);
  change.run({ balance: balance - 0.1 * i, id });
  write.run(id, `it's entry ${i}`, 0.1 * i, createHash("md5").update(`${i}`).digest());
  db.exec(i % 10 === 0 ? "ROLLBACK" : "COMMIT");
  db.prepare(`SELECT note, amount FROM entry WHERE account = ${id} ORDER BY id DESC`).get();
  if (i % 20 === 0) {
    try {
      open.run(`Konto №${i}`, 0);
    } catch {
      // The name is taken.
    }
  }
}
db.close();
