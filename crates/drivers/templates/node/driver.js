// Measures your own code. Replace `work`; the rest is the protocol between pragmark and a driver.
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { DatabaseSync } = require("node:sqlite");

function work(database, settings, latencies) {
  const insert = database.prepare("INSERT INTO orders(customer, cents) VALUES (?, ?)");
  for (let number = 0; number < settings.orders; number++) {
    const start = performance.now();
    insert.run(number % 100, number);
    latencies.push(performance.now() - start);
  }
}

const first = (database, sql) => Object.values(database.prepare(sql).get() ?? {});

function describe(database) {
  const [version, source_id] = first(database, "SELECT sqlite_version(), sqlite_source_id()");
  const compile_options = database.prepare("PRAGMA compile_options").all().map((row) => Object.values(row)[0]);
  return { name: `Node.js ${process.versions.node}`, version, source_id, compile_options, defaults: {} };
}

function trial({ directory, settings, binding }) {
  const database = new DatabaseSync(join(directory, "app.db"));
  for (const pragma of binding.pragmas) database.prepare(pragma).all();
  database.exec("CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, cents INTEGER)");
  const latencies = [];
  const start = performance.now();
  work(database, settings, latencies);
  const seconds = (performance.now() - start) / 1e3;
  const result = first(database, "SELECT count(*), sum(customer), sum(cents) FROM orders");
  if (result[0] !== settings.orders) return { failed: { why: `${result[0]} orders were stored` } };
  const rows = binding.read_back.map((name) => [name, first(database, `PRAGMA main.${name}`)]);
  const pragmas = Object.fromEntries(rows.filter(([, row]) => row.length).map(([name, row]) => [name, `${row[0]}`]));
  const p50_us = latencies.sort((a, b) => a - b)[latencies.length >> 1] * 1e3;
  const metrics = { orders_per_s: result[0] / seconds, seconds, p50_us };
  return { measured: { metrics, engine: describe(database), binding: describe(database), checksum: `${result}`,
    connections: [{ connection: "main", pragmas }] } };
}

if (process.argv[2] === "describe") console.log(JSON.stringify(describe(new DatabaseSync(":memory:"))));
else console.log(JSON.stringify({ outcome: trial(JSON.parse(readFileSync(0, "utf8"))) }));
