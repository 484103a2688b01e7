"""The protocol between pragmark and a driver. Your own code is in work.py."""
import json, os, sqlite3, sys
from work import work

def describe(connection):
    version, source_id = connection.execute("SELECT sqlite_version(), sqlite_source_id()").fetchone()
    options = [row[0] for row in connection.execute("PRAGMA compile_options")]
    return {"name": "Python " + sys.version.split()[0], "version": version, "source_id": source_id,
            "compile_options": options, "defaults": {}}

def trial(spec):
    connection = sqlite3.connect(os.path.join(spec["directory"], "app.db"))
    for pragma in spec["binding"]["pragmas"]:
        connection.execute(pragma).fetchall()
    metrics, result = work(connection, spec["settings"])
    rows = {name: connection.execute(f"PRAGMA main.{name}").fetchone() for name in spec["binding"]["read_back"]}
    pragmas = {name: str(row[0]) for name, row in rows.items() if row}
    return {"measured": {"metrics": metrics, "engine": describe(connection), "binding": describe(connection),
            "checksum": result, "connections": [{"connection": "main", "pragmas": pragmas}]}}

if sys.argv[1:] == ["describe"]:
    print(json.dumps(describe(sqlite3.connect(":memory:"))))
else:
    print(json.dumps({"outcome": trial(json.load(sys.stdin))}))
