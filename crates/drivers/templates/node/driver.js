// The protocol between pragmark and a driver. Your own code is in work.js.
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { DatabaseSync } = require("node:sqlite");
const { work } = require("./work.js");

const first = (database, sql) => Object.values(database.prepare(sql).get() ?? {});

function describe(database) {
  const [version, source_id] = first(database, "SELECT sqlite_version(), sqlite_source_id()");
  const compile_options = database.prepare("PRAGMA compile_options").all().map((row) => Object.values(row)[0]);
  return { name: `Node.js ${process.versions.node}`, version, source_id, compile_options, defaults: {} };
}

function trial({ directory, settings, binding }) {
  const database = new DatabaseSync(join(directory, "app.db"));
  for (const pragma of binding.pragmas) database.prepare(pragma).all();
  const [metrics, result] = work(database, settings);
  const rows = binding.read_back.map((name) => [name, first(database, `PRAGMA main.${name}`)]);
  const pragmas = Object.fromEntries(rows.filter(([, row]) => row.length).map(([name, row]) => [name, `${row[0]}`]));
  return { measured: { metrics, engine: describe(database), binding: describe(database), checksum: result,
    connections: [{ connection: "main", pragmas }] } };
}

if (process.argv[2] === "describe") console.log(JSON.stringify(describe(new DatabaseSync(":memory:"))));
else console.log(JSON.stringify({ outcome: trial(JSON.parse(readFileSync(0, "utf8"))) }));
