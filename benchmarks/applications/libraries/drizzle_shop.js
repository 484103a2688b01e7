// A shop with Drizzle over better-sqlite3: relational queries, prepared statements, transactions and savepoints.
const Database = require("better-sqlite3");
const { drizzle } = require("drizzle-orm/better-sqlite3");
const { sqliteTable, integer, text, real, index } = require("drizzle-orm/sqlite-core");
const { eq, desc, sql, gt, relations } = require("drizzle-orm");

const customers = sqliteTable("customers", { id: integer("id").primaryKey(), email: text("email").notNull().unique() });
const orders = sqliteTable(
  "orders",
  {
    id: integer("id").primaryKey({ autoIncrement: true }),
    customer: integer("customer_id").references(() => customers.id),
    total: real("total").notNull(),
    created: integer("created_at", { mode: "timestamp" }),
    details: text("details", { mode: "json" }),
  },
  (table) => [index("orders_customer").on(table.customer)],
);
const customersRelations = relations(customers, ({ many }) => ({ orders: many(orders) }));
const ordersRelations = relations(orders, ({ one }) => ({ customer: one(customers, { fields: [orders.customer], references: [customers.id] }) }));

const client = new Database("app.db");
client.pragma("journal_mode = WAL");
client.exec(`CREATE TABLE customers(id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE);
CREATE TABLE orders(id INTEGER PRIMARY KEY AUTOINCREMENT, customer_id INTEGER REFERENCES customers(id), total REAL NOT NULL, created_at INTEGER, details TEXT);
CREATE INDEX orders_customer ON orders(customer_id);`);
const db = drizzle(client, { schema: { customers, orders, customersRelations, ordersRelations } });

for (let id = 1; id <= 30; id++) db.insert(customers).values({ id, email: `c${id}@example.org` }).run();
const byCustomer = db.select().from(orders).where(eq(orders.customer, sql.placeholder("id"))).orderBy(desc(orders.id)).limit(5).prepare();
for (let number = 0; number < 120; number++) {
  db.transaction((transaction) => {
    const [order] = transaction
      .insert(orders)
      .values({ customer: (number % 30) + 1, total: number * 1.1, created: new Date(1.7e12 + number * 1000), details: { gift: number % 2 === 0 } })
      .returning()
      .all();
    try {
      transaction.transaction((nested) => {
        nested.update(orders).set({ total: sql`${orders.total} * 0.9` }).where(eq(orders.id, order.id)).run();
        if (number % 6 === 5) nested.rollback();
      });
    } catch {
      // The discount is taken back, the order stays.
    }
  });
  byCustomer.all({ id: (number % 30) + 1 });
  if (number % 10 === 0) db.query.customers.findMany({ with: { orders: { where: gt(orders.total, 50) } }, limit: 5 }).sync();
}
db.insert(customers).values({ id: 1, email: "new@example.org" }).onConflictDoUpdate({ target: customers.id, set: { email: "new@example.org" } }).run();
client.close();
