"""Tasks of celery with SQLite as the broker and for the results, through SQLAlchemy."""
import python_library as library

TITLE = "Python, celery, SQLite as broker and backend"
DATABASE, drive, prepare = library.DATABASE, library.drive, library.prepare
install, command = library.program("celery_tasks.py", "celery[sqlalchemy]")
