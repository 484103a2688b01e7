#!/usr/bin/env python3
"""Records a minute in the terminal from real runs: cast.py PRAGMARK FOLDER writes first-minute.cast and first-minute.svg.

The cast is in the asciinema format, version 2. The picture plays the same events in any browser, without scripts.
"""

import json
import os
import pty
import re
import select
import sqlite3
import subprocess
import sys
import tempfile
import time
from html import escape
from pathlib import Path

COLUMNS, ROWS = 100, 30
# Pauses in seconds: after a key, before a command starts, for its output to be read, and the longest that a run may stand still.
KEY, START, READ, STILL = 0.04, 0.4, 6.0, 1.0
QUERIES = """-- name: orders_of_customer
SELECT * FROM orders WHERE customer_id = :customer_id ORDER BY created_at;
-- name: new_order
INSERT INTO orders(customer_id, created_at) VALUES (:customer_id, :created_at);
"""
COMMANDS = [
    "pragmark inspect shop.db | head -n 20",
    "pragmark explain --db shop.db slow.sql | head -n 24",
    "pragmark tune queries.sql --db shop.db --time-limit 15s --out tuned | head -n 24",
]
STYLE = """
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #e6edf3; white-space: pre; visibility: hidden }
"""


def make_shop(folder):
    """A shop without the index that its orders need."""
    database = sqlite3.connect(folder / "shop.db")
    database.execute("CREATE TABLE orders(id INTEGER PRIMARY KEY, customer_id INTEGER, created_at TEXT)")
    rows = ((number * 7919 % 17_000, f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}") for number in range(50_000))
    database.executemany("INSERT INTO orders(customer_id, created_at) VALUES (?, ?)", rows)
    database.commit()
    database.close()
    (folder / "queries.sql").write_text(QUERIES)
    (folder / "slow.sql").write_text(QUERIES.split("-- name: new_order")[0])


def run(command, folder, environment):
    """The output of a command on a terminal: pairs of seconds and text."""
    master, terminal = pty.openpty()
    os.set_blocking(master, False)
    shell = ["bash", "-o", "pipefail", "-c", command]
    child = subprocess.Popen(shell, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal)
    os.close(terminal)
    start, events = time.monotonic(), []
    while True:
        select.select([master], [], [])
        try:
            data = os.read(master, 65_536)
        except OSError:
            data = b""
        if not data:
            break
        events.append((time.monotonic() - start, data))
    # `head` ends the pipe, which ends a program that still writes.
    if child.wait() not in (0, 141):
        sys.exit(f"{command}: exit code {child.returncode}")
    return events


def record(pragmark, folder):
    """All events of the cast: seconds from its beginning, and text."""
    own = {name: str(folder / name) for name in ("PRAGMARK_CACHE", "XDG_DATA_HOME")}
    size = {"COLUMNS": str(COLUMNS), "LINES": str(ROWS), "TERM": "xterm-256color"}
    environment = {**os.environ, **own, **size, "PATH": f"{folder}:{os.environ['PATH']}"}
    (folder / "pragmark").symlink_to(pragmark)
    events, now = [], 0.5
    for command in COMMANDS:
        events.append((now, "\x1b[H\x1b[2J$ "))
        for key in command:
            now += KEY
            events.append((now, key))
        now += START
        events.append((now, "\r\n"))
        last, pending = 0.0, b""
        for at, data in run(command, folder, environment):
            now += min(at - last, STILL)
            last, pending = at, pending + data
            text = pending.decode("utf-8", "ignore")
            pending = pending[len(text.encode()) :]
            events.append((now, text))
        now += READ
    events.append((now, ""))
    return events


class Screen:
    """The lines of a terminal after the sequences that pragmark's progress uses; colours are left out."""

    TOKEN = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")

    def __init__(self):
        self.lines, self.row, self.column = [""], 0, 0

    def feed(self, text):
        for numbers, code, control, words in self.TOKEN.findall(text):
            if control == "\n":
                self.row += 1
                self.lines += [""] * (self.row + 1 - len(self.lines))
            elif control == "\r":
                self.column = 0
            elif words:
                self.write(words)
            elif code == "J":
                self.lines, self.row, self.column = [""], 0, 0
            elif code == "K":
                self.lines[self.row] = "" if numbers == "2" else self.lines[self.row][: self.column]
            elif code == "A":
                self.row = max(self.row - int(numbers or 1), 0)

    def write(self, words):
        while words:
            room = COLUMNS - self.column
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + words[:room] + line[self.column + len(words[:room]) :]
            self.column += len(words[:room])
            words = words[room:]
            if words:
                self.feed("\r\n")

    def visible(self):
        return [line.rstrip() for line in self.lines[-ROWS:]]


def draw(events):
    """The picture: each line of the screen as a text that is visible from one moment to another."""
    screen, shown, texts = Screen(), [None] * ROWS, []
    for at, text in [*events, (events[-1][0], "\x1b[2J")]:
        screen.feed(text)
        lines = screen.visible()
        for row, line in enumerate(lines + [""] * (ROWS - len(lines))):
            before = shown[row]
            if before and before[0] == line:
                continue
            if before and before[0] and at - before[1] > 0.01:
                texts.append((row, *before, at))
            shown[row] = (line, at)
    width, height = COLUMNS * 8.45 + 32, ROWS * 19 + 24
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img">', f"<style>{STYLE}</style>"]
    out.append("<title>pragmark inspects a database, explains a slow query and tunes settings</title>")
    out.append(f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#0d1117">')
    out.append(f'<animate id="t" attributeName="opacity" from="1" to="1" begin="0;t.end" dur="{events[-1][0]:.2f}s"/></rect>')
    for row, line, begin, end in texts:
        shows = f'<set attributeName="visibility" to="visible" begin="t.begin+{begin:.2f}s" dur="{end - begin:.2f}s"/>'
        out.append(f'<text x="16" y="{28 + 19 * row}">{escape(line)}{shows}</text>')
    return "\n".join([*out, "</svg>\n"])


def main():
    pragmark, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        make_shop(Path(name))
        events = record(pragmark, Path(name))
    header = {"version": 2, "width": COLUMNS, "height": ROWS, "title": "A minute of pragmark"}
    cast = [json.dumps(header), *(json.dumps([round(at, 3), "o", text]) for at, text in events)]
    (out / "first-minute.cast").write_text("\n".join(cast) + "\n")
    (out / "first-minute.svg").write_text(draw(events))


if __name__ == "__main__":
    main()
