"""A script of the sqlite3 shell: imports files, makes reports, moves old rows away, cleans up."""
import os, random

TITLE = "sqlite3 shell, a nightly script"
DATABASE = "sales.db"
# Sums of REALs have other last digits since SQLite 3.43, so the program's own library replays them.
ENGINE = "system"

SCRIPT = r"""#!/bin/sh
set -e
# Day by day: what came in as a file is imported, added up, and reported.
for file in day-*.csv; do
  sqlite3 sales.db >> report.txt <<SQL
.bail on
CREATE TEMP TABLE incoming(at TEXT, item TEXT, amount INTEGER, price REAL);
.import --csv $file incoming
BEGIN IMMEDIATE;
INSERT OR IGNORE INTO item(name) SELECT DISTINCT item FROM incoming;
INSERT INTO sale(at, item, amount, price)
  SELECT at, item.id, amount, price FROM incoming JOIN item ON item.name = incoming.item;
INSERT INTO day(day, turnover) SELECT substr(at, 1, 10), sum(amount * price) FROM incoming GROUP BY 1
  ON CONFLICT(day) DO UPDATE SET turnover = turnover + excluded.turnover;
COMMIT;
.mode column
SELECT name, sum(amount), round(sum(amount * price), 2) FROM sale JOIN item ON item.id = sale.item
  WHERE at >= (SELECT max(day) FROM day) GROUP BY name ORDER BY 3 DESC LIMIT 5;
SQL
  for item in $(sqlite3 sales.db "SELECT id FROM item ORDER BY id LIMIT 10"); do
    sqlite3 sales.db "SELECT count(*), max(price) FROM sale WHERE item = $item" >> report.txt
  done
  sqlite3 sales.db "UPDATE item SET checked = 1 WHERE checked = 0"
done
sqlite3 sales.db "ATTACH 'archive.db' AS archive" \
  "CREATE TABLE IF NOT EXISTS archive.sale(id INTEGER PRIMARY KEY, at, item, amount, price)" \
  "BEGIN; INSERT INTO archive.sale SELECT * FROM main.sale WHERE at < '2026-01-10'; DELETE FROM sale WHERE at < '2026-01-10'; COMMIT"
sqlite3 sales.db "ANALYZE; PRAGMA integrity_check; VACUUM" >> report.txt
sqlite3 sales.db ".schema" >> report.txt
"""

SCHEMA = """
CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT UNIQUE, checked INTEGER DEFAULT 0);
CREATE TABLE sale(id INTEGER PRIMARY KEY, at TEXT, item INTEGER REFERENCES item(id), amount INTEGER, price REAL);
CREATE INDEX sale_item ON sale(item);
CREATE TABLE day(day TEXT PRIMARY KEY, turnover REAL);
"""


def install(folder):
    pass


def prepare(folder, work):
    import sqlite3

    db = sqlite3.connect(os.path.join(work, DATABASE))
    db.executescript(SCHEMA)
    db.close()
    chance = random.Random(1)
    for day in range(1, 21):
        with open(os.path.join(work, f"day-{day:02}.csv"), "w") as file:
            for _ in range(200):
                item, price = f"item {chance.randrange(60)}", chance.randrange(100, 9000) / 100
                file.write(f"2026-01-{day:02} {chance.randrange(24):02}:00,{item},{chance.randrange(1, 9)},{price}\n")
    with open(os.path.join(work, "nightly.sh"), "w") as file:
        file.write(SCRIPT)


def command(folder, work, port):
    return ["sh", "nightly.sh"]


drive = None
