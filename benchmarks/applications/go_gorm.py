"""A catalogue in Go with GORM and mattn/go-sqlite3."""
import os, shutil, subprocess
import python_library as library

TITLE = "Go, GORM, a catalogue"
DATABASE, drive, prepare = library.DATABASE, library.drive, library.prepare


def install(folder):
    source = os.path.join(folder, "source")
    shutil.copytree(os.path.join(library.SOURCE, "gorm"), source)
    environment = {**os.environ, "GOFLAGS": "-mod=mod", "CGO_ENABLED": "1"}
    for command in (["go", "mod", "init", "catalogue"], ["go", "get", "gorm.io/gorm", "gorm.io/driver/sqlite"], ["go", "build", "-o", "../catalogue", "."]):
        subprocess.run(command, cwd=source, check=True, env=environment)


def command(folder, work, port):
    return [os.path.join(folder, "catalogue")]
