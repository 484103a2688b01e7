"""Jobs of APScheduler in a job store of SQLAlchemy."""
import python_library as library

TITLE = "Python, APScheduler, jobs in SQLite"
DATABASE, drive, prepare = library.DATABASE, library.drive, library.prepare
install, command = library.program("apscheduler_jobs.py", "apscheduler", "sqlalchemy")
