"""Inserts pyarrow record batches with the extension pragmark_columns.

    python3 insert.py libpragmark_columns.so

Python's own sqlite3 module cannot bind pointers, so this program calls SQLite through ctypes. It can insert
everything that pyarrow reads (Parquet, CSV, Feather, pandas), batch by batch, without a Python object per
value.
"""

import ctypes
import ctypes.util
import sys

import pyarrow as pa

sqlite = ctypes.CDLL(ctypes.util.find_library("sqlite3") or "libsqlite3.so.0")
for name in ("sqlite3_errmsg",):
    getattr(sqlite, name).restype = ctypes.c_char_p
sqlite.sqlite3_column_text.restype = ctypes.c_char_p
ROW, DONE = 100, 101


def check(code, database):
    if code not in (0, DONE):
        raise RuntimeError(sqlite.sqlite3_errmsg(database).decode())


def open_database(path, extension):
    """Opens a database with the extension."""
    database = ctypes.c_void_p()
    check(sqlite.sqlite3_open(path.encode(), ctypes.byref(database)), database)
    check(sqlite.sqlite3_enable_load_extension(database, 1), database)
    check(sqlite.sqlite3_load_extension(database, extension.encode(), None, None), database)
    return database


def execute(database, sql):
    check(sqlite.sqlite3_exec(database, sql.encode(), None, None, None), database)


def insert(database, sql, reader):
    """Runs a statement whose first parameter is a pyarrow.RecordBatchReader."""
    # struct ArrowArrayStream consists of four functions and a pointer.
    stream = (ctypes.c_void_p * 5)()
    reader._export_to_c(ctypes.addressof(stream))
    statement = ctypes.c_void_p()
    check(sqlite.sqlite3_prepare_v2(database, sql.encode(), -1, ctypes.byref(statement), None), database)
    try:
        check(
            sqlite.sqlite3_bind_pointer(statement, 1, ctypes.byref(stream), b"arrow_array_stream", None),
            database,
        )
        check(sqlite.sqlite3_step(statement), database)
    finally:
        sqlite.sqlite3_finalize(statement)
        # Reading takes the stream over and releases it. One that was not read still has its function
        # `release`, the fourth: importing it back makes Python release it.
        if stream[3]:
            pa.RecordBatchReader._import_from_c(ctypes.addressof(stream)).close()


def main():
    table = pa.table({"id": [1, 2, 3], "name": ["Ada", None, "Grace"], "score": [0.5, 1.5, None]})
    database = open_database(":memory:", sys.argv[1])
    execute(database, "CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT, score REAL)")
    insert(
        database,
        "INSERT INTO people(id, name, score) SELECT c0, c1, c2 FROM pragmark_columns(?1)",
        table.to_reader(max_chunksize=2),
    )
    query = ctypes.c_void_p()
    sql = b"SELECT id || '|' || coalesce(name, 'NULL') || '|' || coalesce(score, 'NULL') FROM people"
    check(sqlite.sqlite3_prepare_v2(database, sql, -1, ctypes.byref(query), None), database)
    while sqlite.sqlite3_step(query) == ROW:
        print(sqlite.sqlite3_column_text(query, 0).decode())
    sqlite.sqlite3_finalize(query)
    check(sqlite.sqlite3_close(database), database)


main()
