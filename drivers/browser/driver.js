// Runs one trial through SQLite in a headless Chromium, as docs/protocol.md describes.
//
// Usage: driver.js STORE            a specification on standard input
//        driver.js STORE describe   describes the library
//
// The work is in page/; this program starts the browser, serves the pages and passes their messages on.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { find } = require("./chromium.js");
const { CannotRun, Pages } = require("./pages.js");
const WORKLOADS = require("./workloads.js");

const PROTOCOL = 1;
const MODULUS = 2_147_483_647n;
const SHORT = ["busy_timeout", "foreign_keys", "journal_mode", "synchronous"];

const wa = (vfs, asynchronous = false) => ({ library: "wa-sqlite", store: { vfs, asynchronous }, persists: true });
const STORES = {
  memory: { library: "official", store: {} },
  "memory-page": { library: "official", store: {}, thread: "page" },
  opfs: { library: "official", store: { vfs: "opfs" }, persists: true },
  "opfs-wl": { library: "official", store: { vfs: "opfs-wl" }, persists: true },
  "opfs-pool": { library: "official", store: { vfs: "opfs-sahpool" }, persists: true },
  "local-storage": { library: "official", store: { vfs: "kvvfs" }, thread: "page", persists: true },
  sqljs: { library: "sqljs", store: {} },
  "sqljs-export": { library: "sqljs", store: { exported: true }, persists: true },
  "wa-idb": wa("IDBBatchAtomicVFS", true),
  "wa-opfs-pool": wa("AccessHandlePoolVFS"),
  "wa-opfs-coop": wa("OPFSCoopSyncVFS"),
  "wa-opfs-wal": wa("OPFSWriteAheadVFS"),
};

function say(message) {
  fs.writeSync(1, JSON.stringify(message) + "\n");
}

function ended(how, why) {
  return { outcome: { [how]: { why } } };
}

function name(library) {
  const { version } = JSON.parse(fs.readFileSync(path.join(__dirname, library.package, "package.json")));
  return `${path.basename(library.package)} ${version}`;
}

async function libraryOf({ library }) {
  return (await import("./page/stores.mjs")).LIBRARIES[library];
}

// What the library says of itself, in Node.js: starting a browser takes too long to list drivers.
async function describe({ library }) {
  find();
  const { engine, readBack } = await import("./page/stores.mjs");
  const Library = await libraryOf({ library });
  const file = (name) => path.join(__dirname, Library.package, name);
  const binary = fs.readFileSync(file(Library.wasm));
  // sql.js asks for these, which a module does not have.
  Object.assign(globalThis, { require, __dirname });
  const source = library === "sqljs" ? fs.readFileSync(file("dist/sql-wasm.js"), "utf8") : undefined;
  const open = await Library.load({ binary, source });
  const store = await open(":memory:");
  return {
    name: name(Library),
    ...(await engine(store)),
    compile_options: await store.column("PRAGMA compile_options"),
    defaults: await readBack(store, SHORT),
  };
}

async function main() {
  const [named, command] = process.argv.slice(2);
  const store = STORES[named];
  if (command === "describe") return say(await describe(store));
  try {
    find();
  } catch (error) {
    return say(ended("skipped", error.message));
  }
  const text = fs.readFileSync(0, "utf8");
  const spec = JSON.parse(text);
  if (spec.protocol !== PROTOCOL) {
    return say(ended("skipped", `this driver supports version ${PROTOCOL} of the protocol`));
  }
  const work = WORKLOADS[spec.workload];
  if (!work) return say(ended("skipped", `this driver does not support the workload ${spec.workload}`));
  // A seed may exceed the range of exact numbers in JavaScript, so it is read from the text.
  const start = Number(BigInt(/"seed"\s*:\s*(\d+)/.exec(text)[1]) % MODULUS);
  const pages = new Pages({ thread: "worker", persists: false, ...store }, spec);
  try {
    await pages.open();
    const { defaults, compile_options, ...measured } = await work(pages, spec.settings, start);
    const binding = { name: `${pages.version}, ${name(await libraryOf(store))}`, compile_options, defaults };
    say({ outcome: { measured: { ...measured, binding } } });
  } catch (error) {
    say(ended(error instanceof CannotRun ? "skipped" : "failed", error.message));
  } finally {
    await pages.close();
  }
}

main().catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
