"""Notes in PHP with Eloquent, Laravel's models (Debian's packages `php-illuminate-database` and `php-illuminate-events`)."""
import os, subprocess
import python_library as library

TITLE = "PHP, Eloquent, notes"
DATABASE, drive, prepare = library.DATABASE, library.drive, library.prepare


def install(folder):
    """Nothing: Debian's packages are installed by the caller."""
    subprocess.run(["php", "--version"], cwd=folder, check=True)


def command(folder, work, port):
    return ["php", os.path.join(library.SOURCE, "eloquent_notes.php")]
