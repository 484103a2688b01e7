// A list of tasks with knex: migrations, transactions of which some fail, pages of results, upserts.
const knex = require("knex")({
  client: "better-sqlite3",
  connection: { filename: "app.db" },
  useNullAsDefault: true,
});

async function add(number) {
  await knex.transaction(async (transaction) => {
    const list = await transaction("list").where({ name: `list ${number % 5}` }).first();
    const [id] = await transaction("task").insert({ list_id: list.id, title: `task ${number}`, priority: number % 3 });
    await transaction("tag").insert([{ task_id: id, name: "new" }, { task_id: id, name: `week ${number % 8}` }]);
    if (number % 9 === 8) throw new Error("changed my mind");
  });
}

async function main() {
  await knex.schema.createTable("list", (table) => {
    table.increments();
    table.string("name").unique();
  });
  await knex.schema.createTable("task", (table) => {
    table.increments();
    table.integer("list_id").references("list.id").index();
    table.string("title");
    table.integer("priority");
    table.boolean("done").defaultTo(false);
  });
  await knex.schema.createTable("tag", (table) => {
    table.integer("task_id").references("task.id");
    table.string("name");
    table.primary(["task_id", "name"]);
  });
  await knex("list").insert([0, 1, 2, 3, 4].map((number) => ({ name: `list ${number}` })));
  for (let number = 0; number < 80; number++) {
    await add(number).catch(() => {});
    await knex("task").join("list", "list.id", "task.list_id").select("title", "name").where("done", false).orderBy("priority").limit(10).offset(number);
    if (number % 4 === 0) await knex("task").where("id", "<", number / 2).update({ done: true });
    await knex("list").insert({ name: `list ${number % 7}` }).onConflict("name").merge();
  }
  await knex.schema.alterTable("task", (table) => table.string("note").nullable());
  await knex("tag").whereIn("task_id", knex("task").select("id").where({ done: true })).del();
  await knex("task").where({ done: true }).del();
  await knex.destroy();
}

main();
