// The workload binding-basics, the same in every binding; the reasons are in crates/bench/src/workload/binding_basics.rs.

const MODULUS = 2_147_483_647;
const MULTIPLIER = 48_271;
const STRIDE = 7_919;
const BATCH = 50;
const WIDTH = 1_000;
const STATEMENTS = 13;

const COLUMNS = "(id INTEGER PRIMARY KEY, number INTEGER NOT NULL, name TEXT NOT NULL, price REAL NOT NULL)";
const TASKS =
  "CREATE TABLE tasks(id VARCHAR(16) NOT NULL PRIMARY KEY, status VARCHAR(16) NOT NULL, " +
  "cmd VARCHAR(16) NOT NULL, args TEXT NOT NULL, output TEXT)";
const LIFE = [
  "INSERT INTO tasks(id, status, cmd, args) VALUES (?, 'pending', 'example', ?)",
  "UPDATE tasks SET status = 'processing' WHERE id = ?",
  "UPDATE tasks SET output = ? WHERE id = ?",
  "DELETE FROM tasks WHERE id = ?",
];
const TABLES = ["single", "reused", "batch"];

// The sums of rows: count, numbers, characters of names, prices in quarters.
class Sums {
  rows = 0;
  numbers = 0;
  characters = 0;
  quarters = 0;

  add(number, name, price) {
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

export class Basics {
  // `start` is the seed modulo MODULUS, computed where numbers are exact.
  constructor(store, settings, start) {
    this.store = store;
    const count = settings.rows;
    const times = (length, make) => Array.from({ length }, (_, number) => make(number));
    const row = (id, number) => [id, number, `item ${number % 1_000_000}`, (number % 10_000) / 4];
    this.data = times(count, (place) => row(place + 1, ((place + 1) * MULTIPLIER + start) % MODULUS));
    this.width = Math.min(count, WIDTH);
    const spread = (number, choices) => ((number * STRIDE + start) % choices) + 1;
    this.keys = times(settings.reads, (number) => spread(number, count));
    this.starts = times(settings.scans, (number) => spread(number, count - this.width + 1));
    this.tasks = times(settings.tasks, (number) => `task-${String(number).padStart(8, "0")}`);
    this.read = new Sums();
    this.scanned = new Sums();
  }

  // Statements with their values, made before the clock starts.
  parts() {
    const insert = (table) => `INSERT INTO ${table} VALUES (?, ?, ?, ?)`;
    const rows = this.data.map((row) => [0, row]);
    const batches = [];
    for (let first = 0; first < this.data.length; first += BATCH) {
      batches.push([0, this.data.slice(first, first + BATCH).flat()]);
    }
    const lives = this.tasks.flatMap((task) => [
      [0, [task, '["a","b","c"]']],
      [1, [task]],
      ...Array.from({ length: 10 }, (_, line) => [2, [`line ${line} of some kind of output`, task]]),
      [3, [task]],
    ]);
    const point = "SELECT number, name, price FROM reused WHERE id = ?";
    const range = "SELECT id, number, name, price FROM reused WHERE id >= ? AND id < ?";
    const { store, read, scanned } = this;
    return {
      "insert-single": [rows.length, () => this.inTransaction(insert("single"), rows, { prepareEach: true })],
      "insert-reused": [rows.length, () => this.inTransaction(insert("reused"), rows)],
      "insert-batch": [
        rows.length,
        () => this.inTransaction(`INSERT INTO batch VALUES ${Array(BATCH).fill("(?, ?, ?, ?)").join(", ")}`, batches),
      ],
      "point-read": [
        this.keys.length,
        () => store.calls([point], this.keys.map((key) => [0, [key]]), { onRow: (row) => read.add(...row) }),
      ],
      "range-scan": [
        this.starts.length * this.width,
        () =>
          store.calls([range], this.starts.map((first) => [0, [first, first + this.width]]), {
            onRow: ([, number, name, price]) => scanned.add(number, name, price),
          }),
      ],
      "task-statement": [lives.length, () => store.calls(LIFE, lives)],
    };
  }

  async inTransaction(sql, calls, options) {
    await this.store.run("BEGIN");
    await this.store.calls([sql], calls, options);
    await this.store.run("COMMIT");
  }

  async run(clock, phase) {
    for (const table of TABLES) await this.store.run(`CREATE TABLE ${table}${COLUMNS}`);
    await this.store.run(TASKS);
    await this.store.run("CREATE INDEX tasks_status ON tasks(status)");
    const metrics = { seconds: 0 };
    for (const [part, [rows, work]] of Object.entries(this.parts())) {
      await phase(part);
      const seconds = await clock.time(part, work);
      metrics[`seconds.${part}`] = seconds;
      metrics[`ns_per_row.${part}`] = (seconds * 1e9) / rows;
      metrics.seconds += seconds;
    }
    await phase("verify");
    await this.verify();
    return metrics;
  }

  // The sums of all rows, of those read by key and of those scanned.
  wanted() {
    const sums = (rows) => rows.reduce((all, row) => (all.add(...row.slice(1)), all), new Sums());
    const scanned = this.starts.flatMap((start) => this.data.slice(start - 1, start - 1 + this.width));
    return [sums(this.data), sums(this.keys.map((key) => this.data[key - 1])), sums(scanned)];
  }

  async verify() {
    const [rows, read, scanned] = this.wanted();
    await verifyTables(this.store, rows);
    expect("what point reads add up to", this.read, read);
    expect("what range scans add up to", this.scanned, scanned);
  }

  checksum() {
    return this.wanted().join(" ");
  }
}

// The tables hold these rows and no task is left.
export async function verifyTables(store, rows) {
  const sum = "count(*) || '/' || sum(number) || '/' || sum(length(name)) || '/' || CAST(sum(price) * 4 AS INTEGER)";
  for (const table of TABLES) {
    const [found] = await store.column(`SELECT ${sum} FROM ${table}`);
    expect(`what the table ${table} adds up to`, found, rows);
  }
  expect("the tasks left", await store.column("SELECT count(*) FROM tasks"), 0);
}
