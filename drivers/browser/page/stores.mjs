// SQLite in a browser: one class per library, each with the same methods; `load` returns a function that opens a file. They run
// in a page, in its worker, and, for a description of the library, in Node.js, which reads the WebAssembly itself (`binary`).
//
// `calls` is where a workload spends its time. It executes statements with values, `[statement, values]` each, in a loop
// of the library's own calls: awaiting a method for every statement would cost synchronous libraries more than they take.


// The official build, with the VFS of its own that is named, or in memory.
class Official {
  static package = "official/node_modules/@sqlite.org/sqlite-wasm";
  static wasm = "dist/sqlite3.wasm";

  static async load({ vfs, binary }) {
    const { default: init } = await import("../official/node_modules/@sqlite.org/sqlite-wasm/dist/index.mjs");
    const sqlite = await init(binary && { wasmBinary: binary });
    if (vfs === "opfs-sahpool") await sqlite.installOpfsSAHPoolVfs({ name: vfs });
    if (vfs === "kvvfs") return () => new Official(new sqlite.oo1.JsStorageDb("local"));
    return (file) => new Official(new sqlite.oo1.DB(vfs ? `file:/${file}?vfs=${vfs}` : ":memory:", "c"));
  }

  constructor(database) {
    this.database = database;
  }

  run(sql) {
    this.database.exec(sql);
  }

  column(sql) {
    // A PRAGMA that this build omits is a statement without columns, which `selectValues` refuses.
    const values = [];
    const statement = this.database.prepare(sql);
    while (statement.step()) values.push(statement.get(0));
    statement.finalize();
    return values;
  }

  calls(statements, calls, { prepareEach = false, onRow } = {}) {
    const prepare = (sql) => this.database.prepare(sql);
    const prepared = prepareEach ? [] : statements.map(prepare);
    try {
      for (const [number, values] of calls) {
        const statement = prepareEach ? prepare(statements[number]) : prepared[number];
        statement.bind(values);
        while (statement.step()) onRow(statement.get([]));
        if (prepareEach) statement.finalize();
        else statement.reset();
      }
    } finally {
      // Also after SQLITE_BUSY, whose caller tries again.
      for (const statement of prepared) statement.finalize();
    }
  }

  close() {
    this.database.close();
  }
}

// sql.js, in memory. With `exported`, the application stores the whole database in IndexedDB after each transaction, and
// waits until the browser has flushed it.
class SqlJs {
  static package = "sqljs/node_modules/sql.js";
  static wasm = "dist/sql-wasm.wasm";

  static async load({ exported, binary, source }) {
    const folder = new URL("../sqljs/node_modules/sql.js/dist/", import.meta.url);
    // The file is a classic script, which a module worker cannot load.
    const text = source ?? (await (await fetch(new URL("sql-wasm.js", folder))).text());
    const init = new Function(`${text}; return initSqlJs;`)();
    const library = await init({ wasmBinary: binary, locateFile: (name) => new URL(name, folder).href });
    const files = exported && (await Files.open());
    return async (file) => new SqlJs(new library.Database(await files?.read(file)), file, files);
  }

  constructor(database, file, files) {
    Object.assign(this, { database, file, files, pragmas: [], open: false });
  }

  async run(sql) {
    this.database.run(sql);
    if (/^BEGIN/i.test(sql)) this.open = true;
    if (/^COMMIT/i.test(sql)) this.open = false;
    // An export closes the connection, which forgets its settings.
    if (/^PRAGMA/i.test(sql)) this.pragmas.push(sql);
    else await this.committed();
  }

  column(sql) {
    const [result] = this.database.exec(sql);
    return result ? result.values.map(([first]) => first) : [];
  }

  async committed() {
    if (!this.files || this.open) return;
    await this.files.write(this.file, this.database.export());
    for (const pragma of this.pragmas) this.database.run(pragma);
  }

  async calls(statements, calls, { prepareEach = false, onRow } = {}) {
    const prepare = (sql) => this.database.prepare(sql);
    // An export frees all statements.
    const persists = this.files && !this.open && !onRow;
    const prepared = prepareEach || persists ? [] : statements.map(prepare);
    for (const [number, values] of calls) {
      const statement = prepared[number] ?? prepare(statements[number]);
      statement.bind(values);
      while (statement.step()) onRow(statement.get());
      if (persists) await this.committed();
      else if (prepareEach) statement.free();
      else statement.reset();
    }
    for (const statement of prepared) statement.free();
  }

  close() {
    this.database.close();
  }
}

// Files in IndexedDB.
class Files {
  static open() {
    const request = indexedDB.open("sqljs", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("files");
    return Files.answer(request).then((database) => new Files(database));
  }

  static answer(request) {
    return new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  }

  constructor(database) {
    this.database = database;
  }

  read(file) {
    return Files.answer(this.database.transaction("files").objectStore("files").get(file));
  }

  write(file, bytes) {
    const transaction = this.database.transaction("files", "readwrite", { durability: "strict" });
    transaction.objectStore("files").put(bytes, file);
    return new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onerror = transaction.onabort = () => reject(transaction.error);
    });
  }
}

// wa-sqlite: every VFS is a module in JavaScript. Those with asynchronous methods need the build of Asyncify.
class WaSqlite {
  static package = "wa-sqlite/node_modules/@journeyapps/wa-sqlite";
  static wasm = "dist/wa-sqlite.wasm";

  static async load({ vfs, asynchronous, binary }) {
    const folder = "../wa-sqlite/node_modules/@journeyapps/wa-sqlite";
    const build = asynchronous ? "wa-sqlite-async" : "wa-sqlite";
    const { default: factory } = await import(`${folder}/dist/${build}.mjs`);
    const module = await factory(binary && { wasmBinary: binary });
    const { Factory } = await import(`${folder}/src/sqlite-api.js`);
    const sqlite = Factory(module);
    if (vfs) {
      const modules = await import(`${folder}/src/examples/${vfs}.js`);
      sqlite.vfs_register(await modules[vfs].create(vfs, module), true);
    }
    return async (file) => new WaSqlite(sqlite, await sqlite.open_v2(vfs ? file : ":memory:"));
  }

  constructor(sqlite, database) {
    Object.assign(this, { sqlite, database });
  }

  run(sql) {
    return this.sqlite.exec(this.database, sql);
  }

  async column(sql) {
    const values = [];
    await this.sqlite.exec(this.database, sql, ([first]) => values.push(first));
    return values;
  }

  async prepare(sql) {
    // Without `unscoped` a statement ends with the iteration.
    for await (const statement of this.sqlite.statements(this.database, sql, { unscoped: true })) return statement;
  }

  async calls(statements, calls, { prepareEach = false, onRow } = {}) {
    const { sqlite } = this;
    const prepared = [];
    if (!prepareEach) for (const sql of statements) prepared.push(await this.prepare(sql));
    try {
      for (const [number, values] of calls) {
        const statement = prepareEach ? await this.prepare(statements[number]) : prepared[number];
        sqlite.bind_collection(statement, values);
        while ((await sqlite.step(statement)) === 100) onRow(sqlite.row(statement));
        if (prepareEach) await sqlite.finalize(statement);
        else await sqlite.reset(statement);
      }
    } finally {
      for (const statement of prepared) await sqlite.finalize(statement);
    }
  }

  close() {
    return this.sqlite.close(this.database);
  }
}

export const LIBRARIES = { official: Official, sqljs: SqlJs, "wa-sqlite": WaSqlite };

// SQLite's answers to PRAGMAs, omitting those without an answer.
export async function readBack(store, names) {
  // Before a connection reads its file, it answers with requested values, not actual ones.
  await store.column("PRAGMA schema_version");
  const answers = {};
  for (const name of names) {
    const found = await store.column(`PRAGMA main.${name}`);
    if (found.length > 0) answers[name] = String(found[0]);
  }
  return answers;
}

export async function engine(store) {
  const [version] = await store.column("SELECT sqlite_version()");
  const [source_id] = await store.column("SELECT sqlite_source_id()");
  return { version, source_id };
}

