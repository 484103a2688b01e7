#!/usr/bin/env python3
"""Compares the index advice of `pragmark explain` with that of SQLite's shell (`.expert`).

    benchmarks/expert.py --pragmark target/release/pragmark [--workloads 50] [--tpch 0.1] [--library libsqlite3.so]

Both tools see the same statements, with values in place, on the same database. `.expert` advises each statement by itself, and all
of its indexes are made. The judge is neither of them: the virtual machine's steps of each statement are counted on three copies, all
with statistics: without advice, with `.expert`'s and with pragmark's. Writes count, each copy is thrown away. By default the shell
counts (`.stats on`), with the plans of its version. `--library` counts with a library instead (sqlite3_stmt_status), such as the one
that `pragmark engine build` makes of pragmark's own version. The seconds are of one execution each with a cold cache of SQLite. Exits with 1 if pragmark's advice costs more steps than none anywhere, or in sum more than `.expert`'s.
"""

import argparse
import ctypes
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path

TIME = re.compile(r"Run Time: real ([\d.]+)")
STEPS = re.compile(r"Virtual Machine Steps:\s+(-?\d+)")
MADE = re.compile(r"^\s*((?:CREATE|DROP) INDEX\s[^;]*;)\s*$", re.M)


def workload(path, seed):
    """Makes a database of a seed, and returns statements for it."""
    draw = random.Random(seed)
    db = sqlite3.connect(path)
    tables = []
    for number in range(draw.randint(2, 4)):
        columns = [f"c{column}" for column in range(draw.randint(3, 7))]
        kinds = [draw.choice(["int", "rare", "text", "day", "parent"]) for _ in columns]
        rows = draw.choice([500, 3000, 20000])
        name = f"t{number}"
        db.execute(f"CREATE TABLE {name}(id INTEGER PRIMARY KEY, {', '.join(columns)})")
        cell = {
            "int": lambda: draw.randrange(rows // 10 + 1),
            "rare": lambda: draw.randrange(5),
            "text": lambda: f"word {draw.randrange(rows // 3 + 1)}",
            "day": lambda: str(date(2020, 1, 1) + timedelta(days=draw.randrange(1500))),
            "parent": lambda: draw.randrange(500),
        }
        places = ", ".join("?" for _ in columns)
        insert = f"INSERT INTO {name}({', '.join(columns)}) VALUES ({places})"
        db.executemany(insert, ([cell[kind]() for kind in kinds] for _ in range(rows)))
        tables.append((name, columns, kinds, cell))
        if draw.random() < 0.5:
            column = draw.choice(columns)
            db.execute(f"CREATE INDEX {name}_{column} ON {name}({column})")
    db.commit()
    db.close()

    def value(kind, cell):
        drawn = cell[kind]()
        return f"'{drawn}'" if isinstance(drawn, str) else str(drawn)

    def condition(table, prefix=""):
        _, columns, kinds, cell = table
        place = draw.randrange(len(columns))
        drawn = value(kinds[place], cell)
        how = draw.choice(["=", "=", "=", ">", "IN"])
        if how == "IN":
            return f"{prefix}{columns[place]} IN ({drawn}, {value(kinds[place], cell)})"
        return f"{prefix}{columns[place]} {how} {drawn}"

    statements = []
    for _ in range(draw.randint(4, 9)):
        table = draw.choice(tables)
        name, columns, kinds, cell = table
        shape = draw.choice(["point", "order", "join", "group", "two", "write"])
        where = condition(table)
        order = draw.choice(columns)
        if shape == "point":
            statements.append(f"SELECT * FROM {name} WHERE {where}")
        elif shape == "two":
            statements.append(f"SELECT id FROM {name} WHERE {where} AND {condition(table)}")
        elif shape == "order":
            statements.append(f"SELECT id, {order} FROM {name} WHERE {where} ORDER BY {order} DESC LIMIT 10")
        elif shape == "group":
            statements.append(f"SELECT {order}, count(*) FROM {name} WHERE {where} GROUP BY {order}")
        elif shape == "join":
            other = draw.choice(tables)
            column = draw.choice(other[1])
            statements.append(
                f"SELECT count(*) FROM {name} a JOIN {other[0]} b ON b.{column} = a.id WHERE {condition(table, 'a.')}"
            )
        else:
            values = ", ".join(value(kind, cell) for kind in kinds)
            statements.append(
                draw.choice([
                    f"INSERT INTO {name}({', '.join(columns)}) VALUES ({values})",
                    f"UPDATE {name} SET {order} = {value(kinds[columns.index(order)], cell)} WHERE id = {draw.randrange(500)}",
                    f"DELETE FROM {name} WHERE id = {draw.randrange(500)}",
                ])
            )
    return statements


def tpch(path, scale):
    """Makes the tables of TPC-H at a scale, with columns, sizes and distributions near those of dbgen, and returns the 22 queries."""
    draw = random.Random(1)
    db = sqlite3.connect(path)
    db.executescript(
        """
        CREATE TABLE region(r_regionkey INTEGER PRIMARY KEY, r_name TEXT);
        CREATE TABLE nation(n_nationkey INTEGER PRIMARY KEY, n_name TEXT, n_regionkey INTEGER);
        CREATE TABLE supplier(s_suppkey INTEGER PRIMARY KEY, s_name TEXT, s_address TEXT, s_nationkey INTEGER, s_phone TEXT,
          s_acctbal REAL, s_comment TEXT);
        CREATE TABLE customer(c_custkey INTEGER PRIMARY KEY, c_name TEXT, c_address TEXT, c_nationkey INTEGER, c_phone TEXT,
          c_acctbal REAL, c_mktsegment TEXT, c_comment TEXT);
        CREATE TABLE part(p_partkey INTEGER PRIMARY KEY, p_name TEXT, p_mfgr TEXT, p_brand TEXT, p_type TEXT, p_size INTEGER,
          p_container TEXT, p_retailprice REAL);
        CREATE TABLE partsupp(ps_partkey INTEGER, ps_suppkey INTEGER, ps_availqty INTEGER, ps_supplycost REAL,
          PRIMARY KEY (ps_partkey, ps_suppkey));
        CREATE TABLE orders(o_orderkey INTEGER PRIMARY KEY, o_custkey INTEGER, o_orderstatus TEXT, o_totalprice REAL,
          o_orderdate TEXT, o_orderpriority TEXT, o_clerk TEXT, o_shippriority INTEGER, o_comment TEXT);
        CREATE TABLE lineitem(l_orderkey INTEGER, l_partkey INTEGER, l_suppkey INTEGER, l_linenumber INTEGER, l_quantity INTEGER,
          l_extendedprice REAL, l_discount REAL, l_tax REAL, l_returnflag TEXT, l_linestatus TEXT, l_shipdate TEXT,
          l_commitdate TEXT, l_receiptdate TEXT, l_shipinstruct TEXT, l_shipmode TEXT, PRIMARY KEY (l_orderkey, l_linenumber));
        """
    )
    many = lambda table, rows: rows and db.executemany(
        f"INSERT INTO {table} VALUES ({', '.join('?' for _ in rows[0])})", rows
    )
    regions = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
    nations = {
        "AFRICA": ["ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"],
        "AMERICA": ["ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"],
        "ASIA": ["CHINA", "INDIA", "INDONESIA", "JAPAN", "VIETNAM"],
        "EUROPE": ["FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"],
        "MIDDLE EAST": ["EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"],
    }
    many("region", list(enumerate(regions)))
    many("nation", [(5 * at + place, name, at) for at, region in enumerate(regions) for place, name in enumerate(nations[region])])
    suppliers, customers, parts, orders = (max(int(scale * n), 10) for n in (10_000, 150_000, 200_000, 1_500_000))
    phone = lambda nation: f"{nation + 10}-{draw.randrange(100, 1000)}-{draw.randrange(100, 1000)}-{draw.randrange(1000, 10000)}"

    def person(key, word):
        nation = draw.randrange(25)
        return (key, f"{word}#{key:09}", f"street {draw.randrange(10**6)}", nation, phone(nation), draw.randrange(-99999, 999999) / 100)

    remarks = ["special requests", "pending deposits", "Customer Complaints", "quick accounts", "final ideas"]
    many("supplier", [(*person(key, "Supplier"), draw.choice(remarks)) for key in range(1, suppliers + 1)])
    segments = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]
    many("customer", [(*person(key, "Customer"), draw.choice(segments), draw.choice(remarks)) for key in range(1, customers + 1)])
    colours = "almond azure beige blue brown coral cream cyan forest frosted green honeydew indian ivory khaki lime".split()
    kinds = [f"{a} {b} {c}" for a in ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
             for b in ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED") for c in ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")]
    containers = [f"{a} {b}" for a in ("SM", "LG", "MED", "JUMBO", "WRAP") for b in ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM")]
    many("part", [
        (key, " ".join(draw.sample(colours, 5)), f"Manufacturer#{draw.randrange(1, 6)}", f"Brand#{draw.randrange(1, 6)}{draw.randrange(1, 6)}",
         draw.choice(kinds), draw.randrange(1, 51), draw.choice(containers), 900 + key % 1000 / 10)
        for key in range(1, parts + 1)
    ])
    stocked = lambda part: draw.sample(range(1, suppliers + 1), 4)
    supply = {part: stocked(part) for part in range(1, parts + 1)}
    many("partsupp", [(part, supplier, draw.randrange(1, 10000), draw.randrange(100, 100001) / 100)
                      for part, all_of in supply.items() for supplier in all_of])
    first = date(1992, 1, 1)
    day = lambda days: str(first + timedelta(days=days))
    ordered, lines = [], []
    priorities = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
    modes, instructions = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"], ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"]
    for key in range(1, orders + 1):
        at = draw.randrange(2406)
        customer = draw.randrange(1, customers + 1)
        customer -= customer % 3 == 0
        total = 0.0
        for number in range(1, draw.randrange(2, 9)):
            part = draw.randrange(1, parts + 1)
            quantity = draw.randrange(1, 51)
            price = quantity * (900 + part % 1000 / 10)
            shipped = at + draw.randrange(1, 122)
            received = shipped + draw.randrange(1, 31)
            total += price
            lines.append((key, part, draw.choice(supply[part]), number, quantity, price, draw.randrange(11) / 100, draw.randrange(9) / 100,
                          draw.choice("RA") if received < 1263 else "N", "F" if shipped < 1263 else "O", day(shipped),
                          day(at + draw.randrange(30, 91)), day(received), draw.choice(instructions), draw.choice(modes)))
        ordered.append((key, max(customer, 1), draw.choice("FOP"), round(total, 2), day(at), draw.choice(priorities),
                        f"Clerk#{draw.randrange(1000):09}", 0, draw.choice(remarks)))
    many("orders", ordered)
    many("lineitem", lines)
    db.commit()
    db.close()
    return TPCH.split(";\n")


# The queries of the specification (https://www.tpc.org/tpch/), with its validation values, in SQLite's dialect.
TPCH = """\
SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice * (1 - l_discount)), avg(l_discount), count(*) FROM lineitem
WHERE l_shipdate <= '1998-09-02' GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus;
SELECT s_acctbal, s_name, n_name, p_partkey FROM part, supplier, partsupp, nation, region WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey
AND p_size = 15 AND p_type LIKE '%BRASS' AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE'
AND ps_supplycost = (SELECT min(ps_supplycost) FROM partsupp, supplier, nation, region WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey
AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE') ORDER BY s_acctbal DESC, n_name, s_name, p_partkey LIMIT 100;
SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate FROM customer, orders, lineitem WHERE c_mktsegment = 'BUILDING'
AND c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate < '1995-03-15' AND l_shipdate > '1995-03-15'
GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate LIMIT 10;
SELECT o_orderpriority, count(*) FROM orders WHERE o_orderdate >= '1993-07-01' AND o_orderdate < '1993-10-01'
AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate) GROUP BY o_orderpriority ORDER BY o_orderpriority;
SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue FROM customer, orders, lineitem, supplier, nation, region
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey
AND n_regionkey = r_regionkey AND r_name = 'ASIA' AND o_orderdate >= '1994-01-01' AND o_orderdate < '1995-01-01' GROUP BY n_name ORDER BY revenue DESC;
SELECT sum(l_extendedprice * l_discount) FROM lineitem WHERE l_shipdate >= '1994-01-01' AND l_shipdate < '1995-01-01'
AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24;
SELECT n1.n_name, n2.n_name, substr(l_shipdate, 1, 4) AS year, sum(l_extendedprice * (1 - l_discount)) FROM supplier, lineitem, orders, customer, nation n1, nation n2
WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey
AND ((n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY') OR (n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE'))
AND l_shipdate BETWEEN '1995-01-01' AND '1996-12-31' GROUP BY n1.n_name, n2.n_name, year ORDER BY n1.n_name, n2.n_name, year;
SELECT substr(o_orderdate, 1, 4) AS year, sum(CASE WHEN n2.n_name = 'BRAZIL' THEN l_extendedprice * (1 - l_discount) ELSE 0 END) / sum(l_extendedprice * (1 - l_discount))
FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey
AND o_custkey = c_custkey AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = 'AMERICA' AND s_nationkey = n2.n_nationkey
AND o_orderdate BETWEEN '1995-01-01' AND '1996-12-31' AND p_type = 'ECONOMY ANODIZED STEEL' GROUP BY year ORDER BY year;
SELECT n_name, substr(o_orderdate, 1, 4) AS year, sum(l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity) FROM part, supplier, lineitem, partsupp, orders, nation
WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey
AND p_name LIKE '%green%' GROUP BY n_name, year ORDER BY n_name, year DESC;
SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name FROM customer, orders, lineitem, nation
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= '1993-10-01' AND o_orderdate < '1994-01-01' AND l_returnflag = 'R'
AND c_nationkey = n_nationkey GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment ORDER BY revenue DESC LIMIT 20;
SELECT ps_partkey, sum(ps_supplycost * ps_availqty) AS value FROM partsupp, supplier, nation WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey
AND n_name = 'GERMANY' GROUP BY ps_partkey HAVING value > (SELECT sum(ps_supplycost * ps_availqty) * 0.0001 FROM partsupp, supplier, nation
WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY') ORDER BY value DESC;
SELECT l_shipmode, sum(o_orderpriority IN ('1-URGENT', '2-HIGH')), sum(o_orderpriority NOT IN ('1-URGENT', '2-HIGH')) FROM orders, lineitem
WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
AND l_receiptdate >= '1994-01-01' AND l_receiptdate < '1995-01-01' GROUP BY l_shipmode ORDER BY l_shipmode;
SELECT c_count, count(*) AS custdist FROM (SELECT c_custkey, count(o_orderkey) AS c_count FROM customer LEFT JOIN orders ON c_custkey = o_custkey
AND o_comment NOT LIKE '%special%requests%' GROUP BY c_custkey) GROUP BY c_count ORDER BY custdist DESC, c_count DESC;
SELECT 100.0 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END) / sum(l_extendedprice * (1 - l_discount))
FROM lineitem, part WHERE l_partkey = p_partkey AND l_shipdate >= '1995-09-01' AND l_shipdate < '1995-10-01';
WITH revenue(supplier_no, total) AS (SELECT l_suppkey, sum(l_extendedprice * (1 - l_discount)) FROM lineitem
WHERE l_shipdate >= '1996-01-01' AND l_shipdate < '1996-04-01' GROUP BY l_suppkey)
SELECT s_suppkey, s_name, total FROM supplier, revenue WHERE s_suppkey = supplier_no AND total = (SELECT max(total) FROM revenue) ORDER BY s_suppkey;
SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS n FROM partsupp, part WHERE p_partkey = ps_partkey AND p_brand <> 'Brand#45'
AND p_type NOT LIKE 'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9) AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier
WHERE s_comment LIKE '%Customer%Complaints%') GROUP BY p_brand, p_type, p_size ORDER BY n DESC, p_brand, p_type, p_size;
SELECT sum(l_extendedprice) / 7.0 FROM lineitem, part WHERE p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container = 'MED BOX'
AND l_quantity < (SELECT 0.2 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey);
SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) FROM customer, orders, lineitem WHERE o_orderkey IN
(SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 300) AND c_custkey = o_custkey AND o_orderkey = l_orderkey
GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice ORDER BY o_totalprice DESC, o_orderdate LIMIT 100;
SELECT sum(l_extendedprice * (1 - l_discount)) FROM lineitem, part WHERE p_partkey = l_partkey AND l_shipmode IN ('AIR', 'REG AIR')
AND l_shipinstruct = 'DELIVER IN PERSON' AND ((p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') AND l_quantity BETWEEN 1 AND 11 AND p_size BETWEEN 1 AND 5)
OR (p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') AND l_quantity BETWEEN 10 AND 20 AND p_size BETWEEN 1 AND 10)
OR (p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') AND l_quantity BETWEEN 20 AND 30 AND p_size BETWEEN 1 AND 15));
SELECT s_name, s_address FROM supplier, nation WHERE s_suppkey IN (SELECT ps_suppkey FROM partsupp WHERE ps_partkey IN
(SELECT p_partkey FROM part WHERE p_name LIKE 'forest%') AND ps_availqty > (SELECT 0.5 * sum(l_quantity) FROM lineitem WHERE l_partkey = ps_partkey
AND l_suppkey = ps_suppkey AND l_shipdate >= '1994-01-01' AND l_shipdate < '1995-01-01')) AND s_nationkey = n_nationkey AND n_name = 'CANADA' ORDER BY s_name;
SELECT s_name, count(*) AS numwait FROM supplier, lineitem l1, orders, nation WHERE s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey AND o_orderstatus = 'F'
AND l1.l_receiptdate > l1.l_commitdate AND EXISTS (SELECT * FROM lineitem l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey)
AND NOT EXISTS (SELECT * FROM lineitem l3 WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey AND l3.l_receiptdate > l3.l_commitdate)
AND s_nationkey = n_nationkey AND n_name = 'SAUDI ARABIA' GROUP BY s_name ORDER BY numwait DESC, s_name LIMIT 100;
SELECT substr(c_phone, 1, 2) AS code, count(*), sum(c_acctbal) FROM customer WHERE substr(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17')
AND c_acctbal > (SELECT avg(c_acctbal) FROM customer WHERE c_acctbal > 0.0 AND substr(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17'))
AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey) GROUP BY code ORDER BY code"""


# The library that counts instead of the shell, and the seconds after which a statement is given up.
LIBRARY, LIMIT = None, 600.0


def steps_in_library(database, sql):
    """Returns the steps of a statement, None after the limit, and the seconds that it took."""
    db, statement = ctypes.c_void_p(), ctypes.c_void_p()

    def check(code, *good):
        if code not in (0, *good):
            LIBRARY.sqlite3_errmsg.restype = ctypes.c_char_p
            sys.exit(f"{LIBRARY.sqlite3_errmsg(db).decode()}: {sql}")
        return code

    check(LIBRARY.sqlite3_open(str(database).encode(), ctypes.byref(db)))
    started = time.monotonic()
    is_late = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda _: time.monotonic() - started > LIMIT)
    LIBRARY.sqlite3_progress_handler(db, 1_000_000, is_late, None)
    check(LIBRARY.sqlite3_exec(db, b"BEGIN", None, None, None))
    check(LIBRARY.sqlite3_prepare_v2(db, sql.encode(), -1, ctypes.byref(statement), None))
    row, done, interrupted, vm_steps = 100, 101, 9, 4
    while (code := check(LIBRARY.sqlite3_step(statement), row, done, interrupted)) == row:
        pass
    seconds = time.monotonic() - started
    count = LIBRARY.sqlite3_stmt_status(statement, vm_steps, 0)
    LIBRARY.sqlite3_finalize(statement)
    LIBRARY.sqlite3_close(db)
    # SQLite counts with 32 bits.
    return count if code == done and count >= 0 else None, seconds


def steps(database, advice, statements, folder):
    """Returns the steps of each statement on a copy with advice and statistics, None for one that takes longer than the limit or 2³¹ steps, and the
    seconds of all together."""
    copy = folder / "copy.db"
    shutil.copy(database, copy)
    db = sqlite3.connect(copy)
    for sql in advice:
        db.execute(sql)
    db.execute("ANALYZE")
    db.commit()
    db.close()
    counted = LIBRARY and [steps_in_library(copy, sql) for sql in statements]
    if counted:
        copy.unlink()
        return [count for count, _ in counted], sum(seconds for _, seconds in counted)
    counts, seconds = [], 0.0
    for sql in statements:
        script = f".stats on\n.timer on\n.output /dev/null\nBEGIN;\n.output stdout\n{' '.join(sql.split())};\n.output /dev/null\nROLLBACK;\n"
        try:
            run = subprocess.run(["sqlite3", copy], input=script, capture_output=True, text=True, timeout=LIMIT)
            found = STEPS.findall(run.stdout)
            count = int(found[-1]) if found else sys.exit(f"no steps for {sql}: {run.stderr}")
            # The shell counts with 31 bits.
            counts.append(count if count >= 0 else None)
            seconds += max(map(float, TIME.findall(run.stdout)), default=0.0)
        except subprocess.TimeoutExpired:
            counts.append(None)
    copy.unlink()
    return counts, seconds


def of_expert(database, statements):
    """Returns the indexes that `.expert` advises, each once."""
    made = []
    for sql in statements:
        script = f".expert\n{' '.join(sql.split())};\n"
        answer = subprocess.run(["sqlite3", database], input=script, capture_output=True, text=True, check=False)
        made += re.findall(r"^(CREATE INDEX .*?;)", answer.stdout, re.M)
    return list(dict.fromkeys(made))


def of_pragmark(pragmark, database, statements, folder):
    """Returns the advice of `pragmark explain` for all statements together, and its seconds."""
    queries = folder / "queries.sql"
    queries.write_text("".join(f"-- name: q{number}\n{sql};\n" for number, sql in enumerate(statements, 1)))
    started = time.monotonic()
    answer = subprocess.run([pragmark, "explain", "--db", database, queries], capture_output=True, text=True, cwd=folder, check=False)
    if answer.returncode:
        sys.exit(f"explain ended with {answer.returncode}: {answer.stderr}")
    together = answer.stdout.split("statement  ")[0]
    return list(dict.fromkeys(MADE.findall(together))), time.monotonic() - started


def compare(name, pragmark, database, statements, folder):
    """Prints and returns the steps of a workload: without advice, with `.expert`'s and with pragmark's."""
    ours, seconds = of_pragmark(pragmark, database, statements, folder)
    theirs = of_expert(database, statements)
    judged = [steps(database, advice, statements, folder) for advice in ([], theirs, ours)]
    counts, seconds_of = [of for of, _ in judged], [seconds for _, seconds in judged]
    # A statement that one of them does not end in time is left out of all sums, and named.
    unended = [number + 1 for number in range(len(statements)) if any(of[number] is None for of in counts)]
    sums = [sum(count for number, count in enumerate(of, 1) if number not in unended) for of in counts]
    late = "".join(f"; q{number} over the limit: " + ", ".join(
        word for word, of in zip(["none", ".expert", "pragmark"], counts) if of[number - 1] is None) for number in unended)
    print(f"{name:12} {len(statements):3} statements: {sums[0]:>13,} steps, .expert {sums[1]:>13,} ({len(theirs)} indexes), "
          f"pragmark {sums[2]:>13,} ({len(ours)} changes, {seconds:.1f} s); "
          + ", ".join(f"{of:.3f} s" for of in seconds_of) + late, flush=True)
    return [*sums, *seconds_of]


def main():
    global LIBRARY, LIMIT
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pragmark", default="pragmark", type=lambda name: shutil.which(name) or sys.exit(f"{name} is no program"))
    parser.add_argument("--workloads", type=int, default=50)
    parser.add_argument("--first", type=int, default=0, help="seed of the first workload")
    parser.add_argument("--tpch", type=float, default=0.0, help="scale of TPC-H, 0 for none")
    parser.add_argument("--library", type=ctypes.CDLL, help="a library of SQLite that counts instead of the shell")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds after which a statement is given up")
    asked = parser.parse_args()
    LIBRARY, LIMIT = asked.library, asked.limit
    pragmark, all_sums = str(Path(asked.pragmark).resolve()), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for seed in range(asked.first, asked.first + asked.workloads):
            database = folder / f"{seed}.db"
            statements = workload(database, seed)
            all_sums.append(compare(f"workload {seed}", pragmark, database, statements, folder))
            database.unlink()
        if asked.tpch:
            database = folder / "tpch.db"
            all_sums.append(compare(f"tpc-h {asked.tpch}", pragmark, database, tpch(database, asked.tpch), folder))
    total = [sum(sums) for sums in zip(*all_sums)]
    worse = sum(ours > none for none, _, ours, *_ in all_sums)
    fewer = sum(ours < theirs for _, theirs, ours, *_ in all_sums)
    more = sum(ours > theirs for _, theirs, ours, *_ in all_sums)
    print(f"in all {total[0]:,} steps, with .expert's advice {total[1]:,}, with pragmark's {total[2]:,}; pragmark's costs more than none "
          f"in {worse}, fewer than .expert's in {fewer} and more in {more} of {len(all_sums)}; {total[3]:.2f} s, {total[4]:.2f} s and {total[5]:.2f} s")
    return int(worse > 0 or total[2] > total[1])


if __name__ == "__main__":
    sys.exit(main())
