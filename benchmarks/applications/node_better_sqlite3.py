"""A shop in Node with better-sqlite3 (the folder `node_web`)."""
import os, shutil
import load, node_library

TITLE = "Node, http and better-sqlite3"
DATABASE = "shop.db"
BINDING = "better-sqlite3"
ENVIRONMENT = {"BINDING": BINDING}
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "node_web")


def install(folder, packages=(BINDING,)):
    node_library.install_packages(folder, packages)
    shutil.copy(os.path.join(SOURCE, "server.js"), folder)


def prepare(folder, work):
    """The program makes its own database."""


def command(folder, work, port):
    return ["node", os.path.join(folder, "server.js"), str(port)]


def visit(user):
    chance = user.random
    for number in range(80):
        customer = chance.randrange(50)
        user.get(f"/items?q={chance.randrange(50)}")
        user.get(f"/item?id={chance.randrange(1, 501)}")
        user.get(f"/mine?customer={customer}")
        if number % 2 == 0:
            user.get(f"/buy?customer={customer}&item={chance.randrange(1, 501)}")


def drive(port):
    return load.together(port, 4, visit)
