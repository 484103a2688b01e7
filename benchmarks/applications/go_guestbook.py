"""A guest book in Go with net/http, database/sql and mattn/go-sqlite3 (the folder `go_web`)."""
import os, shutil, subprocess
import load

TITLE = "Go, net/http and mattn/go-sqlite3"
DATABASE = "guests.db"
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "go_web")


def install(folder, tags=(), driver="github.com/mattn/go-sqlite3"):
    source = os.path.join(folder, "source")
    shutil.copytree(SOURCE, source)
    environment = {**os.environ, "GOFLAGS": "-mod=mod", "CGO_ENABLED": "1"}
    run = lambda *command: subprocess.run(command, cwd=source, check=True, env=environment)
    run("go", "get", driver)
    run("go", "build", "-o", "../guestbook", *tags, ".")


def prepare(folder, work):
    """The program makes its own database."""


def command(folder, work, port):
    return [os.path.join(folder, "guestbook"), "-port", str(port)]


def visit(user):
    for number in range(60):
        user.get("/list")
        if number % 3 == 0:
            user.post("/add", {"name": f"guest {user.random.randrange(40)}", "text": "Lovely. " * user.random.randrange(1, 20)})
        if number % 5 == 0:
            user.post("/answer", {"entry": user.random.randrange(1, 20), "text": "Thank you"})


def drive(port):
    return load.together(port, 6, visit)
