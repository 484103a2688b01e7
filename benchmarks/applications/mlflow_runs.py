"""Runs of MLflow with SQLite as the tracking store."""
import python_library as library

TITLE = "Python, MLflow, runs in SQLite"
DATABASE, drive, prepare = library.DATABASE, library.drive, library.prepare
install, command = library.program("mlflow_runs.py", "mlflow-skinny", "sqlalchemy", "alembic")
