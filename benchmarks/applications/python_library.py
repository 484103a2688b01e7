"""Programs in the folder `libraries`, each with a virtual environment of its own."""
import os, subprocess, sys

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libraries")
DATABASE = "app.db"
drive = None


def prepare(folder, work):
    pass


def program(name, *packages):
    """How a program is installed and started."""

    def install(folder):
        subprocess.run([sys.executable, "-m", "venv", "venv"], cwd=folder, check=True)
        subprocess.run(["venv/bin/pip", "install", "--quiet", *packages], cwd=folder, check=True)

    def command(folder, work, port):
        return [os.path.join(folder, "venv/bin/python"), os.path.join(SOURCE, name)]

    return install, command
