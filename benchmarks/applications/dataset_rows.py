"""Rows through dataset, which makes tables and columns as they are needed."""
import python_library as library

TITLE = "Python, dataset"
DATABASE, drive, prepare = library.DATABASE, library.drive, library.prepare
install, command = library.program("dataset_rows.py", "dataset")
