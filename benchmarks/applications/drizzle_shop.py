"""A shop with Drizzle over better-sqlite3: relational queries, prepared statements, transactions and savepoints."""
import node_library as library

TITLE = "Node, Drizzle, a shop"
DATABASE, drive, prepare = library.DATABASE, library.drive, library.prepare
install, command = library.program("drizzle_shop.js", "drizzle-orm", "better-sqlite3@12.11.1")
