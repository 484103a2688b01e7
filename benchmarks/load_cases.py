#!/usr/bin/env python3
"""Loading into SQLite, case by case: pragmark, SQLite's shell and Python's libraries, as whole processes.

    load_cases.py PRAGMARK [--rows N] [--rounds N] [--peers NAMES] [--python PYTHON] [--folder FOLDER] [CASE...]

Each round runs every tool once, in random order, on a fresh copy of the database; the clock stops when the database is
synced. Then the database is checked: its integrity, and its rows by sums. Prints a line of a Markdown table for each case,
with the medians of the rounds: seconds (and of pragmark seconds of CPU), the factors over the best peer and over
`.import`, and the share of the physical limit. That limit is the longer of two times: writing the bytes of the finished
database directly to the disk, and reading (and decompressing) the input. The seconds of every tool go to the standard
error. Tools that are not installed or cannot load a case are left out, with the reason. PYTHON has duckdb,
adbc-driver-sqlite, polars, pandas, pyarrow and sqlite-utils, or those of NAMES (`executemany` needs none); FOLDER lies on
the disk to measure.
"""
import argparse, csv, gzip, json, os, random, resource, shutil, statistics, subprocess, sys, tempfile, time


class Case:
    """An input, a table and how pragmark is to load it."""

    def __init__(self, columns, row, options=(), after=(), before="", rows=1.0, form="csv", order=None):
        self.columns, self.row, self.options, self.form = columns, row, list(options), form
        self.after, self.before, self.rows, self.order = list(after), before, rows, order

    def create(self):
        columns = [name + " " + kind for name, kind in self.columns]
        return f"CREATE TABLE t({', '.join(columns)}){' WITHOUT ROWID' if '--without-rowid' in self.options else ''}"

    def values(self, first, rows, sums):
        """The rows, which are added to the sums."""
        numbers = list(range(first, first + rows))
        if self.order == "shuffled":
            random.shuffle(numbers)
        for number in numbers:
            row = self.row(number)
            sums[0] += 1
            for at, (value, (_, kind)) in enumerate(zip(row, self.columns), 1):
                sums[at] += value % PRIME if kind.startswith("INTEGER") else len(value) if kind.startswith("TEXT") else 0
            yield row

    def sums_of_table(self):
        """A query for the sums: a value of another type than its column's is missing."""
        terms = ["count(*)"]
        for name, kind in self.columns:
            integer = f"iif(typeof({name}) = 'integer', {name} % {PRIME}, 0)"
            text = f"iif(typeof({name}) = 'text', length({name}), 0)"
            terms.append(f"sum({integer if kind.startswith('INTEGER') else text if kind.startswith('TEXT') else 0})")
        return f"SELECT {', '.join(terms)} FROM t"


# Sums of remainders stay within 64 bits, and see a changed digit.
PRIME = 1_000_003


class Wrong(Exception):
    """What a tool made is not what the input has."""


def number(digits):
    return random.randrange(10 ** (digits - 1), 10**digits)


def text(length):
    return "".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=length))


USER = [("id", "INTEGER PRIMARY KEY"), ("area", "TEXT"), ("age", "INTEGER"), ("name", "TEXT")]
PLAIN = [("id", "INTEGER")] + USER[1:]
KEYED = [("id", "INTEGER")] + [("area", "TEXT PRIMARY KEY")] + USER[2:]


def user(key):
    return [key, f"n{number(6)}", key % 100, text(8)]


def keyed(key):
    return [key, f"k{key * 2654435761 % 2**32:010}", key % 100, text(8)]


KEY = ["--primary-key", "id"]
CASES = {
    "CSV, 4 columns, key": Case(USER, user, KEY),
    "decimals of 17 digits": Case(PLAIN[:1] + [("x", "REAL")], lambda key: [key, f"0.{number(17)}"]),
    "exponents": Case(PLAIN[:1] + [("x", "REAL")], lambda key: [key, f"{number(5) / 1e4}e-{key % 20 + 1}"]),
    "ids of 19 digits": Case(USER[:1] + [("x", "INTEGER")], lambda key: [10**18 + key, key], KEY),
    "quoted fields": Case(PLAIN, lambda key: [key, f'a, "{key}"', key % 100, "b, c"]),
    "100 columns": Case(
        [(f"c{at}", "INTEGER") for at in range(100)], lambda key: [key + at for at in range(100)], rows=0.05
    ),
    "JSON Lines": Case(PLAIN, user, form="jsonl"),
    "1 index": Case(USER, user, KEY + ["--index", "area"], ["CREATE INDEX a ON t(area)"]),
    "3 indexes": Case(
        USER,
        user,
        KEY + ["--index", "area", "--index", "age", "--index", "name"],
        [f"CREATE INDEX i{name} ON t({name})" for name in ("area", "age", "name")],
    ),
    "index on texts of 1 KiB": Case(
        PLAIN[:1] + [("x", "TEXT")], lambda key: [key, text(1024)], ["--index", "x"], ["CREATE INDEX a ON t(x)"], rows=0.05
    ),
    "TEXT PRIMARY KEY": Case(KEYED, keyed, ["--primary-key", "area"]),
    "WITHOUT ROWID": Case(KEYED, keyed, ["--primary-key", "area", "--without-rowid"]),
    "INTEGER PRIMARY KEY out of order": Case(USER, user, KEY, order="shuffled"),
    "append to a table with an index": Case(
        USER, user, ["--append"], before="CREATE INDEX a ON t(area)", rows=1.0
    ),
    "append to a WAL database": Case(USER, user, ["--append"], before="PRAGMA journal_mode = WAL"),
    "append to a database with auto_vacuum": Case(USER, user, ["--append"], before="PRAGMA auto_vacuum = FULL"),
    "unique, skipping": Case(
        PLAIN, user, ["--unique", "id", "--on-error", "skip"], ["CREATE UNIQUE INDEX a ON t(id)"]
    ),
    "full text over 3 columns": Case(
        [("a", "TEXT"), ("b", "TEXT"), ("c", "TEXT")],
        lambda key: [" ".join(text(5) for _ in range(8)) for _ in range(3)],
        ["--fts", "a,b,c"],
        ["CREATE VIRTUAL TABLE f USING fts5(a, b, c, content = t)", "INSERT INTO f(f) VALUES ('rebuild')"],
        rows=0.1,
    ),
    "Parquet": Case(PLAIN, user, form="parquet"),
    "csv.gz": Case(PLAIN, user, form="csv.gz"),
    "texts of 1 KiB": Case(PLAIN[:1] + [("x", "TEXT")], lambda key: [key, text(1024)], rows=0.1),
    "1,000 rows": Case(USER, user, KEY, rows=0),
    "a tenth of the rows": Case(USER, user, KEY, rows=0.1),
}

PEER = """
import sys
tool, form, source, database = sys.argv[1:5]
names = sys.argv[5:]
if tool == "duckdb":
    import duckdb
    made = duckdb.connect()
    made.execute(f"LOAD sqlite; ATTACH '{database}' AS made (TYPE sqlite)")
    read = {"csv": "read_csv", "csv.gz": "read_csv", "jsonl": "read_json", "parquet": "read_parquet"}[form]
    made.execute(f"INSERT INTO made.t SELECT {', '.join(names)} FROM {read}('{source}')")
elif tool == "executemany":
    import csv, json, sqlite3
    assert form in ("csv", "jsonl"), f"Python has no reader of {form}"
    with open(source, newline="") as file, sqlite3.connect(database) as connection:
        if form == "csv":
            rows = csv.reader(file)
            next(rows)
        else:
            rows = (tuple(json.loads(line).values()) for line in file)
        marks = ", ".join("?" * len(names))
        connection.executemany(f"INSERT INTO t({', '.join(names)}) VALUES ({marks})", rows)
elif tool == "sqlite-utils":
    import sqlite_utils.cli
    kind = {"csv": "--csv", "jsonl": "--nl"}[form]
    sqlite_utils.cli.cli(["insert", database, "t", source, kind, "--silent"], standalone_mode=False)
elif tool == "pandas":
    import pandas, sqlite3
    read = {"jsonl": lambda: pandas.read_json(source, lines=True), "parquet": lambda: pandas.read_parquet(source)}
    table = read.get(form, lambda: pandas.read_csv(source))()
    with sqlite3.connect(database) as connection:
        table[names].to_sql("t", connection, if_exists="append", index=False)
else:
    import adbc_driver_sqlite.dbapi, pyarrow
    if tool == "polars":
        import polars
        read = {"jsonl": polars.read_ndjson, "parquet": polars.read_parquet}.get(form, polars.read_csv)
        table = read(source).to_arrow()
    else:
        import pyarrow.csv, pyarrow.json, pyarrow.parquet
        read = {"jsonl": pyarrow.json.read_json, "parquet": pyarrow.parquet.read_table}
        table = read.get(form, pyarrow.csv.read_csv)(source)
    with adbc_driver_sqlite.dbapi.connect(database) as connection:
        with connection.cursor() as cursor:
            cursor.adbc_ingest("t", table.select(names), mode="append")
        connection.commit()
"""
PEERS = ["duckdb", "adbc", "polars", "pandas", "executemany", "sqlite-utils"]


def write(case, path, first, rows, python, sums):
    """Writes an input of so many rows, and adds them to the sums."""
    names = [name for name, _ in case.columns]
    if case.form == "parquet":
        plain = path + ".csv"
        write_csv(plain, names, case.values(first, rows, sums))
        script = "import sys, pyarrow.csv as c, pyarrow.parquet as p; p.write_table(c.read_csv(sys.argv[1]), sys.argv[2])"
        subprocess.run([python, "-c", script, plain, path], check=True)
        os.remove(plain)
    elif case.form == "jsonl":
        with open(path, "w") as file:
            for row in case.values(first, rows, sums):
                file.write(json.dumps(dict(zip(names, row))) + "\n")
    else:
        write_csv(path, names, case.values(first, rows, sums), gzip.open if case.form == "csv.gz" else open)


def write_csv(path, names, rows, opened=open):
    with opened(path, "wt", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)


def shell(database, *commands):
    subprocess.run(["sqlite3", "-bail", database, *commands], check=True, stdout=subprocess.DEVNULL)


def check(case, database, sums):
    """Fails where the database is damaged, or has other rows."""
    asked = ["sqlite3", "-bail", database, "PRAGMA integrity_check", case.sums_of_table()]
    answer = subprocess.run(asked, check=True, capture_output=True).stdout.decode().split()
    wanted = ["ok", "|".join(map(str, sums))]
    if answer != wanted:
        raise Wrong(f"the database has {answer} instead of {wanted}")


def base(case, folder, rows, pragmark, python, sums):
    """The database before the load: with rows where rows are added."""
    database = os.path.join(folder, "base.db")
    if "--append" in case.options:
        source = os.path.join(folder, "base." + case.form)
        write(case, source, 1, rows, python, sums)
        shell(database, case.before if case.before.startswith("PRAGMA") else "", case.create())
        run([pragmark, "load", source, database, "--table", "t", "--append"], database)
        if not case.before.startswith("PRAGMA"):
            shell(database, case.before)
    return database


def run(command, database):
    """Seconds until a command has ended and its database is synced, and its seconds of CPU."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    with open(database, "rb+") as file:
        os.fsync(file.fileno())
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(case, options, source, database):
    """The command of each tool, with what it needs before and after."""
    own = [options.pragmark, "load", source, database, "--table", "t", *case.options]
    names = [name for name, _ in case.columns]
    tools = {"pragmark": own}
    if case.form == "csv":
        statements = [f"{sql};" for sql in case.after]
        tools[".import"] = ["sqlite3", database, ".mode csv", f".import --skip 1 '{source}' t", *statements]
    for peer in options.peers.split(","):
        tools[peer] = [options.python, "-c", PEER, peer, case.form, source, database, *names]
    return tools


def one(case, tool, command, prepared, database):
    """Loads once; an index that no peer makes is made by the shell, within the time."""
    for name in (database, database + "-wal", database + "-shm", database + "-journal"):
        if os.path.exists(name):
            os.remove(name)
    if os.path.exists(prepared):
        shutil.copy(prepared, database)
    elif tool != "pragmark":
        shell(database, case.create())
    os.sync()
    seconds, cpu = run(command, database)
    if tool in PEERS and case.after:
        more = run(["sqlite3", "-bail", database, *[f"{sql};" for sql in case.after]], database)
        seconds, cpu = seconds + more[0], cpu + more[1]
    return seconds, cpu


def limit(source, database, form):
    """The longer of the times for reading the input, and for writing as many bytes as the database has."""
    begin = time.perf_counter()
    with (gzip.open if form.endswith("gz") else open)(source, "rb") as file:
        while file.read(1 << 20):
            pass
    reading, size = time.perf_counter() - begin, os.path.getsize(database)
    raw = database + ".raw"
    begin = time.perf_counter()
    blocks = max(1, size >> 20)
    dd = ["dd", "if=/dev/zero", f"of={raw}", "bs=1M", f"count={blocks}", "oflag=direct", "conv=fsync"]
    subprocess.run(dd, check=True, stderr=subprocess.DEVNULL)
    writing = time.perf_counter() - begin
    os.remove(raw)
    return max(reading, writing)


def measure(name, case, options, folder):
    rows = max(1000, int(case.rows * options.rows))
    source, database = os.path.join(folder, "input." + case.form), os.path.join(folder, "made.db")
    sums = [0] * (len(case.columns) + 1)
    prepared = base(case, folder, rows, options.pragmark, options.python, sums)
    write(case, source, rows + 1, rows, options.python, sums)
    times, limits = {}, []
    for _ in range(options.rounds):
        tools = list(commands(case, options, source, database).items())
        random.shuffle(tools)
        for tool, command in tools:
            if times.get(tool) is None and tool in times:
                continue
            try:
                times.setdefault(tool, []).append(one(case, tool, command, prepared, database))
                check(case, database, sums)
            except (subprocess.CalledProcessError, Wrong) as error:
                lines = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip().splitlines()
                print(f"{name}: {tool} is left out: {lines[-1] if lines else error}", file=sys.stderr)
                times[tool] = None
            if tool == "pragmark":
                limits.append(limit(source, database, case.form))
    return row(name, rows, times, statistics.median(limits))


def row(name, rows, times, shortest):
    median = {tool: statistics.median(t[0] for t in found) for tool, found in times.items() if found}
    every = ", ".join(f"{tool} {median[tool]:.3f} s" for tool in sorted(median, key=median.get))
    print(f"{name}: {every}", file=sys.stderr)
    own, cpu = median["pragmark"], statistics.median(t[1] for t in times["pragmark"])
    peers = {tool: seconds for tool, seconds in median.items() if tool in PEERS}
    best = min(peers, key=peers.get) if peers else None
    imported = median.get(".import")
    factor = lambda seconds: f"{seconds / own:.1f}" if seconds else "not measured"
    of_best = f"{best} {peers[best]:.3f} s" if best else "not measured"
    of_import = f"{imported:.3f} s" if imported else "not measured"
    return (
        f"| {name} | {rows:,} | {own:.3f} s ({cpu:.3f} s CPU) | {of_best} | {of_import} | {factor(peers.get(best))} | "
        f"{factor(imported)} | {shortest / own:.0%} |"
    )


def prepare_duckdb(python):
    """DuckDB fetches its extension for SQLite at the first use, which is not part of a load."""
    script = "import duckdb; duckdb.connect().execute('INSTALL sqlite; LOAD sqlite')"
    made = subprocess.run([python, "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if made.returncode != 0:
        print(f"duckdb has no extension for SQLite: {made.stderr.strip().splitlines()[-1]}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pragmark")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", default=",".join(PEERS), metavar="NAMES")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--folder", default=".")
    options = parser.parse_args()
    unknown = [name for name in options.cases if name not in CASES]
    if unknown:
        parser.error(f"there is no case {unknown[0]}; the cases are: {', '.join(CASES)}")
    prepare_duckdb(options.python)
    print("| case | rows | pragmark | best peer | .import | ÷ best peer | ÷ .import | share of the physical limit |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, case in CASES.items():
        if options.cases and name not in options.cases:
            continue
        random.seed(1)
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            print(measure(name, case, options, folder), flush=True)


if __name__ == "__main__":
    main()
