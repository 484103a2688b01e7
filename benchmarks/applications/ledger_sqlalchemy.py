"""The ledger in Python with SQLAlchemy's object-relational mapper."""
import os, subprocess, sys
import ledger_php as ledger

TITLE = "Python, SQLAlchemy 2"
DATABASE, drive, prepare = ledger.DATABASE, ledger.drive, ledger.prepare


def install(folder):
    subprocess.run([sys.executable, "-m", "venv", "venv"], cwd=folder, check=True)
    subprocess.run(["venv/bin/pip", "install", "--quiet", "sqlalchemy>=2,<3"], cwd=folder, check=True)


def command(folder, work, port):
    return [os.path.join(folder, "venv/bin/python"), os.path.join(ledger.SOURCE, "orm.py")]
