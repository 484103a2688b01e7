#!/usr/bin/env python3
"""Whether replays end as their recordings did, and how long both take.

    replay.py PRAGMARK RECORDINGS REPLAYS [SETTINGS]

Records a program of four processes with about 20,000 statements (key look-ups, full-text search, transactions whose writes
depend on what they read, rollbacks, errors) so many times, and replays each recording in order so many times. A replay is equal if
`.sha3sum` of the sqlite3 shell gives the same for its database and for the program's. SETTINGS are those of the trials as
JSON, such as '{"journal_mode": "wal"}'.
"""
import json, multiprocessing, os, random, sqlite3, statistics, subprocess, sys, tempfile

STATEMENTS = 3000


def work(seed):
    r = random.Random(seed)
    c = sqlite3.connect("app.db", timeout=60, isolation_level=None)
    c.execute("PRAGMA synchronous = NORMAL")
    for i in range(STATEMENTS):
        kind, key = r.randrange(20), r.randrange(1000)
        if kind < 8:
            c.execute("SELECT name, balance FROM accounts WHERE id = ?", (key,)).fetchone()
            c.execute("SELECT count(*) FROM log WHERE account = ?", (key,)).fetchall()
        elif kind < 11:
            c.execute("BEGIN IMMEDIATE")
            balance, = c.execute("SELECT balance FROM accounts WHERE id = ?", (key,)).fetchone()
            c.execute("UPDATE accounts SET balance = ? WHERE id = ?", (balance - 1, key))
            c.execute("INSERT INTO log(account, what) SELECT ?, 'most ' || max(balance) FROM accounts", (key,))
            c.execute("ROLLBACK" if r.random() < 0.1 else "COMMIT")
        elif kind < 13:
            words = " ".join(r.choice(["red", "green", "blue", "cyan"]) for _ in range(8))
            c.execute("INSERT INTO notes VALUES (?)", (words,))
        elif kind < 15:
            c.execute("SELECT rowid FROM notes WHERE notes MATCH 'red' LIMIT 5").fetchall()
        elif kind < 16:
            try:
                c.execute("INSERT INTO accounts(id, name) VALUES (?, 'x')", (key,))
            except sqlite3.IntegrityError:
                pass
        else:
            c.execute("UPDATE accounts SET balance = balance + 1 WHERE id = ?", (key,))
    c.close()


def program():
    c = sqlite3.connect("app.db", isolation_level=None)
    c.execute("PRAGMA journal_mode = WAL").fetchall()
    c.execute("CREATE TABLE accounts(id INTEGER PRIMARY KEY, name TEXT, balance INTEGER)")
    c.execute("CREATE TABLE log(id INTEGER PRIMARY KEY AUTOINCREMENT, account INTEGER, what TEXT)")
    c.execute("CREATE INDEX log_account ON log(account)")
    c.execute("CREATE VIRTUAL TABLE notes USING fts5(body)")
    c.execute("BEGIN")
    c.executemany("INSERT INTO accounts VALUES (?, ?, 100)", [(k, f"account {k}") for k in range(1000)])
    c.execute("COMMIT")
    c.close()
    workers = [multiprocessing.Process(target=work, args=(os.getpid() + n,)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def sha3(database):
    """What the sqlite3 shell says of a copy: looking at a database may change its log."""
    return subprocess.run(["sqlite3", database, ".sha3sum"], check=True, capture_output=True, text=True).stdout


def replay(pragmark, trace, directory, settings):
    """The figures of one trial, whose database remains in the directory."""
    spec = {
        "protocol": 1,
        "workload": "replay",
        "settings": {"trace": trace, **settings},
        "engine": "default",
        "directory": directory,
        "seed": 1,
    }
    out = subprocess.run([pragmark, "trial"], input=json.dumps(spec), capture_output=True, text=True, check=True).stdout
    outcome = json.loads(out.splitlines()[-1])["outcome"]
    if "measured" not in outcome:
        sys.exit(f"not measured: {outcome}")
    return outcome["measured"]["metrics"]


def main():
    pragmark, recordings, replays = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    settings = json.loads(sys.argv[4]) if len(sys.argv) > 4 else {}
    equal, agreement, ratios, seconds, recorded, statements = 0, [], [], [], [], []
    for _ in range(recordings):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, os.path.abspath(__file__), "--program"]
            said = subprocess.run(
                [pragmark, "record", "--out", "app.trace", "--", *command],
                cwd=folder, check=True, capture_output=True, text=True,
            ).stderr
            statements.append(int(said.split(": ")[1].split(" ")[0].replace(",", "")))
            wanted = sha3(os.path.join(folder, "app.db"))
            for number in range(replays):
                directory = os.path.join(folder, f"replay-{number}")
                os.mkdir(directory)
                metrics = replay(pragmark, os.path.join(folder, "app.trace"), directory, settings)
                equal += sha3(os.path.join(directory, "test-1.db")) == wanted
                agreement.append(metrics["agreement_percent"])
                seconds.append(metrics["seconds"])
                recorded.append(metrics["recorded_s"])
                ratios.append(metrics["seconds"] / metrics["recorded_s"])
    print(
        f"{equal} of {len(ratios)} replays equal; {min(statements)} to {max(statements)} statements; "
        f"agreement at least {min(agreement):.2f} %; recorded in {statistics.median(recorded):.2f} s, "
        f"replayed in {statistics.median(seconds):.2f} s (medians); "
        f"replay / recording: median {statistics.median(ratios):.2f}, most {max(ratios):.2f}, "
        f"at most 1 in {sum(ratio <= 1 for ratio in ratios)} of {len(ratios)}"
    )


if sys.argv[1] == "--program":
    program()
else:
    main()
