"""Accounts in Rust with sqlx, whose pool has four connections in WAL mode."""
import os, shutil, subprocess
import python_library as library

TITLE = "Rust, sqlx, a pool of connections"
DATABASE, drive, prepare = library.DATABASE, library.drive, library.prepare


def install(folder):
    source = os.path.join(folder, "source")
    shutil.copytree(os.path.join(library.SOURCE, "sqlx"), source)
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=source, check=True)


def command(folder, work, port):
    return [os.path.join(folder, "source/target/release/accounts")]
