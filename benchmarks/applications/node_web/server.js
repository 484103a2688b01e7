// A shop: node's http and one of three bindings, which the variable BINDING names.
const http = require("node:http");
const open = {
  "better-sqlite3": () => {
    const db = new (require("better-sqlite3"))("shop.db");
    return wrapped((sql) => db.prepare(sql), (sql) => db.exec(sql));
  },
  "node:sqlite": () => {
    const db = new (require("node:sqlite").DatabaseSync)("shop.db");
    return wrapped((sql) => db.prepare(sql), (sql) => db.exec(sql));
  },
  sqlite3: () => {
    const db = new (require("sqlite3").Database)("shop.db");
    const promise = (method) => (sql, ...values) =>
      new Promise((done, failed) => db[method](sql, ...values, (error, result) => (error ? failed(error) : done(result))));
    return { all: promise("all"), get: promise("get"), run: promise("run"), exec: promise("exec") };
  },
};

function wrapped(prepare, exec) {
  const kept = new Map();
  const statement = (sql) => {
    if (!kept.has(sql)) kept.set(sql, prepare(sql));
    return kept.get(sql);
  };
  return {
    all: async (sql, ...values) => statement(sql).all(...values),
    get: async (sql, ...values) => statement(sql).get(...values),
    run: async (sql, ...values) => statement(sql).run(...values),
    exec: async (sql) => exec(sql),
  };
}

const db = open[process.env.BINDING]();

// Transactions of different requests on one connection must not meet.
let last = Promise.resolve();
function alone(work) {
  const next = last.then(work);
  last = next.catch(() => {});
  return next;
}

async function buy(customer, item) {
  await db.exec("BEGIN IMMEDIATE");
  try {
    const { stock } = await db.get("SELECT stock FROM item WHERE id = ?", item);
    if (stock > 0) {
      await db.run("UPDATE item SET stock = stock - 1 WHERE id = ?", item);
      await db.run("INSERT INTO purchase(customer, item, at) VALUES (?, ?, ?)", customer, item, Date.now());
    }
    await db.exec("COMMIT");
    return { bought: stock > 0 };
  } catch (error) {
    await db.exec("ROLLBACK");
    throw error;
  }
}

const pages = {
  "/items": (q) => alone(() => db.all("SELECT id, name, price FROM item WHERE name LIKE ? ORDER BY price LIMIT 10", `%${q.get("q")}%`)),
  "/item": (q) => alone(() => db.get("SELECT * FROM item WHERE id = ?", Number(q.get("id")))),
  "/mine": (q) => alone(() => db.all("SELECT item.name, at FROM purchase JOIN item ON item.id = purchase.item WHERE customer = ?", Number(q.get("customer")))),
  "/buy": (q) => alone(() => buy(Number(q.get("customer")), Number(q.get("item")))),
};

async function start() {
  await db.exec("PRAGMA journal_mode = WAL; CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, price REAL, stock INTEGER); CREATE TABLE purchase(id INTEGER PRIMARY KEY, customer INTEGER, item INTEGER, at INTEGER)");
  await db.exec("BEGIN");
  for (let n = 1; n <= 500; n++) await db.run("INSERT INTO item VALUES (?, ?, ?, 50)", n, `item ${n * 7919 % 500}`, (n * 31 % 997) / 10);
  await db.exec("COMMIT");
  http.createServer(async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    try {
      response.end(JSON.stringify(await pages[url.pathname](url.searchParams)));
    } catch (error) {
      response.statusCode = 500;
      response.end(String(error));
    }
  }).listen(Number(process.argv[2]), "127.0.0.1");
}

process.on("SIGTERM", () => process.exit(0));
start();
