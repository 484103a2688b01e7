"""A small web shop: `shop.py migrate` makes its database, `shop.py serve-once` answers one customer."""

import os
import pathlib
import re
import sqlite3
import sys

HERE = pathlib.Path(__file__).parent


def connect():
    """A connection with the shop's PRAGMAs."""
    connection = sqlite3.connect(os.environ.get("PRAGMARK_DATABASE", HERE / "shop.db"), isolation_level=None)
    connection.executescript((HERE / "pragmas.sql").read_text())
    return connection


def queries():
    """The queries by name."""
    text = (HERE / "queries.sql").read_text()
    return dict(re.findall(r"-- name: (\w+)\n(.*?);\n", text, re.S))


def migrate():
    """Makes the tables and fills them with the same rows each time."""
    connection = connect()
    for migration in sorted((HERE / "migrations").glob("*.sql")):
        connection.executescript(migration.read_text())
    connection.execute("BEGIN")
    connection.executemany(
        "INSERT INTO customers(id, name, city) VALUES (?, ?, ?)",
        ((i, f"customer {i}", f"city {i % 40}") for i in range(1, 2001)),
    )
    connection.executemany(
        "INSERT INTO orders(id, customer, day, total) VALUES (?, ?, ?, ?)",
        ((i, i * 7919 % 2000 + 1, i % 365, i * 31 % 500) for i in range(1, 20001)),
    )
    connection.execute("COMMIT")
    connection.close()


def serve_once():
    """What the page of a customer shows."""
    connection, sql = connect(), queries()
    print(connection.execute(sql["customer"], {"id": 42}).fetchone())
    print(len(connection.execute(sql["orders_of_customer"], {"customer": 42}).fetchall()), "orders")


if __name__ == "__main__":
    {"migrate": migrate, "serve-once": serve_once}[sys.argv[1]]()
