// Carries out one task of the driver, in a page or in its worker: opens the database, works, and posts messages.

import { Basics, verifyTables } from "./basics.mjs";
import { LIBRARIES, engine, readBack } from "./stores.mjs";

// What is timed takes at least so many ticks of the clock, whose ticks browsers make coarse.
const TICKS = 100;

const FILE = "test.db";

const begin = performance.now();
const id = new URL(import.meta.url).searchParams.get("task");

function say(message) {
  return fetch(`/say/${id}`, { method: "POST", body: JSON.stringify(message) });
}

class Clock {
  constructor() {
    const ticks = Array.from({ length: 20 }, () => {
      const first = performance.now();
      let next = first;
      while (next === first) next = performance.now();
      return next - first;
    });
    this.tick = Math.min(...ticks);
  }

  async time(part, work) {
    const first = performance.now();
    await work();
    const elapsed = performance.now() - first;
    if (elapsed < TICKS * this.tick) {
      throw new Error(
        `${part} took ${elapsed.toFixed(3)} ms, too short for the browser's clock, which ticks every ` +
          `${(this.tick * 1000).toFixed(0)} µs; give it more work`,
      );
    }
    return elapsed / 1000;
  }
}

const TASKS = {
  async work(task) {
    const { store, defaults } = await openWithDefaults(task);
    const work = new Basics(store, task.settings, task.start);
    const metrics = await work.run(new Clock(), (phase) => say({ phase }));
    const [pages] = await store.column("PRAGMA page_count");
    const [size] = await store.column("PRAGMA page_size");
    const described = await description(store, task, defaults);
    await store.close();
    return { ...described, metrics: { ...metrics, db_bytes: pages * size }, checksum: work.checksum() };
  },

  async describe(task) {
    const { store, defaults } = await openWithDefaults(task);
    const described = await description(store, task, defaults);
    await store.close();
    return described;
  },

  // As an application starts: the library is loaded, the database opened and its first row read. Then the database is checked.
  async start(task) {
    const store = await open(task);
    const [first] = await store.column("SELECT name FROM sqlite_schema");
    if (first !== undefined) await store.column("SELECT number FROM reused LIMIT 1");
    const elapsed = performance.now() - begin;
    const found = await examined(store);
    const isWhole = first !== undefined && (await adds(store, task.rows));
    await store.close();
    return { microseconds: elapsed * 1000, isWhole, ...found };
  },

  commit,
  check,
  share,
};

const ENTRIES = [
  "CREATE TABLE IF NOT EXISTS entries(id INTEGER PRIMARY KEY, tab INTEGER NOT NULL, text TEXT NOT NULL)",
  "CREATE INDEX IF NOT EXISTS entries_text ON entries(text)",
];
const INSERT = "INSERT INTO entries(tab, text) VALUES (?, ?)";
const TEXT = "one line of text, as long as people write them in a note, ".repeat(4);

// Commits one row after another and acknowledges each, until it is killed.
async function commit(task) {
  const store = await open(task);
  for (const sql of ENTRIES) await store.run(sql);
  for (let number = 1; ; number++) {
    await store.calls([INSERT], [[0, [number, `${number} ${TEXT}`]]]);
    await say({ acknowledged: number });
  }
}

// What is left after a kill.
async function check(task) {
  const store = await open(task);
  const found = await examined(store);
  await store.close();
  return found;
}

async function examined(store) {
  const tables = await store.column("SELECT name FROM sqlite_schema WHERE name = 'entries'");
  const [integrity] = await store.column("PRAGMA integrity_check");
  const [entries] = tables.length > 0 ? await store.column("SELECT count(*) FROM entries") : [0];
  return { integrity, entries };
}

// Commits rows beside other tabs, for a fixed time.
async function share(task) {
  const store = await open(task);
  if (task.creates) for (const sql of ENTRIES) await store.run(sql);
  await say({ ready: true });
  await fetch(`/wait/${id}`);
  const done = { committed: 0, busy: 0 };
  const end = performance.now() + task.ms;
  while (performance.now() < end) {
    try {
      await store.calls([INSERT], [[0, [task.tab, TEXT]]]);
      done.committed += 1;
    } catch (error) {
      if (!/busy|locked/i.test(error.message)) throw error;
      done.busy += 1;
    }
  }
  await store.close();
  return done;
}

// The database of the trial, and the PRAGMAs of a fresh connection to another one.
async function openWithDefaults(task) {
  const openFile = await LIBRARIES[task.library].load(task.store);
  const fresh = await openFile("defaults.db");
  const defaults = await readBack(fresh, task.read_back);
  await fresh.close();
  return { defaults, store: await configured(await openFile(FILE), task) };
}

async function description(store, task, defaults) {
  return {
    engine: await engine(store),
    connections: [{ connection: "main", pragmas: await readBack(store, task.read_back) }],
    compile_options: await store.column("PRAGMA compile_options"),
    defaults,
  };
}

// Whether the tables still hold these rows.
function adds(store, rows) {
  return verifyTables(store, rows).then(() => true, () => false);
}

async function open(task) {
  const openFile = await LIBRARIES[task.library].load(task.store);
  return configured(await openFile(FILE), task);
}

async function configured(store, task) {
  for (const pragma of task.pragmas) await store.run(pragma);
  return store;
}

try {
  const task = await (await fetch(`/task/${id}`)).json();
  await say({ answer: await TASKS[task.kind](task) });
} catch (error) {
  await say({ failed: error.message ?? String(error) });
}
