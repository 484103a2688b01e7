// The workload binding-basics, the same in every binding; the reasons are in
// crates/bench/src/workload/binding_basics.rs.
"use strict";

const MODULUS = 2_147_483_647;
const MULTIPLIER = 48_271;
const STRIDE = 7_919;
const BATCH = 50;
const WIDTH = 1_000;
const STATEMENTS = 13;

const COLUMNS =
  "(id INTEGER PRIMARY KEY, number INTEGER NOT NULL, name TEXT NOT NULL, price REAL NOT NULL)";
const TASKS =
  "CREATE TABLE tasks(id VARCHAR(16) NOT NULL PRIMARY KEY, status VARCHAR(16) NOT NULL, " +
  "cmd VARCHAR(16) NOT NULL, args TEXT NOT NULL, output TEXT)";

// The sums of rows: count, numbers, characters of names, prices in quarters.
class Sums {
  rows = 0;
  numbers = 0;
  characters = 0;
  quarters = 0;

  add({ number, name, price }) {
    this.rows += 1;
    this.numbers += number;
    this.characters += name.length;
    this.quarters += Math.trunc(price * 4);
  }

  toString() {
    return `${this.rows}/${this.numbers}/${this.characters}/${this.quarters}`;
  }
}

function expect(what, found, wanted) {
  if (String(found) !== String(wanted)) {
    throw new Error(`wrong result: ${what} is ${found} instead of ${wanted}`);
  }
}

class Basics {
  constructor(database, settings, seed) {
    this.database = database;
    // Products of these stay below 2^53.
    const start = Number(seed % BigInt(MODULUS));
    const count = settings.rows;
    this.data = Array.from({ length: count }, (_, place) => {
      const number = ((place + 1) * MULTIPLIER + start) % MODULUS;
      return { id: place + 1, number, name: `item ${number % 1_000_000}`, price: (number % 10_000) / 4 };
    });
    this.width = Math.min(count, WIDTH);
    const spread = (number, choices) => ((number * STRIDE + start) % choices) + 1;
    const times = (length, make) => Array.from({ length }, (_, number) => make(number));
    this.keys = times(settings.reads, (number) => spread(number, count));
    this.starts = times(settings.scans, (number) => spread(number, count - this.width + 1));
    this.tasks = times(settings.tasks, (number) => `task-${String(number).padStart(8, "0")}`);
    this.read = new Sums();
    this.scanned = new Sums();
  }

  run(phase) {
    for (const table of ["single", "reused", "batch"]) this.database.exec(`CREATE TABLE ${table}${COLUMNS}`);
    this.database.exec(TASKS);
    this.database.exec("CREATE INDEX tasks_status ON tasks(status)");
    const parts = {
      "insert-single": () => this.insertSingle(),
      "insert-reused": () => this.insertReused(),
      "insert-batch": () => this.insertBatch(),
      "point-read": () => this.pointRead(),
      "range-scan": () => this.rangeScan(),
      "task-statement": () => this.live(),
    };
    const metrics = { seconds: 0, cpu_user_s: 0, cpu_system_s: 0 };
    for (const [part, work] of Object.entries(parts)) {
      phase(part);
      const before = process.cpuUsage();
      const begin = process.hrtime.bigint();
      const rows = work();
      const elapsed = Math.max(Number(process.hrtime.bigint() - begin), 1);
      const cpu = process.cpuUsage(before);
      metrics[`seconds.${part}`] = elapsed / 1e9;
      metrics[`ns_per_row.${part}`] = elapsed / rows;
      metrics.seconds += elapsed / 1e9;
      metrics.cpu_user_s += cpu.user / 1e6;
      metrics.cpu_system_s += cpu.system / 1e6;
    }
    phase("verify");
    this.verify();
    return metrics;
  }

  inTransaction(work) {
    this.database.exec("BEGIN");
    work();
    this.database.exec("COMMIT");
    return this.data.length;
  }

  insertSingle() {
    return this.inTransaction(() => {
      for (const row of this.data) {
        this.database
          .prepare("INSERT INTO single VALUES (?, ?, ?, ?)")
          .run(row.id, row.number, row.name, row.price);
      }
    });
  }

  insertReused() {
    return this.inTransaction(() => {
      const insert = this.database.prepare("INSERT INTO reused VALUES (?, ?, ?, ?)");
      for (const row of this.data) insert.run(row.id, row.number, row.name, row.price);
    });
  }

  insertBatch() {
    const values = Array(BATCH).fill("(?, ?, ?, ?)").join(", ");
    return this.inTransaction(() => {
      const insert = this.database.prepare(`INSERT INTO batch VALUES ${values}`);
      for (let first = 0; first < this.data.length; first += BATCH) {
        const rows = this.data.slice(first, first + BATCH);
        insert.run(rows.flatMap((row) => [row.id, row.number, row.name, row.price]));
      }
    });
  }

  pointRead() {
    const query = this.database.prepare("SELECT number, name, price FROM reused WHERE id = ?");
    for (const key of this.keys) this.read.add(query.get(key));
    return this.keys.length;
  }

  rangeScan() {
    const query = this.database.prepare(
      "SELECT id, number, name, price FROM reused WHERE id >= ? AND id < ?",
    );
    for (const start of this.starts) {
      for (const row of query.all(start, start + this.width)) this.scanned.add(row);
    }
    return this.starts.length * this.width;
  }

  live() {
    const insert = this.database.prepare(
      "INSERT INTO tasks(id, status, cmd, args) VALUES (?, 'pending', 'example', ?)",
    );
    const take = this.database.prepare("UPDATE tasks SET status = 'processing' WHERE id = ?");
    const write = this.database.prepare("UPDATE tasks SET output = ? WHERE id = ?");
    const remove = this.database.prepare("DELETE FROM tasks WHERE id = ?");
    const before = this.changes();
    for (const task of this.tasks) {
      insert.run(task, '["a","b","c"]');
      take.run(task);
      for (let line = 0; line < 10; line++) write.run(`line ${line} of some kind of output`, task);
      remove.run(task);
    }
    this.changed = this.changes() - before;
    return this.tasks.length * STATEMENTS;
  }

  changes() {
    return this.database.prepare("SELECT total_changes()").pluck().get();
  }

  // The sums of all rows, of those read by key and of those scanned.
  wanted() {
    const sums = (rows) => rows.reduce((all, row) => (all.add(row), all), new Sums());
    const scanned = this.starts.flatMap((start) => this.data.slice(start - 1, start - 1 + this.width));
    return [sums(this.data), sums(this.keys.map((key) => this.data[key - 1])), sums(scanned)];
  }

  verify() {
    const [rows, read, scanned] = this.wanted();
    for (const table of ["single", "reused", "batch"]) {
      const sql = `SELECT count(*), sum(number), sum(length(name)), CAST(sum(price) * 4 AS INTEGER) FROM ${table}`;
      const found = this.database.prepare(sql).raw().get().join("/");
      expect(`what the table ${table} adds up to`, found, rows);
    }
    expect("what point reads add up to", this.read, read);
    expect("what range scans add up to", this.scanned, scanned);
    expect("the rows changed by tasks", this.changed, this.tasks.length * STATEMENTS);
    expect("the tasks left", this.database.prepare("SELECT count(*) FROM tasks").pluck().get(), 0);
  }

  checksum() {
    return this.wanted().join(" ");
  }
}

module.exports = { Basics };
