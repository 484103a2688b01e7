"""Measures your own code. Replace `work`; the rest is the protocol between pragmark and a driver."""
import json, os, sqlite3, sys, time

def work(connection, settings, latencies):
    for number in range(settings["orders"]):
        start = time.perf_counter()
        with connection:
            connection.execute("INSERT INTO orders(customer, cents) VALUES (?, ?)", (number % 100, number))
        latencies.append(time.perf_counter() - start)

def describe(connection):
    version, source_id = connection.execute("SELECT sqlite_version(), sqlite_source_id()").fetchone()
    options = [row[0] for row in connection.execute("PRAGMA compile_options")]
    return {"name": "Python " + sys.version.split()[0], "version": version, "source_id": source_id,
            "compile_options": options, "defaults": {}}

def trial(spec):
    connection = sqlite3.connect(os.path.join(spec["directory"], "app.db"))
    for pragma in spec["binding"]["pragmas"]:
        connection.execute(pragma).fetchall()
    connection.execute("CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, cents INTEGER)")
    latencies, start = [], time.perf_counter()
    work(connection, spec["settings"], latencies)
    seconds = time.perf_counter() - start
    result = connection.execute("SELECT count(*), sum(customer), sum(cents) FROM orders").fetchone()
    if result[0] != spec["settings"]["orders"]:
        return {"failed": {"why": f"{result[0]} orders were stored"}}
    rows = {name: connection.execute(f"PRAGMA main.{name}").fetchone() for name in spec["binding"]["read_back"]}
    metrics = {"orders_per_s": result[0] / seconds, "seconds": seconds,
               "p50_us": sorted(latencies)[len(latencies) // 2] * 1e6}
    return {"measured": {"metrics": metrics, "engine": describe(connection), "binding": describe(connection),
            "checksum": str(result), "connections": [{"connection": "main", "pragmas":
            {name: str(row[0]) for name, row in rows.items() if row}}]}}

if sys.argv[1:] == ["describe"]:
    print(json.dumps(describe(sqlite3.connect(":memory:"))))
else:
    print(json.dumps({"outcome": trial(json.load(sys.stdin))}))
