#!/usr/bin/env python3
"""A program whose statements take about 50 µs each: sums over a range of a table in memory, 20,000 of them.

For `recording.py`, which measures what recording adds to a program.
"""
import sqlite3

STATEMENTS, ROWS, RANGE = 20_000, 100_000, 1_000

connection = sqlite3.connect(":memory:", isolation_level=None)
connection.execute("CREATE TABLE number(id INTEGER PRIMARY KEY, value INTEGER)")
count = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})"
connection.execute(f"{count} INSERT INTO number SELECT i, i * 7919 % 1000003 FROM n")
for i in range(STATEMENTS):
    first = i * 7919 % (ROWS - RANGE)
    connection.execute("SELECT sum(value) FROM number WHERE id BETWEEN ? AND ?", (first, first + RANGE)).fetchone()
