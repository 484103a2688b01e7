"""Coroutines with aiosqlite, each with a connection of its own, in WAL mode."""
import python_library as library

TITLE = "Python, aiosqlite, four coroutines"
DATABASE, drive, prepare = library.DATABASE, library.drive, library.prepare
install, command = library.program("aiosqlite_tasks.py", "aiosqlite")
