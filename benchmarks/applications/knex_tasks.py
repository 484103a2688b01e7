"""A list of tasks with knex: migrations, transactions of which some fail, pages of results, upserts."""
import node_library as library

TITLE = "Node, knex, a list of tasks"
DATABASE, drive, prepare = library.DATABASE, library.drive, library.prepare
install, command = library.program("knex_tasks.js", "knex", "better-sqlite3@12.11.1")
