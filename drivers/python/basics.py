"""The workload binding-basics: the same work in every binding.

crates/bench/src/workload/binding_basics.rs contains it for pragmark's own binding, with the reasons.
"""

import resource
import time

MODULUS = 2_147_483_647
MULTIPLIER = 48_271
STRIDE = 7_919
BATCH = 50
WIDTH = 1_000
STATEMENTS = 13

COLUMNS = "(id INTEGER PRIMARY KEY, number INTEGER NOT NULL, name TEXT NOT NULL, price REAL NOT NULL)"
TASKS = (
    "CREATE TABLE tasks(id VARCHAR(16) NOT NULL PRIMARY KEY, status VARCHAR(16) NOT NULL, "
    "cmd VARCHAR(16) NOT NULL, args TEXT NOT NULL, output TEXT)"
)


class WrongResult(Exception):
    pass


def expect(what, found, wanted):
    if found != wanted:
        raise WrongResult(f"{what} is {found} instead of {wanted}")


class Basics:
    def __init__(self, binding, connection, settings, seed):
        self.binding, self.connection = binding, connection
        start = seed % MODULUS
        count = settings["rows"]
        self.data = [self.row(key, (key * MULTIPLIER + start) % MODULUS) for key in range(1, count + 1)]
        self.width = min(count, WIDTH)

        def spread(number, choices):
            return (number * STRIDE + start) % choices + 1

        self.keys = [(spread(number, count),) for number in range(settings["reads"])]
        starts = [spread(number, count - self.width + 1) for number in range(settings["scans"])]
        self.ranges = [(first, first + self.width) for first in starts]
        self.tasks = [f"task-{number:08}" for number in range(settings["tasks"])]

    @staticmethod
    def row(key, number):
        return (key, number, f"item {number % 1_000_000}", number % 10_000 / 4)

    def run(self, phase):
        for table in ("single", "reused", "batch"):
            self.execute(f"CREATE TABLE {table}{COLUMNS}")
        self.execute(TASKS)
        self.execute("CREATE INDEX tasks_status ON tasks(status)")
        parts = {
            "insert-single": self.insert_single,
            "insert-reused": self.insert_reused,
            "insert-batch": self.insert_batch,
            "point-read": self.point_read,
            "range-scan": self.range_scan,
            "task-statement": self.live,
        }
        metrics = {"seconds": 0.0, "cpu_user_s": 0.0, "cpu_system_s": 0.0}
        for part, work in parts.items():
            phase(part)
            before = resource.getrusage(resource.RUSAGE_SELF)
            begin = time.perf_counter_ns()
            rows = work()
            elapsed = max(time.perf_counter_ns() - begin, 1)
            after = resource.getrusage(resource.RUSAGE_SELF)
            metrics[f"seconds.{part}"] = elapsed / 1e9
            metrics[f"ns_per_row.{part}"] = elapsed / rows
            metrics["seconds"] += elapsed / 1e9
            metrics["cpu_user_s"] += after.ru_utime - before.ru_utime
            metrics["cpu_system_s"] += after.ru_stime - before.ru_stime
        phase("verify")
        self.verify()
        return metrics

    def execute(self, sql, values=()):
        self.binding.execute(self.connection, sql, values)

    def insert_single(self):
        execute = self.execute
        execute("BEGIN")
        for row in self.data:
            execute("INSERT INTO single VALUES (?, ?, ?, ?)", row)
        execute("COMMIT")
        return len(self.data)

    def insert_reused(self):
        self.execute("BEGIN")
        self.binding.many(self.connection, "INSERT INTO reused VALUES (?, ?, ?, ?)", self.data)
        self.execute("COMMIT")
        return len(self.data)

    def insert_batch(self):
        sql = "INSERT INTO batch VALUES " + ", ".join(["(?, ?, ?, ?)"] * BATCH)
        self.execute("BEGIN")
        for first in range(0, len(self.data), BATCH):
            self.execute(sql, [value for row in self.data[first : first + BATCH] for value in row])
        self.execute("COMMIT")
        return len(self.data)

    def point_read(self):
        sql = "SELECT number, name, price FROM reused WHERE id = ?"
        self.read = self.sums(
            row for key in self.keys for row in self.binding.rows(self.connection, sql, key)
        )
        return len(self.keys)

    def range_scan(self):
        sql = "SELECT id, number, name, price FROM reused WHERE id >= ? AND id < ?"
        self.scanned = self.sums(
            (number, name, price)
            for bounds in self.ranges
            for _, number, name, price in self.binding.rows(self.connection, sql, bounds)
        )
        return len(self.ranges) * self.width

    def live(self):
        execute = self.execute
        before = self.changes()
        for task in self.tasks:
            execute(
                "INSERT INTO tasks(id, status, cmd, args) VALUES (?, 'pending', 'example', ?)",
                (task, '["a","b","c"]'),
            )
            execute("UPDATE tasks SET status = 'processing' WHERE id = ?", (task,))
            for line in range(10):
                execute(
                    "UPDATE tasks SET output = ? WHERE id = ?",
                    (f"line {line} of some kind of output", task),
                )
            execute("DELETE FROM tasks WHERE id = ?", (task,))
        self.changed = self.changes() - before
        return len(self.tasks) * STATEMENTS

    def changes(self):
        return self.binding.column(self.connection, "SELECT total_changes()")[0]

    @staticmethod
    def sums(rows):
        """The sums of rows: count, numbers, characters of names, prices in quarters."""
        count = numbers = characters = quarters = 0
        for number, name, price in rows:
            count += 1
            numbers += number
            characters += len(name)
            quarters += int(price * 4)
        return (count, numbers, characters, quarters)

    def wanted(self):
        """The sums of all rows, of those read by key and of those scanned."""
        keys = [key - 1 for (key,) in self.keys]
        scanned = [place - 1 for first, end in self.ranges for place in range(first, end)]
        return [
            self.sums(row[1:] for row in self.data),
            self.sums(self.data[place][1:] for place in keys),
            self.sums(self.data[place][1:] for place in scanned),
        ]

    def verify(self):
        rows, read, scanned = self.wanted()
        for table in ("single", "reused", "batch"):
            sql = (
                "SELECT count(*), sum(number), sum(length(name)), CAST(sum(price) * 4 AS INTEGER) "
                f"FROM {table}"
            )
            found = tuple(list(self.binding.rows(self.connection, sql, ()))[0])
            expect(f"what the table {table} adds up to", found, rows)
        expect("what point reads add up to", self.read, read)
        expect("what range scans add up to", self.scanned, scanned)
        expect("the rows changed by tasks", self.changed, len(self.tasks) * STATEMENTS)
        left = self.binding.column(self.connection, "SELECT count(*) FROM tasks")[0]
        expect("the tasks left", left, 0)

    def checksum(self):
        return " ".join("/".join(str(value) for value in sums) for sums in self.wanted())
