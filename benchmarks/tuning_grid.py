"""How far what `pragmark tune` recommends is from the best of all combinations of a small space.

    python3 benchmarks/tuning_grid.py PRAGMARK FOLDER TIME -- WORKLOAD [options of tune]

`tune` searches for TIME, unless FOLDER has such a search; settings given with `--set` make the space small. Then all combinations that the search could
have tried are measured against the recommendation, in rounds for TIME again. The best combination is chosen by one half of
the rounds and compared by the other half, since the best of many is fast by luck as well.
"""

import itertools
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tomllib

# More combinations than this are no small space.
MOST = 200


def main():
    program, folder, time, separator, *options = sys.argv[1:]
    if separator != "--":
        sys.exit(__doc__)
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    search, grid = folder / "search", folder / "grid"
    if not (search / "tuned.toml").exists():
        run(program, "tune", *options, "--time-limit", time, "--out", search)
    plan = json.loads((search / "run.json").read_text())
    space = plan["experiments"][0]["tuning"]["space"]
    experiment = tomllib.loads((search / "tuned.toml").read_text())
    combinations = admissible(space)
    recommended = whole(recommendation(experiment), combinations)
    print(f"{len(combinations)} combinations; recommended: {recommended}", flush=True)
    if len(combinations) > MOST:
        sys.exit(f"too many for a grid ({MOST}): give settings with --set")
    others = [it for it in combinations if it != recommended]
    experiment["id"] = "grid"
    experiment.pop("variants", None)
    experiment["design"].update(baseline=recommended, variants=others)
    text = folder / "grid.toml"
    text.write_text(toml(experiment))
    run(program, "run", text, "--time-limit", time, "--no-tiers", "--out", grid)
    judge(grid, experiment["metric"], recommended)


def run(*command):
    subprocess.run([str(it) for it in command], check=True, stdout=subprocess.DEVNULL)


def recommendation(experiment):
    """The variant that is neither the current settings nor SQLite's defaults; otherwise the current settings."""
    named = [it["levels"] for it in experiment.get("variants", [])]
    others = [it for it in experiment["design"].get("variants", []) if it not in named]
    return others[0] if others else experiment["design"]["baseline"]


def admissible(space):
    """The settings of every combination that a search may try, each once."""
    factors = space["factors"]
    seen = []
    for levels in itertools.product(*(range(len(it["levels"])) for it in factors)):
        if any(all(levels[f] == l for f, l in it["levels"]) for it in space.get("excluded", [])):
            continue
        settings = {}
        for factor, level in zip(factors, levels):
            gate = factor.get("gate")
            # A variant that leaves out a setting would get the recommendation's.
            if gate is None or levels[gate["factor"]] in gate["levels"]:
                settings[factor["name"]] = factor["levels"][level]
        if settings not in seen:
            seen.append(settings)
    return seen


def whole(recommended, combinations):
    """The combination that a recommendation means, which does not name settings that stay as they are."""
    named = [it for it in combinations if recommended.items() <= it.items()]
    return named[0]


def toml(value):
    """An experiment as TOML: tables within tables as inline tables."""
    lines = [f"{key} = {inline(it)}" for key, it in value.items() if not isinstance(it, dict)]
    for key, table in value.items():
        if isinstance(table, dict):
            lines.append(f"\n[{key}]")
            lines += [f"{name} = {inline(it)}" for name, it in table.items()]
    return "\n".join(lines) + "\n"


def inline(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {inline(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(inline(it) for it in value) + "]"
    return json.dumps(value)


def judge(grid, metric, recommended):
    """Prints how many times as good the best combination is."""
    rounds = {}
    label = " ".join(f"{key}={text(it)}" for key, it in sorted(recommended.items()))
    for line in (grid / "outcomes.jsonl").read_text().splitlines():
        trial = json.loads(line)
        outcome = trial.get("outcome")
        measured = outcome.get("measured") if isinstance(outcome, dict) else None
        if trial.get("purpose") == "rounds" and measured and metric in measured["metrics"]:
            figures = rounds.setdefault((trial["round"], trial["block"]), {})
            figures.setdefault(trial["variant"], measured["metrics"][metric])
    sign = 1 if metric.endswith("_per_s") else -1
    ratios = {}
    for (number, _), figures in rounds.items():
        if label in figures:
            for variant, figure in figures.items():
                ratios.setdefault(variant, {})[number] = sign * math.log(figure / figures[label])
    half = max(number for number, _ in rounds) // 2
    mean = lambda variant, later: statistics.fmean(
        [it for number, it in ratios[variant].items() if (number > half) == later] or [-math.inf]
    )
    best = max(ratios, key=lambda variant: mean(variant, False))
    print(f"{len(ratios)} combinations, {half + 1} rounds to choose; best: {best}")
    print(f"best ÷ recommended: ×{math.exp(mean(best, True)):.3f} in the other rounds")


def text(level):
    return str(level).lower() if isinstance(level, bool) else str(level)


main()
