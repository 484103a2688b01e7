#!/usr/bin/env python3
"""Records real programs, replays them, and measures them with two journal modes.

    python3 benchmarks/applications PRAGMARK FOLDER [APPLICATION…]

Installs each application into FOLDER (once), has it serve the same requests with and without `pragmark record`, replays the
recording and measures it with `journal_mode = delete` and `wal`. Prints a row of a table for each: statements (connections,
processes); the least share that can be replayed and that does the same; whether the database ends as the program's did; CPU
time with the recorder compared with without it, median and range, and per statement; the time of a replay divided by that
of the recording; transactions per second in WAL mode divided by those with a rollback journal, with the interval.
Without APPLICATION: all.
"""
import contextlib, csv, glob, importlib, io, json, os, shutil, socket, sqlite3, statistics, subprocess, sys, time

import load

HERE = os.path.dirname(os.path.abspath(__file__))
TICKS = os.sysconf("SC_CLK_TCK")
ROUNDS = 3


def names():
    """The applications, each a file that has a title."""
    files = sorted(glob.glob(os.path.join(HERE, "*.py")))
    return [os.path.basename(it)[:-3] for it in files if "\nTITLE = " in open(it).read()]


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def tree(root):
    """The times of the processes below one, in seconds of CPU, by their ids."""
    children, times = {}, {}
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(stat) as file:
                before, _, after = file.read().rpartition(")")
        except OSError:
            continue
        fields = after.split()
        pid = int(before.split(" ")[0])
        children.setdefault(int(fields[1]), []).append(pid)
        times[pid] = sum(map(int, fields[11:15])) / TICKS
    below, found = [root], {}
    while below:
        pid = below.pop()
        found[pid] = times.get(pid, 0.0)
        below.extend(children.get(pid, []))
    return found


def serve(application, folder, work, record):
    """Starts the program, drives it, and stops it: CPU seconds for the requests, and requests that failed."""
    port = free_port()
    program = application.command(folder, work, port)
    with open(os.path.join(work, "program.log"), "w") as log:
        process = subprocess.Popen([*record, *program], cwd=work, env=environment(application), stdout=log, stderr=log)
    try:
        load.wait_until_open(port)
        time.sleep(0.5)
        before = tree(process.pid)
        failed = application.drive(port)
        after = tree(process.pid)
    finally:
        process.terminate()
        process.wait(300)
    # pragmark itself is the root if it records, and it seals when all else has ended.
    own = {process.pid} if record else set()
    return sum(time - before.get(pid, 0.0) for pid, time in after.items() if pid not in own), len(failed)


def run_script(application, folder, work, record):
    """The same for a program that ends by itself."""
    timed = ["bash", "-c", 'TIMEFORMAT="%U %S"; { time "$@" 2>&3; } 3>&2 2> times', "bash"]
    program = [*record, *timed, *application.command(folder, work, 0)]
    subprocess.run(program, cwd=work, env=environment(application), check=True, capture_output=True)
    with open(os.path.join(work, "times")) as times:
        return sum(map(float, times.read().split())), 0


def stand_ins(application):
    """Replacements for functions and collations that only the application has."""
    return getattr(application, "STAND_INS", [])


def environment(application):
    return {**os.environ, **getattr(application, "ENVIRONMENT", {})}


def fresh(application, folder):
    """A work folder as before the first request."""
    work, prepared = os.path.join(folder, "work"), os.path.join(folder, "prepared")
    if not os.path.exists(prepared):
        shutil.rmtree(work, ignore_errors=True)
        os.mkdir(work)
        application.prepare(folder, work)
        shutil.copytree(work, prepared, symlinks=True)
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(prepared, work, symlinks=True)
    return work


def recorded(application, folder, pragmark):
    """CPU seconds without and with the recorder, in turns, and the same for failed requests; the last recording is left."""
    work_through = run_script if application.drive is None else serve
    trace = os.path.join(folder, "app.trace")
    times, failed = ([], []), [0, 0]
    for _ in range(ROUNDS):
        for side, command in enumerate([[], [pragmark, "record", "--out", trace, "--"]]):
            for old in glob.glob(trace + "*") if command else []:
                shutil.rmtree(old) if os.path.isdir(old) else os.remove(old)
            taken, failures = work_through(application, folder, fresh(application, folder), command)
            times[side].append(taken)
            failed[side] += failures
    return *times, failed


def checksum(database):
    """What the sqlite3 shell says of the tables of a database and its log."""
    return subprocess.run(["sqlite3", database, ".sha3sum"], check=True, capture_output=True, text=True).stdout


def ends_equal(application, folder, pragmark):
    """Whether a replay in order leaves the same database as the program, by the shell's own checksum."""
    directory = os.path.join(folder, "replay")
    shutil.rmtree(directory, ignore_errors=True)
    os.mkdir(directory)
    settings = {"trace": os.path.join(folder, "app.trace"), "stand_in": "\n".join(stand_ins(application))}
    spec = {"protocol": 1, "workload": "replay", "settings": settings, "directory": directory, "seed": 1}
    spec["engine"] = getattr(application, "ENGINE", "default")
    subprocess.run([pragmark, "trial"], input=json.dumps(spec), capture_output=True, text=True, check=True)
    copies = glob.glob(os.path.join(directory, "test-*.db"))
    return checksum(os.path.join(folder, "work", application.DATABASE)) in map(checksum, copies)


def measured(application, folder, pragmark):
    """The metrics of the trials with the first journal mode, and the ratio of the second to it with its interval."""
    run = os.path.join(folder, "run")
    shutil.rmtree(run, ignore_errors=True)
    engine = ["--engine", application.ENGINE] if hasattr(application, "ENGINE") else []
    command = [pragmark, "measure", "--trace", "app.trace", "--vary", "journal_mode=delete,wal", "--out", run, *engine]
    for stand_in in stand_ins(application):
        command += ["--stand-in", stand_in]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    with open(os.path.join(run, "outcomes.jsonl")) as outcomes:
        lines = [json.loads(line) for line in outcomes]
    trials = [line["outcome"]["measured"]["metrics"] for line in lines if line.get("variant") == "journal_mode=delete" and "measured" in line["outcome"]]
    out = subprocess.run([pragmark, "report", run, "--format", "variants-csv"], check=True, capture_output=True, text=True).stdout
    return trials, next(row for row in csv.DictReader(io.StringIO(out)) if row["variant"] == "journal_mode=wal")


def row(application, folder, pragmark):
    """A row of the table."""
    without, using, failed = recorded(application, folder, pragmark)
    with contextlib.closing(sqlite3.connect(os.path.join(folder, "app.trace"))) as trace:
        count = lambda table: trace.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        statements, connections, processes = count("event"), count("connection"), count("process")
    equal = ends_equal(application, folder, pragmark)
    trials, wal = measured(application, folder, pragmark)
    least = lambda metric: min(trial[metric] for trial in trials)
    ratios = [trial["seconds"] / trial["recorded_s"] for trial in trials if trial.get("recorded_s")]
    differences = [100 * (a / b - 1) for a, b in zip(using, without)]
    per_statement = statistics.median((a - b) / statements * 1e6 for a, b in zip(using, without))
    cells = [
        application.TITLE,
        f"{statements:,} ({connections:,}, {processes:,})",
        f"{least('coverage_percent'):.2f} %, {least('agreement_percent'):.2f} %",
        "equal" if equal else "different",
        f"{statistics.median(differences):+.1f} % [{min(differences):+.1f}, {max(differences):+.1f}], {per_statement:+.0f} µs",
        f"{statistics.median(ratios):.2f}",
        f"×{float(wal['ratio']):.2f} [{float(wal['low']):.2f}, {float(wal['high']):.2f}]" if wal["ratio"] else "not compared",
    ]
    return "| " + " | ".join(cells) + " |" + (f" requests that failed: {failed[0]} without the recorder, {failed[1]} with it" if any(failed) else "")


def main():
    pragmark, root = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    for name in sys.argv[3:] or names():
        application = importlib.import_module(name)
        folder = os.path.join(root, name)
        if not os.path.exists(folder):
            os.makedirs(folder)
            application.install(folder)
        print(row(application, folder, pragmark), flush=True)


if __name__ == "__main__":
    main()
