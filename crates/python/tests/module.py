"""Tests of the module `pragmark` with real libraries: `python module.py With_pyarrow`."""

import datetime
import decimal
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import pragmark


class Loads(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(folder.name, "made.db")

    def rows(self, sql="SELECT * FROM t"):
        connection = sqlite3.connect(self.path)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()


class With_pyarrow(Loads):
    def table(self, **columns):
        import pyarrow

        return pyarrow.table(columns)

    def test_every_kind_of_value_arrives(self):
        import pyarrow

        summary = pragmark.load(
            self.path,
            "t",
            self.table(
                id=[1, 2],
                name=["Ada", None],
                share=[0.5, 2.0],
                raw=[b"\xff", b""],
                flag=[True, False],
                day=[datetime.date(2024, 2, 29), None],
                at=pyarrow.array([0, 1_500], pyarrow.timestamp("ms", "UTC")),
                price=[decimal.Decimal("12.30"), decimal.Decimal("0.05")],
                list=[[1, 2], []],
            ),
            primary_key="id",
            check=True,
        )
        self.assertEqual((summary.rows, summary.strategy, summary.reason), (2, "pages", None))
        self.assertIn("rows=2", repr(summary))
        self.assertEqual(
            self.rows(),
            [
                (1, "Ada", 0.5, b"\xff", 1, "2024-02-29", "1970-01-01T00:00:00.000Z", 12.3, "[1,2]"),
                (2, None, 2.0, b"", 0, None, "1970-01-01T00:00:01.500Z", 0.05, "[]"),
            ],
        )

    def test_options_make_the_table(self):
        table = self.table(id=[2, 1], a=["x", "y"], b=["p", "q"], price=[decimal.Decimal("1.50")] * 2)
        pragmark.load(
            self.path,
            "t",
            table,
            primary_key=["id"],
            indexes=["a", ["a", "b"]],
            unique=["b"],
            not_null="a",
            fts=["a"],
            strict=True,
            decimals="scaled-integer",
            analyze=True,
            page_size=8192,
        )
        indexes = self.rows("SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY name")
        self.assertEqual(len(indexes), 3)
        self.assertEqual(self.rows("SELECT id, price FROM t"), [(1, 150), (2, 150)])
        self.assertEqual(self.rows("SELECT rowid FROM t_fts('y')"), [(1,)])
        self.assertEqual(self.rows("PRAGMA page_size"), [(8192,)])
        self.assertTrue(self.rows("SELECT * FROM sqlite_stat1"))

    def test_rows_are_added_ignored_or_update_others(self):
        load = lambda **options: pragmark.load(self.path, "t", **options)
        load(data=self.table(id=[1, 2], v=["a", "b"]), primary_key="id")
        summary = load(data=self.table(v=["c", "d"], id=[3, 1]), append=True, ignore=True)
        self.assertEqual((summary.rows, summary.ignored, summary.strategy), (1, 1, "arrays"))
        load(data=self.table(id=[1], v=["e"]), append=True, upsert="id")
        self.assertEqual(self.rows(), [(1, "e"), (2, "b"), (3, "c")])
        load(data=self.table(v=[1]), replace=True)
        self.assertEqual(self.rows(), [(1,)])

    def test_rows_are_unloaded_and_loaded_again(self):
        import pyarrow.parquet

        table = self.table(id=[1, 2, 3], v=["a", None, "c"], price=[decimal.Decimal("1.50")] * 3)
        summary = pragmark.load(self.path, "t", table)
        self.assertTrue(any("decimals: price" in notice for notice in summary.notices), summary.notices)
        path = os.path.join(self.folder, "t.parquet")
        self.assertEqual(pragmark.unload(self.path, path), (3, [path]))
        self.assertEqual(pyarrow.parquet.read_table(path).column("v").to_pylist(), ["a", None, "c"])
        for split, files in [(2, 2), ("1GB", 1), ("id", 3), (["id", "v"], 3)]:
            with self.subTest(split):
                written = pragmark.unload(self.path, os.path.join(self.folder, "t.csv"), "t", split=split, replace=True)
                self.assertEqual((written.rows, len(written.files)), (3, files))
        for error, message, options in [
            (ValueError, "format", {"output": "t.xyz"}),
            (ValueError, "blobs", {"output": "t.csv", "blobs": "raw"}),
            (pragmark.Error, "replace=True", {"output": path}),
            (pragmark.Error, "no table x", {"output": "x.csv", "rows": "x"}),
        ]:
            with self.subTest(message), self.assertRaisesRegex(error, message):
                pragmark.unload(self.path, **options)

    def test_columns_are_added_and_indexes_kept(self):
        pragmark.load(self.path, "t", self.table(id=[1]), indexes=["id"])
        added = pragmark.load(self.path, "t", self.table(id=[2], v=["x"]), append=True, add_columns=True)
        self.assertTrue(any("v TEXT was added" in notice for notice in added.notices), added.notices)
        self.assertEqual(self.rows(), [(1, None), (2, "x")])
        pragmark.load(self.path, "t", self.table(id=[3]), replace=True, keep_indexes=True)
        self.assertEqual(self.rows("SELECT name FROM sqlite_schema"), [("t",), ("t_id_index",)])

    def test_what_has_no_values_is_loaded_and_two_columns_of_a_name_are_named(self):
        import pyarrow

        pragmark.load(self.path, "t", self.table(id=[1], none=pyarrow.nulls(1)))
        self.assertEqual(self.rows(), [(1, None)])
        pragmark.load(self.path, "t", pyarrow.schema([("a", pyarrow.int64())]).empty_table(), replace=True)
        self.assertEqual(self.rows(), [])
        with self.assertRaisesRegex(pragmark.Error, "no columns"):
            pragmark.load(self.path, "t", pyarrow.table({}), replace=True)
        with self.assertRaisesRegex(pragmark.Error, "two columns A"):
            twice = pyarrow.table([[1], [2]], names=["a", "A"])
            pragmark.load(self.path, "t", twice, replace=True)

    def test_an_error_leaves_the_database_as_it_was(self):
        pragmark.load(self.path, "t", self.table(id=[1]), primary_key="id")
        with open(self.path, "rb") as file:
            before = file.read()
        for error, message, data, options in [
            (pragmark.Error, "append=True", self.table(id=[2]), {}),
            (pragmark.Error, "ignore=True", self.table(id=[2, 1]), {"append": True}),
            (pragmark.Error, "no column x", self.table(x=[1]), {"append": True}),
            (TypeError, "duration", self.table(x=[datetime.timedelta(1)]), {"replace": True}),
            (TypeError, "__arrow_c_stream__", [{"id": 1}], {"append": True}),
            (ValueError, "append and replace", self.table(id=[2]), {"append": True, "replace": True}),
            (ValueError, "ignore and upsert", self.table(id=[2]), {"append": True, "ignore": True, "upsert": "id"}),
            (ValueError, "'text' or 'real'", self.table(id=[2]), {"append": True, "decimals": "float"}),
            (ValueError, "on_error='skip'", self.table(id=[2]), {"append": True, "max_errors": 1}),
            (ValueError, "indexes=['id']", self.table(id=[2]), {"replace": True, "indexes": "id"}),
        ]:
            with self.subTest(message):
                with self.assertRaises(error) as raised:
                    pragmark.load(self.path, "t", data, **options)
                self.assertIn(message.lower(), str(raised.exception).lower())
                with open(self.path, "rb") as file:
                    self.assertEqual(file.read(), before)

    def test_rows_that_cannot_be_loaded_are_skipped_and_kept(self):
        import pyarrow

        rejects = os.path.join(self.folder, "bad.csv")
        numbers = pyarrow.array([1, 2**64 - 1, 3], pyarrow.uint64())
        table = pyarrow.table({"n": numbers})
        summary = pragmark.load(self.path, "t", table, on_error="skip", rejects=rejects)
        self.assertEqual((summary.rows, summary.skipped), (2, 1))
        with open(rejects) as file:
            self.assertIn("18446744073709551615", file.read())

    def test_batches_come_one_after_another_and_their_errors_are_raised(self):
        import pyarrow

        schema = pyarrow.schema([("n", pyarrow.int64())])
        batch = lambda n: pyarrow.record_batch([pyarrow.array([n])], schema)

        def batches(fails):
            yield batch(1)
            yield batch(2)
            if fails:
                raise RuntimeError("the source dried up")

        read = pyarrow.RecordBatchReader.from_batches
        with self.assertRaisesRegex(pragmark.Error, "the source dried up"):
            pragmark.load(self.path, "t", read(schema, batches(True)))
        self.assertFalse(os.path.exists(self.path))
        pragmark.load(self.path, "t", read(schema, batches(False)))
        self.assertEqual(self.rows(), [(1,), (2,)])

    def test_a_stream_that_was_read_is_an_error(self):
        import pyarrow

        table = self.table(n=[1])
        capsule = table.__arrow_c_stream__()

        class Once:
            def __arrow_c_stream__(self, requested_schema=None):
                return capsule

        pragmark.load(self.path, "t", Once())
        with self.assertRaises((ValueError, pragmark.Error)):
            pragmark.load(self.path, "t", Once(), append=True)
        self.assertEqual(self.rows(), [(1,)])

    def test_a_database_that_this_process_has_open_is_refused(self):
        pragmark.load(self.path, "t", self.table(n=[1]))
        connection = sqlite3.connect(self.path)
        connection.execute("SELECT * FROM t").fetchall()
        with self.assertRaisesRegex(pragmark.Error, "is open in this process"):
            pragmark.load(self.path, "t", self.table(n=[2]), append=True)
        connection.close()
        pragmark.load(self.path, "t", self.table(n=[2]), append=True)
        self.assertEqual(self.rows(), [(1,), (2,)])

    def test_a_database_into_which_another_thread_loads_is_refused(self):
        import pyarrow

        pragmark.load(self.path, "t", self.table(n=[1]))
        schema = pyarrow.schema([("n", pyarrow.int64())])
        batch = pyarrow.record_batch([pyarrow.array([2])], schema)
        begun, refused = threading.Event(), threading.Event()

        def batches():
            yield batch
            begun.set()
            self.assertTrue(refused.wait(60))

        def first():
            reader = pyarrow.RecordBatchReader.from_batches(schema, batches())
            pragmark.load(self.path, "t", reader, append=True)

        thread = threading.Thread(target=first)
        thread.start()
        self.assertTrue(begun.wait(60))
        try:
            with self.assertRaisesRegex(pragmark.Error, "another thread loads into"):
                pragmark.load(self.path, "t", self.table(n=[3]), append=True)
        finally:
            refused.set()
            thread.join()
        pragmark.load(self.path, "t", self.table(n=[3]), append=True)
        self.assertEqual(self.rows(), [(1,), (2,), (3,)])

    def test_a_stream_that_opens_the_database_when_it_is_exported_is_refused(self):
        table = self.table(n=[1])
        pragmark.load(self.path, "t", table)

        class Opens:
            def __arrow_c_stream__(stream, requested_schema=None):
                stream.file = open(self.path, "rb")
                return table.__arrow_c_stream__()

        data = Opens()
        with self.assertRaisesRegex(pragmark.Error, "is open in this process"):
            pragmark.load(self.path, "t", data, append=True)
        data.file.close()

    def test_an_interruption_ends_the_load(self):
        import pyarrow

        schema = pyarrow.schema([("n", pyarrow.int64())])
        batch = pyarrow.record_batch([pyarrow.array([1])], schema)

        # Whoever starts programs in the background lets them ignore it.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

        def endless():
            os.kill(os.getpid(), signal.SIGINT)
            while True:
                yield batch

        with self.assertRaises(KeyboardInterrupt):
            pragmark.load(self.path, "t", pyarrow.RecordBatchReader.from_batches(schema, endless()))
        self.assertEqual(os.listdir(self.folder), [])

    def test_threads_load_at_the_same_time(self):
        paths = [f"{self.path}{number}" for number in range(4)]
        load = lambda path: pragmark.load(path, "t", self.table(n=list(range(100))))
        threads = [threading.Thread(target=load, args=[path]) for path in paths]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for self.path in paths:
            self.assertEqual(self.rows("SELECT count(*), sum(n) FROM t"), [(100, 4950)])


# A process that loads. It reads a line before each batch and answers it, so that whoever kills it knows how far it came.
LOADER = """
import sys
import pyarrow
import pragmark

path, first, append = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "append"
schema = pyarrow.schema([("id", pyarrow.int64()), ("name", pyarrow.string())])

def batches():
    for number in range(BATCHES):
        sys.stdin.readline()
        ids = range(first + number * ROWS, first + (number + 1) * ROWS)
        columns = [pyarrow.array(ids, schema.field(0).type), pyarrow.array([f"n{id * 7919 % 100_003}" for id in ids])]
        yield pyarrow.record_batch(columns, schema)
        print(number, flush=True)

reader = pyarrow.RecordBatchReader.from_batches(schema, batches())
keys = {"append": True} if append else {"primary_key": "id", "indexes": ["name"]}
pragmark.load(path, "t", reader, **keys)
"""
BATCHES, ROWS = 4, 2_000


class With_pyarrow_and_kills(Loads):
    """How often is the environment's PRAGMARK_ACCIDENTS."""

    rounds = int(os.environ.get("PRAGMARK_ACCIDENTS", "3"))

    def start(self, mode):
        script = LOADER.replace("BATCHES", str(BATCHES)).replace("ROWS", str(ROWS))
        command = [sys.executable, "-c", script, self.path, str(1 if mode == "create" else BATCHES * ROWS + 1), mode]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def let(self, process, batches):
        for _ in range(batches):
            process.stdin.write(b"\n")
            process.stdin.flush()

    def rows_found(self):
        """The number of rows, all of them sound; 0 without a database."""
        if not os.path.exists(self.path):
            return 0
        self.assertEqual(self.rows("PRAGMA integrity_check"), [("ok",)])
        [(rows, wrong)] = self.rows("SELECT count(*), sum(name <> 'n' || (id * 7919 % 100003)) FROM t")
        self.assertEqual(wrong, 0)
        return rows

    def prepare(self, mode):
        for name in os.listdir(self.folder):
            os.remove(os.path.join(self.folder, name))
        if mode == "append":
            process = self.start("create")
            process.communicate(b"\n" * BATCHES)
            self.assertEqual(process.returncode, 0)

    def kill(self, mode, batches, delay):
        """Kills a load after so many batches, and then so many seconds; the rows before and after."""
        self.prepare(mode)
        before = self.rows_found()
        process = self.start(mode)
        self.let(process, batches)
        for _ in range(batches):
            self.assertTrue(process.stdout.readline())
        time.sleep(delay)
        process.kill()
        process.communicate()
        return before, self.rows_found()

    def test_a_killed_process_leaves_the_old_database_or_the_complete_new_one(self):
        seeded = random.Random(5)
        for mode in ["create", "append"]:
            self.prepare(mode)
            process = self.start(mode)
            self.let(process, BATCHES)
            for _ in range(BATCHES):
                process.stdout.readline()
            begin = time.monotonic()
            process.communicate()
            usual = time.monotonic() - begin
            complete = self.rows_found()
            self.assertEqual(complete, BATCHES * ROWS * (1 if mode == "create" else 2))
            olds = news = 0
            for number in range(self.rounds):
                # Its input waits for the next line.
                before, after = self.kill(mode, number % BATCHES, 0)
                self.assertEqual(after, before)
                # All of it has been read, not all of it written.
                before, after = self.kill(mode, BATCHES, seeded.uniform(0, 1.1 * usual))
                self.assertIn(after, [before, complete])
                olds, news = olds + 1 + (after == before), news + (after == complete)
                if after == before:
                    process = self.start(mode)
                    process.communicate(b"\n" * BATCHES)
                    self.assertEqual(self.rows_found(), complete)
                    left = [name for name in os.listdir(self.folder) if "unfinished" in name]
                    self.assertEqual(left, [])
            print(f"{mode}: {2 * self.rounds} kills, {olds} old, {news} new")


class With_polars(Loads):
    def test_a_frame_is_loaded(self):
        import polars

        frame = polars.DataFrame(
            {
                "id": [1, 2],
                "name": ["Ada", "a name longer than a view holds"],
                "at": [datetime.datetime(2024, 1, 2, 3, 4, 5), None],
                "kind": polars.Series(["a", "b"], dtype=polars.Categorical),
            }
        )
        pragmark.load(self.path, "t", frame, primary_key="id")
        self.assertEqual(
            self.rows(),
            [
                (1, "Ada", "2024-01-02T03:04:05.000000", "a"),
                (2, "a name longer than a view holds", None, "b"),
            ],
        )


    def test_columns_of_none_are_loaded_and_objects_refused(self):
        import polars

        frame = polars.DataFrame({"id": [1, 2], "none": [None, None]})
        pragmark.load(self.path, "t", frame)
        self.assertEqual(self.rows(), [(1, None), (2, None)])
        with self.assertRaisesRegex(TypeError, "column o holds Python objects"):
            pragmark.load(self.path, "t", polars.DataFrame({"o": [object()]}), replace=True)
        with self.assertRaisesRegex(pragmark.Error, "no columns"):
            pragmark.load(self.path, "t", polars.DataFrame(), replace=True)


class With_pandas(Loads):
    def test_a_frame_is_loaded(self):
        import pandas

        frame = pandas.DataFrame({"id": [1, 2], "name": ["Ada", None], "share": [0.5, float("nan")]})
        pragmark.load(self.path, "t", frame)
        rows = self.rows("SELECT id, name, share FROM t")
        self.assertEqual(rows[0], (1, "Ada", 0.5))
        self.assertEqual(rows[1], (2, None, None))


class With_duckdb(Loads):
    def test_a_relation_is_loaded(self):
        import duckdb

        relation = duckdb.sql("SELECT range AS id, 'n' || range AS name, DATE '2024-01-01' AS day FROM range(70000)")
        summary = pragmark.load(self.path, "t", relation, primary_key="id", indexes=["name"])
        self.assertEqual(summary.rows, 70_000)
        self.assertEqual(self.rows("SELECT * FROM t WHERE name = 'n69999'"), [(69_999, "n69999", "2024-01-01")])


if __name__ == "__main__":
    unittest.main()
