#!/usr/bin/env python3
"""CPU time that `pragmark record` adds to each statement of a program.

    recording.py PRAGMARK STATEMENTS ROUNDS -- COMMAND...

Runs COMMAND, which executes STATEMENTS statements, with and without the recorder in turns, and prints microseconds of
user and system time per statement: the medians without and with it, and the median and the range of the differences.
"""
import os, resource, statistics, subprocess, sys, tempfile


def cpu(command):
    """Seconds of CPU that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def recorded(pragmark, command, folder):
    """The same with the recorder; what pragmark itself takes is not counted. Also the size of the trace."""
    trace, answer = os.path.join(folder, "work.trace"), os.path.join(folder, "cpu")
    inner = [sys.executable, __file__, "--inner", answer, *command]
    subprocess.run([pragmark, "record", "--out", trace, "--", *inner], check=True)
    with open(answer) as file:
        seconds = float(file.read())
    size = os.path.getsize(trace)
    os.remove(trace)
    return seconds, size


def main():
    pragmark, statements, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    command, pairs, size = sys.argv[5:], [], 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            first = cpu(command) if number % 2 else None
            seconds, size = recorded(pragmark, command, folder)
            pairs.append((first if first is not None else cpu(command), seconds))
    per_statement = [(without / statements * 1e6, with_it / statements * 1e6) for without, with_it in pairs]
    differences = [with_it - without for without, with_it in per_statement]
    without, with_it = (statistics.median(column) for column in zip(*per_statement))
    print(
        f"without {without:.2f} us, with {with_it:.2f} us, difference {statistics.median(differences):.2f} us "
        f"[{min(differences):.2f}, {max(differences):.2f}], trace {size / statements:.1f} bytes per statement"
    )


if sys.argv[1] == "--inner":
    with open(sys.argv[2], "w") as out:
        out.write(str(cpu(sys.argv[3:])))
else:
    main()
