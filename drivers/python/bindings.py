"""The differences between the Python bindings.

Each class opens a connection as in the documentation of its binding, and has the fewest calls that the
work requires: `execute` for one statement, `many` for one statement with many rows of
parameters, `rows` for a query. All begin and end transactions explicitly, so that they do the same.
"""

import platform

PYTHON = f"Python {platform.python_version()}"


class Common:
    """The calls of sqlite3 and apsw."""

    def close(self, connection):
        connection.close()

    def execute(self, connection, sql, values=()):
        connection.execute(sql, values)

    def many(self, connection, sql, rows):
        connection.executemany(sql, rows)

    def rows(self, connection, sql, values):
        return connection.execute(sql, values)

    def column(self, connection, sql):
        """The first column of every row of a query."""
        return [row[0] for row in self.rows(connection, sql, ())]

    def identity(self, connection):
        """Version and source id of the SQLite that does the work."""
        row = list(self.rows(connection, "SELECT sqlite_version(), sqlite_source_id()", ()))[0]
        return row[0], row[1]


class Sqlite3(Common):
    def __init__(self):
        import sqlite3

        self.module = sqlite3
        self.name = f"{PYTHON}, sqlite3"

    def open(self, path):
        connection = self.module.connect(path)
        # Leaves BEGIN and COMMIT to the program; changes no default of SQLite.
        connection.isolation_level = None
        return connection


class Apsw(Common):
    def __init__(self):
        import apsw

        self.module = apsw
        self.name = f"{PYTHON}, apsw {apsw.apsw_version()}"

    def open(self, path):
        return self.module.Connection(path)


class SqlAlchemy(Common):
    """SQLAlchemy Core, by `exec_driver_sql`: the library without its language of expressions."""

    def __init__(self):
        import sqlalchemy

        self.module = sqlalchemy
        self.name = f"{PYTHON}, SQLAlchemy {sqlalchemy.__version__}"

    def open(self, path):
        url = "sqlite://" if path == ":memory:" else f"sqlite:///{path}"
        engine = self.module.create_engine(url)
        # As for sqlite3: leaves BEGIN and COMMIT to the program.
        return engine.connect().execution_options(isolation_level="AUTOCOMMIT")

    def close(self, connection):
        connection.close()
        connection.engine.dispose()

    def execute(self, connection, sql, values=()):
        connection.exec_driver_sql(sql, tuple(values))

    def many(self, connection, sql, rows):
        connection.exec_driver_sql(sql, rows)

    def rows(self, connection, sql, values):
        result = connection.exec_driver_sql(sql, tuple(values))
        # Reading the rows of a PRAGMA that only sets a value is an error.
        return result if result.returns_rows else ()


BINDINGS = {"sqlite3": Sqlite3, "apsw": Apsw, "sqlalchemy": SqlAlchemy}
