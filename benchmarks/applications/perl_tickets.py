"""Tickets with Perl's DBI and DBD::SQLite (Debian's package `libdbd-sqlite3-perl`)."""
import os, subprocess
import python_library as library

TITLE = "Perl, DBD::SQLite, tickets"
DATABASE, drive, prepare = library.DATABASE, library.drive, library.prepare


def install(folder):
    subprocess.run(["perl", "-MDBD::SQLite", "-e", "1"], cwd=folder, check=True)


def command(folder, work, port):
    return ["perl", os.path.join(library.SOURCE, "tickets.pl")]
