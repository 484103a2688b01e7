#!/usr/bin/env python3
"""How long commands that only print take, from their start to their end: starts.py PROGRAM [--starts N].

`--version` and `list` take turns, so that both meet the same machine.
"""
import argparse
import os
import statistics
import subprocess
import time

TARGETS = {"--version": 10, "list": 30}


def milliseconds(program, argument):
    begin = time.perf_counter()
    subprocess.run([program, argument], stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - begin) * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--starts", type=int, default=300)
    options = parser.parse_args()
    times = {argument: [] for argument in TARGETS}
    for _ in range(options.starts):
        for argument, figures in times.items():
            figures.append(milliseconds(options.program, argument))
    print(f"{options.starts} starts each, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for argument, figures in times.items():
        median, least = statistics.median(figures), min(figures)
        print(f"pragmark {argument}: median {median:.1f} ms, least {least:.1f} ms (target ≤ {TARGETS[argument]} ms)")


main()
