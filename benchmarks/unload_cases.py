#!/usr/bin/env python3
"""Times `pragmark unload` beside SQLite's shell and DuckDB, each with its file synced.

    benchmarks/unload_cases.py PRAGMARK [--rows 1000000] [--rounds 5]

Whole processes of pragmark and the shell; of DuckDB (if its Python package and `duckdb_extension_sqlite_scanner` are installed)
the statement alone. In each round all tools write in turns. Prints the medians in seconds.
"""

import argparse
import glob
import importlib.util
import os
import random
import sqlite3
import statistics
import subprocess
import tempfile
import time


def make(path, rows):
    """Makes a table of a seed: integers, texts with and without delimiters, REALs, times, NULLs."""
    draw = random.Random(1)
    cities = ["Berlin", "São Paulo", "New York, NY", "Oslo"]
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, city TEXT, amount REAL, at TEXT, n INTEGER, note TEXT)")
    values = (
        (i, f"name {i % 5000}", draw.choice(cities), draw.random() * 1000, f"2024-{i % 12 + 1:02}-{i % 28 + 1:02} 10:11:12",
         draw.randint(0, 10**6), None if i % 3 else 'it "is" so')
        for i in range(rows)
    )
    db.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    db.commit()


def duckdb():
    """A connection of DuckDB with its extension for SQLite, if both are installed."""
    extension = importlib.util.find_spec("duckdb_extension_sqlite_scanner")
    if not (extension and importlib.util.find_spec("duckdb")):
        return None
    import duckdb

    folder = os.path.dirname(extension.origin)
    connection = duckdb.connect(config={"allow_unsigned_extensions": True})
    connection.execute(f"LOAD '{glob.glob(folder + '/**/*.duckdb_extension', recursive=True)[0]}'")
    connection.execute("ATTACH 'u.db' AS s (TYPE sqlite)")
    return connection


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pragmark")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    pragmark = os.path.abspath(arguments.pragmark)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        os.chdir(folder)
        make("u.db", arguments.rows)
        peer = duckdb()
        unload = lambda ending: lambda: subprocess.run([pragmark, "unload", "u.db", f"a.{ending}"], check=True, capture_output=True)
        cases = {f"pragmark {ending}": (f"a.{ending}", unload(ending)) for ending in ["csv", "jsonl", "parquet"]}
        shell = "sqlite3 -csv -header u.db 'SELECT * FROM t' > s.csv; sync s.csv"
        cases["shell csv"] = ("s.csv", lambda: subprocess.run(shell, shell=True, check=True))
        if peer:
            copy = lambda name, options: lambda: (peer.execute(f"COPY s.t TO '{name}' ({options})"), subprocess.run(["sync", name], check=True))
            cases["DuckDB csv"] = ("d.csv", copy("d.csv", "HEADER"))
            cases["DuckDB parquet"] = ("d.parquet", copy("d.parquet", "FORMAT parquet, COMPRESSION zstd"))
        times = {name: [] for name in cases}
        for _ in range(arguments.rounds):
            for name, (path, run) in cases.items():
                if os.path.exists(path):
                    os.remove(path)
                begin = time.perf_counter()
                run()
                times[name].append(time.perf_counter() - begin)
        for name, seconds in times.items():
            print(f"{name:18} {statistics.median(seconds):.2f} s [{min(seconds):.2f}, {max(seconds):.2f}]")
        os.chdir("..")


if __name__ == "__main__":
    main()
