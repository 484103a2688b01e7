"""Drives SQLite through a binding of Python: one trial, as docs/protocol.md describes it.

Usage: driver.py sqlite3|apsw|sqlalchemy            a specification on standard input
       driver.py sqlite3|apsw|sqlalchemy describe   describes the binding

The work is in basics.py; bindings.py holds what differs between the bindings.
"""

import json
import os
import sys

PROTOCOL = 1


def say(message):
    print(json.dumps(message), flush=True)


def skipped(why):
    return {"outcome": {"skipped": {"why": why}}}


def main():
    try:
        from bindings import BINDINGS

        binding = BINDINGS[sys.argv[1]]()
    except ImportError as error:
        why = f"{error}; install it with `pragmark driver install python-{sys.argv[1]}`"
        if sys.argv[2:] == ["describe"]:
            sys.exit(why)
        return say(skipped(why))
    if sys.argv[2:] == ["describe"]:
        return say(describe(binding))
    spec = json.load(sys.stdin)
    if spec["protocol"] != PROTOCOL:
        return say(skipped(f"this driver supports version {PROTOCOL} of the protocol"))
    if spec["workload"] != "binding-basics":
        return say(skipped(f"this driver does not support the workload {spec['workload']}"))
    say(trial(binding, spec))


def describe(binding):
    connection = binding.open(":memory:")
    names = ["busy_timeout", "foreign_keys", "journal_mode", "synchronous"]
    version, source_id = binding.identity(connection)
    return {
        "name": binding.name,
        "version": version,
        "source_id": source_id,
        "compile_options": binding.column(connection, "PRAGMA compile_options"),
        "defaults": read_back(binding, connection, names),
    }


def trial(binding, spec):
    from basics import Basics, WrongResult

    wanted = spec["binding"]
    fresh = binding.open(os.path.join(spec["directory"], "defaults.db"))
    defaults = read_back(binding, fresh, wanted["read_back"])
    binding.close(fresh)
    connection = binding.open(os.path.join(spec["directory"], "test.db"))
    for pragma in wanted["pragmas"]:
        binding.column(connection, pragma)
    work = Basics(binding, connection, spec["settings"], spec["seed"])
    try:
        metrics = work.run(lambda phase: say({"phase": phase}))
    except WrongResult as wrong:
        return {"outcome": {"failed": {"why": f"wrong result: {wrong}"}}}
    version, source_id = binding.identity(connection)
    measured = {
        "metrics": metrics,
        "engine": {"version": version, "source_id": source_id},
        "connections": [
            {
                "connection": "main",
                "pragmas": read_back(binding, connection, wanted["read_back"]),
            }
        ],
        "binding": {
            "name": binding.name,
            "compile_options": binding.column(connection, "PRAGMA compile_options"),
            "defaults": defaults,
        },
        "checksum": work.checksum(),
    }
    binding.close(connection)
    return {"outcome": {"measured": measured}}


def read_back(binding, connection, names):
    """The PRAGMAs of a connection as SQLite answers them; those without an answer are left out."""
    # Before a connection reads its file, it answers with requested values, not actual ones.
    binding.column(connection, "PRAGMA schema_version")
    answers = {name: binding.column(connection, f"PRAGMA main.{name}") for name in names}
    return {name: str(rows[0]) for name, rows in answers.items() if rows}


if __name__ == "__main__":
    main()
