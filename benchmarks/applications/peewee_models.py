"""Models of peewee: upserts, nested transactions and its functions for dates and regular expressions, in WAL mode."""
import python_library as library

TITLE = "Python, peewee, with functions of its own"
DATABASE, drive, prepare = library.DATABASE, library.drive, library.prepare
STAND_INS = ["REGEXP=?2 LIKE '%post %'", "date_part=strftime('%Y', ?2)"]
install, command = library.program("peewee_models.py", "peewee")
