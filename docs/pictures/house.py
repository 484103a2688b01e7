#!/usr/bin/env python3
"""Draws the crates and their dependencies, as `cargo metadata` has them: house.py [--check].

A crate stands above those that it depends on. Dependencies that follow from others are left out. With --check nothing is written, and
it fails if the picture would change.
"""
import json
import os
import subprocess
import sys
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
PICTURE = HERE / "house.svg"
GROUPS = [
    ("commands and answers", "people", ["pragmark", "app", "report"]),
    ("plans and judges, no I/O", "judges", ["lab", "tuning", "script"]),
    ("works with SQLite", "sqlite", ["engine", "bench", "crash", "explain", "load", "python", "trace", "recorder", "values", "columns"]),
    ("processes and machines", "runs", ["runner", "fleet", "drivers", "process"]),
]
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .name { font-weight: 600; text-anchor: middle }
.back { fill: #fff; stroke: none } path { fill: none; stroke: #8c959f; stroke-width: 1.3 } rect { stroke: #57606a; stroke-width: 0.8 }
.people { fill: #ddf4ff } .judges { fill: #dafbe1 } .sqlite { fill: #fff8c5 } .runs { fill: #fbefff }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .back { fill: #0d1117; stroke: none } path { stroke: #6e7681 } rect { stroke: #8b949e }
  .people { fill: #0c2d4d } .judges { fill: #0f3a1d } .sqlite { fill: #453208 } .runs { fill: #33204d }
}
"""
WIDTH, ROW, BOX, HEIGHT = 860, 82, 96, 34


def crates():
    """Each crate of the product with those that it depends on."""
    command = [os.environ.get("CARGO", "cargo"), "metadata", "--no-deps", "--offline", "--format-version", "1"]
    metadata = json.loads(subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True).stdout)
    product = [package for package in metadata["packages"] if "/crates/" in package["manifest_path"]]
    short = {package["name"]: package["name"].removeprefix("pragmark-") for package in product}
    direct = lambda package: {short[it["name"]] for it in package["dependencies"] if it["kind"] is None and it["name"] in short}
    return {short[package["name"]]: direct(package) for package in product}


def reduced(needs):
    """The dependencies that do not follow from others."""
    every = {}

    def closure(name):
        if name not in every:
            every[name] = set().union(*({other} | closure(other) for other in needs[name]))
        return every[name]

    for name in needs:
        closure(name)
    return {name: {other for other in needs[name] if not any(other in every[via] for via in needs[name])} for name in needs}


def layers(needs):
    """Rows from the top: each crate one row above the highest that it needs."""
    heights = {}

    def height(name):
        if name not in heights:
            heights[name] = 1 + max((height(other) for other in needs[name]), default=-1)
        return heights[name]

    rows = {}
    for name in sorted(needs):
        rows.setdefault(height(name), []).append(name)
    return [rows[level] for level in sorted(rows, reverse=True)]


def placed(rows, needs):
    """The centre of each box: crates stand near those that need them."""
    above = {name: [other for other in needs if name in needs[other]] for name in needs}
    places = {}
    for number, row in enumerate(rows):
        wish = lambda name: sum(places[other][0] for other in above[name]) / len(above[name]) if above[name] else WIDTH / 2
        for index, name in enumerate(sorted(row, key=lambda name: (wish(name), name))):
            places[name] = (WIDTH * (index + 0.5) / len(row), 20 + HEIGHT / 2 + number * ROW)
    return places


def drawn():
    needs = reduced(crates())
    rows = layers(needs)
    places = placed(rows, needs)
    kind = {name: group for _, group, names in GROUPS for name in names}
    bottom = 20 + len(rows) * ROW
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 40}" role="img">', f"<style>{STYLE}</style>"]
    sentences = "; ".join(f"{name} needs {', '.join(sorted(needs[name]))}" for name in sorted(needs) if needs[name])
    out.append(f"<title>The crates of pragmark and their dependencies</title><desc>{escape(sentences)}</desc>")
    out.append(f'<rect class="back" width="{WIDTH}" height="{bottom + 40}"/>')
    for name in sorted(needs):
        x, y = places[name]
        for other in sorted(needs[name]):
            to, down = places[other]
            middle = (y + down) / 2
            start, end = y + HEIGHT / 2, down - HEIGHT / 2
            out.append(f'<path d="M{x:.0f} {start:.0f}C{x:.0f} {middle:.0f} {to:.0f} {middle:.0f} {to:.0f} {end:.0f}"/>')
    for name in sorted(needs):
        x, y = places[name]
        out.append(f'<rect class="{kind[name]}" x="{x - BOX / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{BOX}" height="{HEIGHT}" rx="6"/>')
        out.append(f'<text class="name" x="{x:.0f}" y="{y + 5:.0f}">{name}</text>')
    for index, (text, group, _) in enumerate(GROUPS):
        x = 16 + index * (WIDTH - 16) / len(GROUPS)
        out.append(f'<rect class="{group}" x="{x:.0f}" y="{bottom + 10}" width="14" height="14" rx="3"/>')
        out.append(f'<text x="{x + 20:.0f}" y="{bottom + 22}" style="font-size:12px">{escape(text)}</text>')
    return "\n".join([*out, "</svg>", ""])


def main():
    picture = drawn()
    if "--check" not in sys.argv:
        PICTURE.write_text(picture, encoding="utf-8")
    elif not PICTURE.exists() or PICTURE.read_text(encoding="utf-8") != picture:
        sys.exit("house.svg would change: run docs/pictures/house.py")


main()
