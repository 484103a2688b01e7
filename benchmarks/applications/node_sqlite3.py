"""The same shop with the binding `sqlite3`, which works in threads of its own."""
import node_better_sqlite3 as shop

TITLE = "Node, http and sqlite3"
DATABASE, ENVIRONMENT = shop.DATABASE, {"BINDING": "sqlite3"}
prepare, command, drive = shop.prepare, shop.command, shop.drive


def install(folder):
    shop.install(folder, ["sqlite3"])
