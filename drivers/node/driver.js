// Runs one trial through better-sqlite3, as docs/protocol.md describes. The work is in basics.js. With the
// argument `describe` it describes the binding.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

const PROTOCOL = 1;
const SHORT = ["busy_timeout", "foreign_keys", "journal_mode", "synchronous"];

function say(message) {
  fs.writeSync(1, JSON.stringify(message) + "\n");
}

function ended(how, why) {
  return { outcome: { [how]: { why } } };
}

// The first column of every row; a statement without rows has none.
function column(database, sql) {
  const statement = database.prepare(sql);
  if (statement.reader) return statement.pluck().all();
  statement.run();
  return [];
}

// SQLite's answers to PRAGMAs, omitting those without an answer.
function readBack(database, names) {
  // Before a connection reads its file, it answers with requested values, not actual ones.
  column(database, "PRAGMA schema_version");
  const answers = {};
  for (const name of names) {
    const found = column(database, `PRAGMA main.${name}`);
    if (found.length > 0) answers[name] = String(found[0]);
  }
  return answers;
}

function name() {
  const { version } = require("better-sqlite3/package.json");
  return `Node.js ${process.versions.node}, better-sqlite3 ${version}`;
}

function engine(database) {
  return {
    version: column(database, "SELECT sqlite_version()")[0],
    source_id: column(database, "SELECT sqlite_source_id()")[0],
  };
}

function describe(Database) {
  const database = new Database(":memory:");
  return {
    name: name(),
    ...engine(database),
    compile_options: column(database, "PRAGMA compile_options"),
    defaults: readBack(database, SHORT),
  };
}

function trial(Database, spec, seed) {
  const { Basics } = require("./basics.js");
  const fresh = new Database(path.join(spec.directory, "defaults.db"));
  const defaults = readBack(fresh, spec.binding.read_back);
  fresh.close();
  const database = new Database(path.join(spec.directory, "test.db"));
  for (const pragma of spec.binding.pragmas) column(database, pragma);
  const work = new Basics(database, spec.settings, seed);
  const metrics = work.run((phase) => say({ phase }));
  const measured = {
    metrics,
    engine: engine(database),
    connections: [{ connection: "main", pragmas: readBack(database, spec.binding.read_back) }],
    binding: { name: name(), compile_options: column(database, "PRAGMA compile_options"), defaults },
    checksum: work.checksum(),
  };
  database.close();
  return { outcome: { measured } };
}

function main() {
  const describing = process.argv[2] === "describe";
  let Database;
  try {
    Database = require("better-sqlite3");
    new Database(":memory:").close();
  } catch (error) {
    const why = `${error.message.split("\n")[0]}; install it with \`pragmark driver install node-better-sqlite3\``;
    if (describing) throw new Error(why);
    return say(ended("skipped", why));
  }
  if (describing) return say(describe(Database));
  const text = fs.readFileSync(0, "utf8");
  const spec = JSON.parse(text);
  if (spec.protocol !== PROTOCOL) {
    return say(ended("skipped", `this driver supports version ${PROTOCOL} of the protocol`));
  }
  if (spec.workload !== "binding-basics") {
    return say(ended("skipped", `this driver does not support the workload ${spec.workload}`));
  }
  // A seed may exceed the range of exact numbers in JavaScript, so it is read from the text.
  const seed = BigInt(/"seed"\s*:\s*(\d+)/.exec(text)[1]);
  try {
    say(trial(Database, spec, seed));
  } catch (error) {
    say(ended("failed", error.message));
  }
}

main();
