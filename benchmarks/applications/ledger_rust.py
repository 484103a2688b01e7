"""The ledger in Rust with rusqlite, whose SQLite is a part of the stripped program."""
import os, shutil, subprocess
import ledger_php as ledger

TITLE = "Rust, rusqlite bundled"
DATABASE, drive, prepare = ledger.DATABASE, ledger.drive, ledger.prepare


def install(folder):
    source = os.path.join(folder, "source")
    shutil.copytree(os.path.join(ledger.SOURCE, "rust"), source)
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=source, check=True)


def command(folder, work, port):
    return [os.path.join(folder, "source/target/release/ledger")]
