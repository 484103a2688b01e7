"""Makes the files that commands of the documents name."""

import gzip
import pathlib
import sqlite3

USERS = [(n, f"user{n}@example.com", 18 + n % 60) for n in range(1, 201)]


def database(name, *statements):
    connection = sqlite3.connect(name)
    for statement in statements:
        connection.executescript(statement)
    return connection


def write(name, text):
    path = pathlib.Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return text.encode()


def zstd(content):
    """A frame of one block that is not compressed."""
    size = len(content)
    assert size < 256
    return bytes.fromhex("28b52ffd20") + bytes([size]) + (size << 3 | 1).to_bytes(3, "little") + content


APP = """
CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT, age INTEGER);
CREATE TABLE orders(id INTEGER PRIMARY KEY, user INTEGER, status TEXT);
CREATE TABLE countries(code TEXT PRIMARY KEY);
CREATE TABLE item(id INTEGER PRIMARY KEY, name);
INSERT INTO countries VALUES ('de'), ('fr');
"""
for name, further in [("app.db", ""), ("migrated.db", "CREATE INDEX users_email ON users(email);"), ("with-index.db", "CREATE INDEX users_email ON users(email);")]:
    app = database(name, APP, further)
    app.executemany("INSERT INTO users VALUES (?, ?, ?)", USERS)
    app.executemany("INSERT INTO orders VALUES (?, ?, 'paid')", [(n, n) for n in range(1, 51)])
    app.executemany("INSERT INTO item(name) VALUES (?)", [(f"item {n}",) for n in range(20)])
    app.commit()
database("old.db", "CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO people VALUES (1, 'Ada');")
ORDERS = "CREATE TABLE orders(id INTEGER PRIMARY KEY, customer_id INTEGER, state TEXT, created_at TEXT); INSERT INTO orders VALUES (1, 1, 'late', '2026-01-01');"
database("shop.db", "CREATE TABLE prices(id INTEGER PRIMARY KEY, price REAL); INSERT INTO prices VALUES (1, 2.5);", ORDERS)
database("people.db", "CREATE TABLE people(id INTEGER, name TEXT, email TEXT); INSERT INTO people VALUES (1, 'Ada', 'ada@example.com');")

BY_EMAIL = "-- name: by_email\nSELECT * FROM users WHERE email = :email;\n"
write("queries.sql", BY_EMAIL + "-- name: older\nUPDATE users SET age = age + 1 WHERE email = :email;\n")
write("my_orders.sql", "SELECT id FROM orders WHERE customer_id = :customer_id ORDER BY created_at DESC LIMIT 20;\n")
write("base.sql", BY_EMAIL)
write("new.sql", BY_EMAIL.replace("*", "id, email, age"))
write("orders.sql", "INSERT INTO orders(user, status) VALUES (1, 'new');\n")
write("my.sql", "CREATE TABLE t(a);\nBEGIN;\nINSERT INTO t VALUES (1);\nCOMMIT;\n")

people = write("people.csv", "id,name,email\n1,Ada,ada@example.com\n2,Bob,bob@example.com\n")
pathlib.Path("people.csv.gz").write_bytes(gzip.compress(people))
write("more.tsv", "id\tname\temail\n3\tEve\teve@example.com\n")
write("prices.csv", "id,price\n1,3.5\n2,4.5\n")
log = write("logs/monday.csv", "time,line\n1,started\n2,stopped\n")
pathlib.Path("log.csv.gz").write_bytes(gzip.compress(log))
event = b'{"time": 1, "title": "begin", "body": "it began"}\n'
for name in ["2023.jsonl", "a.jsonl"]:
    pathlib.Path(name).write_bytes(event)
for name in ["2024.jsonl.zst", "b.jsonl.zst"]:
    pathlib.Path(name).write_bytes(zstd(event))

PROGRAM = """#!/usr/bin/env python3
import sqlite3, sys
shop = sqlite3.connect(sys.argv[1] if len(sys.argv) > 1 else "recorded.db", isolation_level=None)
shop.execute("CREATE TABLE IF NOT EXISTS item(id INTEGER PRIMARY KEY, name)")
for i in range(20):
    shop.execute("INSERT INTO item(name) VALUES (?)", (f"item {i}",))
    shop.execute("SELECT name FROM item WHERE id = ?", (i,)).fetchall()
"""
write("app.py", PROGRAM)
write("server", PROGRAM)
pathlib.Path("server").chmod(0o755)
