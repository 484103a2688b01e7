"""A session of IPython, which keeps its history in SQLite from a thread of its own."""
import os, subprocess, sys

LINES = "".join(f"x{number} = {number} * 2\n" for number in range(40)) + "%history -n 1-5\n%history -g x1\n"

environment = {**os.environ, "IPYTHONDIR": os.getcwd(), "HOME": os.getcwd(), "TERM": "dumb"}
for _ in range(3):
    subprocess.run([sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner"], input=LINES, text=True, env=environment, check=True, stdout=subprocess.DEVNULL)
