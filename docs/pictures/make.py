#!/usr/bin/env python3
"""Draws the picture of the README from real runs: make.py PRAGMARK FOLDER > docs/pictures/first-answer.svg

FOLDER holds `shop.db`, `my_orders.sql` with one slow query, and `queries.sql` with several. The left side is what `pragmark explain`
prints, the right side the time of each writing statement with the current settings and with those that `pragmark tune` recommends.
"""

import json
import subprocess
import sys
from html import escape
from pathlib import Path

STYLE = """
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328; white-space: pre }
.dim { fill: #59636e } .head { font-weight: bold } .good { fill: #1a7f37 } .bad { fill: #cf222e }
.back { fill: #f6f8fa; stroke: #d1d9e0 } .now { fill: #afb8c1 } .then { fill: #2da44e } .end { stroke: #1f2328 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .dim { fill: #9198a1 } .good { fill: #3fb950 } .bad { fill: #ff7b72 }
  .back { fill: #151b23; stroke: #3d444d } .now { fill: #6e7681 } .then { fill: #2ea043 } .end { stroke: #e6edf3 }
}
"""


def terminal(pragmark, folder):
    """The command with what helps and the plan of its answer."""
    command = ["explain", "--db", "shop.db", "my_orders.sql"]
    answer = subprocess.run([pragmark, *command], cwd=folder, capture_output=True, text=True, check=True).stdout
    helps = answer.split("What helps\n")[1].split("\n──")[0].rstrip()
    plan = answer[answer.index("\nplan  ") :].strip().split("\n\n")[0]
    return ["$ pragmark " + " ".join(command), "", *helps.split("\n"), "", *plan.split("\n")]


def writes(pragmark, folder):
    """The statements that `tune` makes faster: name, time now, time then, the interval of the ratio."""
    run = ["tune", "queries.sql", "--db", "shop.db", "--time-limit", "1m", "--out", "picture-run"]
    if not (Path(folder) / "picture-run").exists():
        subprocess.run([pragmark, *run], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    report = [pragmark, "report", "picture-run", "--format", "json"]
    analysis = json.loads(subprocess.run(report, cwd=folder, capture_output=True, text=True, check=True).stdout)
    variants = analysis["experiments"][0]["variants"]
    wanted = analysis["tuning"]["recommended"]
    now = next(variant for variant in variants if variant["baseline"])
    then = next(variant for variant in variants if all(variant["levels"].get(name) == level for name, level in wanted.items()))
    of = lambda variant, name: variant["summaries"][f"p50_us.{name}"]
    names = [name.removeprefix("p50_us.") for name in now["summaries"] if name.startswith("p50_us.")]
    rows = [(name, of(now, name)["median"], of(then, name)["median"]) for name in names if f"p50_us.{name}" in then["summaries"]]
    label = then.get("name") or then["label"]
    return label, sorted((row for row in rows if row[2] < 0.8 * row[1]), key=lambda row: row[2] / row[1])[:3]


def main():
    pragmark, folder = str(Path(sys.argv[1]).resolve()), sys.argv[2]
    lines = terminal(pragmark, folder)
    label, rows = writes(pragmark, folder)
    width, height = 1180, 40 + 18 * max(len(lines), 3 * len(rows) + 3)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">', f"<style>{STYLE}</style>"]
    out.append("<title>pragmark explain names an index for a slow query; pragmark tune measures settings</title>")
    out.append(f'<rect class="back" x="1" y="1" width="{width - 2}" height="{height - 2}" rx="8"/>')
    for number, line in enumerate(lines):
        kind = "head" if number == 0 else "good" if line.strip().endswith(";") else "bad" if line.startswith("–") else ""
        out.append(f'<text class="{kind}" x="16" y="{28 + 18 * number}">{escape(line)}</text>')
    left, most = 860, max((row[1] for row in rows), default=1)
    out.append(f'<text class="head" x="{left}" y="28">$ pragmark tune queries.sql</text>')
    out.append(f'<text class="dim" x="{left}" y="64">median now, and with {escape(label.split()[0])}</text>')
    scale = 230 / most
    for number, (name, now, then) in enumerate(rows):
        top = 102 + 50 * number
        out.append(f'<rect class="now" x="{left}" y="{top}" width="{scale * now:.1f}" height="12"/>')
        out.append(f'<rect class="then" x="{left}" y="{top + 13}" width="{max(scale * then, 2):.1f}" height="12"/>')
        words = f"{name} {now / 1000:.2g} → {then / 1000:.2g} ms"
        out.append(f'<text x="{left}" y="{top - 6}">{escape(words)}</text>')
    print("\n".join([*out, "</svg>"]))


if __name__ == "__main__":
    main()
