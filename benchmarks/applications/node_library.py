"""Programs in the folder `libraries` for Node.js, each with packages of its own."""
import os, shutil, subprocess

import python_library as library

DATABASE, drive, prepare = library.DATABASE, library.drive, library.prepare


def install_packages(folder, packages):
    """Where npm asks before a package may compile, it is allowed to."""
    with open(os.path.join(folder, "package.json"), "w") as file:
        file.write('{"private": true, "allowScripts": {%s}}' % ", ".join(f'"{it}": true' for it in packages))
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", *packages], cwd=folder, check=True)


def program(name, *packages):
    """How a program is installed and started."""

    def install(folder):
        install_packages(folder, packages)
        shutil.copy(os.path.join(library.SOURCE, name), folder)

    def command(folder, work, port):
        return ["node", os.path.join(folder, name)]

    return install, command
