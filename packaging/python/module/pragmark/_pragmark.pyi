from os import PathLike
from typing import Any

class Error(Exception):
    """The rows cannot be loaded; the database is as it was."""

def unload(path: str, output: str, options: dict[str, Any]) -> tuple[int, list[PathLike[str]]]: ...
def load(path: str, table: str, data: object, options: dict[str, Any]) -> dict[str, Any]: ...
