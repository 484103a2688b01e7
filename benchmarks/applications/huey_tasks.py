"""Tasks through a queue in SQLite: a producer, a consumer in another process, results, retries and a schedule."""
import python_library as library

TITLE = "Python, huey, a queue of tasks"
DATABASE, drive, prepare = library.DATABASE, library.drive, library.prepare
install, command = library.program("huey_tasks.py", "huey")
