"""A study of optuna in two processes, which share it through SQLite."""
import python_library as library

TITLE = "Python, optuna, a study in two processes"
DATABASE, drive, prepare = library.DATABASE, library.drive, library.prepare
install, command = library.program("optuna_study.py", "optuna")
