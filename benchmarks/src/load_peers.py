"""Loads a CSV file into a SQLite database as a Python programmer would, by one of several libraries.

    python3 load_peers.py METHOD FILE.csv FILE.db
    python3 load_peers.py METHOD            # only says whether its libraries are there
"""

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

    return load


def pandas():
    import pandas

    def load(source, database):
        connection = create(database)
        table = pandas.read_csv(source, dtype={"area": str})
        table.to_sql("user", connection, if_exists="append", index=False)
        connection.commit()
        connection.close()

    return load


def sqlite_utils():
    import sqlite_utils.cli

    def load(source, database):
        create(database).close()
        arguments = ["insert", database, "user", source, "--csv", "--silent"]
        sqlite_utils.cli.cli(arguments, standalone_mode=False)

    return load


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

    return load


def polars():
    import adbc_driver_sqlite.dbapi  # noqa: F401
    import polars

    def load(source, database):
        create(database).close()
        table = polars.read_csv(source, schema_overrides={"area": polars.String})
        table.write_database("user", f"sqlite:///{database}", engine="adbc", if_table_exists="append")

    return load


def duckdb():
    import duckdb

    # Its SQLite extension may have to be fetched first, which is not part of a load.
    duckdb.connect().execute("INSTALL sqlite; LOAD sqlite")

    def load(source, database):
        create(database).close()
        connection = duckdb.connect()
        connection.execute(f"LOAD sqlite; ATTACH '{database}' AS made (TYPE sqlite)")
        connection.execute(
            f"INSERT INTO made.user SELECT * FROM read_csv('{source}', types = {{'area': 'VARCHAR'}})"
        )
        connection.close()

    return load


METHODS = {method.__name__: method for method in (executemany, pandas, sqlite_utils, adbc, polars, duckdb)}
load = METHODS[sys.argv[1]]()
if len(sys.argv) == 4:
    load(sys.argv[2], sys.argv[3])
