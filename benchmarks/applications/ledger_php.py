"""The same ledger in several languages (the folder `ledger`): here in PHP, Debian's packages `php-cli` and `php-sqlite3`."""
import os, subprocess

TITLE = "PHP, PDO"
DATABASE = "ledger.db"
# A program that ends by itself: it is started, and nobody sends requests.
drive = None
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ledger")


def install(folder):
    """Nothing: Debian's packages are installed by the caller."""
    subprocess.run(["php", "--version"], cwd=folder, check=True)


def prepare(folder, work):
    """The program makes its own database."""


def command(folder, work, port):
    return ["php", os.path.join(SOURCE, "ledger.php")]
