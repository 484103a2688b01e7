"""Trac, a wiki with tickets, under its own server: visitors read pages and reports, write tickets and change pages."""
import os, subprocess
import load

TITLE = "Trac (wiki and tickets)"
DATABASE = "env/db/trac.db"


def install(folder):
    subprocess.run(["/usr/bin/python3", "-m", "venv", "venv"], cwd=folder, check=True)
    subprocess.run(["venv/bin/pip", "install", "-q", "trac", "setuptools<81"], cwd=folder, check=True)


def prepare(folder, work):
    admin = lambda *words: subprocess.run([os.path.join(folder, "venv/bin/trac-admin"), "env", *words], cwd=work, check=True, stdout=subprocess.DEVNULL)
    admin("initenv", "Sample", "sqlite:db/trac.db")
    for right in ["TICKET_CREATE", "TICKET_MODIFY", "WIKI_CREATE", "WIKI_MODIFY"]:
        admin("permission", "add", "anonymous", right)


def command(folder, work, port):
    return [os.path.join(folder, "venv/bin/tracd"), "--single-env", "--port", str(port), "--hostname", "127.0.0.1", "env"]


def visit(user):
    chance = user.random
    for number in range(12):
        user.get("/wiki")
        user.get("/report/1")
        user.get("/search?q=ticket&noquickjump=1&ticket=on&wiki=on")
        user.get("/timeline")
        fields = {"field_summary": f"Problem {number}", "field_description": "It does not work. " * chance.randrange(1, 9), "field_type": "defect", "submit": "Create"}
        user.post("/newticket", {**fields, "author": "visitor"}, form="/newticket")
        user.get(f"/ticket/{chance.randrange(1, number + 2)}")
        page = f"/wiki/Page{chance.randrange(8)}"
        user.post(page, {"action": "edit", "text": f"A new text {number}", "author": "visitor", "comment": "", "save": "Submit changes"}, form=f"{page}?action=edit")


def drive(port):
    return load.together(port, 4, visit)
