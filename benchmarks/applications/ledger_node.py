"""The ledger in JavaScript with the module `node:sqlite`, for which npm's package `node` brings a Node.js."""
import os, subprocess
import ledger_php as ledger

TITLE = "Node 22, node:sqlite"
DATABASE, drive, prepare = ledger.DATABASE, ledger.drive, ledger.prepare


def install(folder):
    with open(os.path.join(folder, "package.json"), "w") as file:
        file.write('{"private": true, "allowScripts": {"node": true}}')
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "node@22"], cwd=folder, check=True)


def command(folder, work, port):
    return [os.path.join(folder, "node_modules", "node", "bin", "node"), os.path.join(ledger.SOURCE, "ledger.js")]
