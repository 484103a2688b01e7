"""A session of IPython, which keeps its history in SQLite from a thread of its own."""
import python_library as library

TITLE = "IPython, three sessions"
DATABASE = "profile_default/history.sqlite"
drive, prepare = library.drive, library.prepare
install, command = library.program("ipython_history.py", "ipython")
