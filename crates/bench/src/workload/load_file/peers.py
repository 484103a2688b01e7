"""Loads a CSV file into a new SQLite database as a Python programmer would, by one of several libraries.

    python3 peers.py METHOD FILE.csv FILE.db
    python3 peers.py METHOD            # names Python and the libraries with their versions

A method says which distributions it needs and gives a function that loads. It imports its libraries when
it is named, so that each process pays for its own and no other.
"""

import importlib.metadata
import platform
import sqlite3
import sys

CREATE = "CREATE TABLE user(id INTEGER PRIMARY KEY, area CHAR(6), age INTEGER, active INTEGER)"


def create(database):
    connection = sqlite3.connect(database)
    connection.execute(CREATE)
    connection.commit()
    return connection


def executemany():
    import csv

    def load(source, database):
        connection = create(database)
        with open(source, newline="", encoding="utf-8") as file:
            rows = csv.reader(file)
            next(rows)
            connection.executemany("INSERT INTO user VALUES (?, ?, ?, ?)", rows)
        connection.commit()
        connection.close()

    return [], load


def pandas():
    import pandas

    def load(source, database):
        connection = create(database)
        table = pandas.read_csv(source, dtype={"area": str})
        table.to_sql("user", connection, if_exists="append", index=False)
        connection.commit()
        connection.close()

    return ["pandas"], load


def sqlite_utils():
    import sqlite_utils.cli

    def load(source, database):
        create(database).close()
        arguments = ["insert", database, "user", source, "--csv", "--silent"]
        sqlite_utils.cli.cli(arguments, standalone_mode=False)

    return ["sqlite-utils"], load


def adbc():
    import adbc_driver_sqlite.dbapi
    import pyarrow
    import pyarrow.csv

    def load(source, database):
        create(database).close()
        options = pyarrow.csv.ConvertOptions(column_types={"area": pyarrow.string()})
        table = pyarrow.csv.read_csv(source, convert_options=options)
        with adbc_driver_sqlite.dbapi.connect(database) as connection:
            with connection.cursor() as cursor:
                cursor.adbc_ingest("user", table, mode="append")
            connection.commit()

    return ["adbc-driver-sqlite", "pyarrow"], load


def polars():
    import adbc_driver_sqlite.dbapi  # noqa: F401
    import polars

    def load(source, database):
        create(database).close()
        table = polars.read_csv(source, schema_overrides={"area": polars.String})
        table.write_database("user", f"sqlite:///{database}", engine="adbc", if_table_exists="append")

    return ["polars", "adbc-driver-sqlite", "pyarrow"], load


def duckdb():
    import duckdb

    def load(source, database):
        create(database).close()
        connection = duckdb.connect()
        connection.execute(f"LOAD sqlite; ATTACH '{database}' AS made (TYPE sqlite)")
        connection.execute(
            f"INSERT INTO made.user SELECT * FROM read_csv('{source}', types = {{'area': 'VARCHAR'}})"
        )
        connection.close()

    if len(sys.argv) < 4:
        # Its SQLite extension may have to be fetched first, which is not part of a load.
        duckdb.connect().execute("INSTALL sqlite; LOAD sqlite")
    return ["duckdb"], load


METHODS = [executemany, pandas, sqlite_utils, adbc, polars, duckdb]

try:
    distributions, load = {method.__name__: method for method in METHODS}[sys.argv[1]]()
except Exception as error:  # Whatever a library says that is not there, or lacks a part.
    sys.exit(str(error).strip().partition("\n")[0])
if len(sys.argv) == 4:
    load(sys.argv[2], sys.argv[3])
else:
    versions = [f"{name} {importlib.metadata.version(name)}" for name in distributions]
    own = f"Python {platform.python_version()} with SQLite {sqlite3.sqlite_version}"
    print(", ".join(versions + [own]))
