"""Loads tables of pyarrow, polars, pandas or DuckDB into SQLite, atomically, and writes rows of SQLite into files.

    import pragmark
    pragmark.load("shop.db", "prices", frame, primary_key="id", indexes=["name"])
    pragmark.unload("shop.db", "prices.parquet", "prices")
"""

from __future__ import annotations

import os
from typing import Literal, Mapping, NamedTuple, Protocol, Sequence, Union

from ._pragmark import Error
from ._pragmark import load as _load
from ._pragmark import unload as _unload

__all__ = ["ArrowStream", "Error", "Summary", "Unloaded", "load", "unload"]

Columns = Union[str, Sequence[str]]


class Summary(NamedTuple):
    """The result of a load."""

    rows: int
    """Rows added; with upsert, rows added or updated."""
    ignored: int
    """Rows left out because their keys were known."""
    skipped: int
    """Rows left out because they could not be loaded."""
    strategy: str
    """How the rows were written: "pages", "arrays", or "pages, arrays"."""
    reason: str | None
    """Why not all rows were written as pages."""
    stale: list[str]
    """Full-text indexes that lack the new rows."""
    notices: list[str]
    """How the rows were read and stored, and doubts about it."""
    seconds: float
    """The time from the beginning to the end, syncing included."""


class ArrowStream(Protocol):
    """What can be loaded: an object with the Arrow PyCapsule interface for streams."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


def load(
    path: str | os.PathLike[str],
    table: str,
    data: ArrowStream,
    *,
    append: bool = False,
    add_columns: bool = False,
    replace: bool = False,
    keep_indexes: bool = False,
    types: Mapping[str, str] | None = None,
    primary_key: Columns = (),
    indexes: Sequence[Columns] = (),
    unique: Sequence[Columns] = (),
    not_null: Columns = (),
    fts: Columns = (),
    strict: bool = False,
    without_rowid: bool = False,
    decimals: Literal["numbers", "text", "real", "scaled-integer"] = "numbers",
    ignore: bool = False,
    upsert: Columns = (),
    on_error: Literal["fail", "skip"] = "fail",
    rejects: str | os.PathLike[str] | None = None,
    max_errors: int | None = None,
    strategy: Literal["auto", "pages", "arrays"] = "auto",
    page_size: int | None = None,
    foreign_keys: bool = False,
    analyze: bool = False,
    check: bool = False,
) -> Summary:
    """Loads every row of `data` into a table of the SQLite database at `path`.

    The load is atomic: after an error, an interruption or a kill the database is as it was.

    append: add the rows to a table that exists; add_columns: with the columns that it lacks. replace: drop the table and
    create it again; keep_indexes: with its indexes and triggers.
    types: declared types of columns, such as {"price": "DECIMAL(10,2)"}.
    primary_key, not_null, fts (a full-text index), upsert: a column, or several.
    indexes, unique: a list of indexes, each of a column or several: ["name", ["city", "street"]].
    ignore: leave out rows whose keys are known. upsert: update the rows with the same values in these columns.
    foreign_keys: a row without the row that it refers to is an error.
    on_error: "skip" leaves out rows that cannot be loaded and writes them to the CSV file `rejects`.

    Raises TypeError if data is no Arrow stream or a column has no equivalent in SQLite, ValueError if the options are
    wrong, and Error if the rows cannot be loaded for another reason. A database that this process has open, or into
    which another thread loads, is an Error; one that is opened during the load is not noticed.
    """
    if append and replace:
        raise ValueError("choose one of append and replace")
    options = {
        "mode": "append" if append else "replace" if replace else "create",
        "add_columns": add_columns,
        "keep_indexes": keep_indexes,
        "types": list((types or {}).items()),
        "primary_key": _columns(primary_key),
        "indexes": _indexes("indexes", indexes),
        "unique": _indexes("unique", unique),
        "not_null": _columns(not_null),
        "fts": _columns(fts),
        "strict": strict,
        "without_rowid": without_rowid,
        "decimals": decimals,
        "ignore": ignore,
        "upsert": _columns(upsert),
        "on_error": on_error,
        "rejects": None if rejects is None else os.fspath(rejects),
        "max_errors": max_errors,
        "strategy": strategy,
        "page_size": page_size,
        "foreign_keys": foreign_keys,
        "analyze": analyze,
        "check": check,
    }
    return Summary(**_load(os.fspath(path), table, _loadable(data), options))


def _loadable(data: ArrowStream) -> ArrowStream:
    """Returns data that Arrow describes as it is."""
    if type(data).__module__.partition(".")[0] != "polars" or not hasattr(data, "with_columns"):
        return data
    for name, kind in zip(data.columns, data.dtypes):
        if str(kind) == "Object":
            # As Arrow they are the addresses of the objects.
            raise TypeError(f"column {name} holds Python objects; convert it before loading")
        if str(kind) == "Null":
            # Polars gives such columns a buffer that Arrow's interface does not have.
            data = data.with_columns(data[name].cast(str))
    return data


class Unloaded(NamedTuple):
    """The result of an unload."""

    rows: int
    files: list[str]


def unload(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    rows: str | None = None,
    *,
    format: str | None = None,
    split: int | Columns | None = None,
    blobs: Literal["hex", "base64"] = "hex",
    replace: bool = False,
) -> Unloaded:
    """Writes rows of the SQLite database at `path` into the file `output`: CSV, TSV, JSON, JSON Lines, Parquet or Arrow.

    One read transaction gives all rows, and files appear when all of them are complete.

    rows: a table, a view or a query; by default the only table.
    format: "csv", "jsonl.gz", "parquet", …; by default the ending of `output`.
    split: rows of a file (100_000), its size ("1GB"), or columns by whose values the rows are divided.
    blobs: how blobs are written in texts. replace: replace files that exist.

    Raises ValueError if the options are wrong, and Error otherwise.
    """
    if split is not None:
        split = str(split) if isinstance(split, int) else ",".join(_columns(split))
    options = {"rows": rows, "format": format, "split": split, "blobs": blobs, "replace": replace}
    written = _unload(os.fspath(path), os.fspath(output), options)
    return Unloaded(written[0], [os.fspath(file) for file in written[1]])


def _columns(columns: Columns) -> list[str]:
    return [columns] if isinstance(columns, str) else list(columns)


def _indexes(option: str, indexes: Sequence[Columns]) -> list[list[str]]:
    if isinstance(indexes, str):
        raise ValueError(f"{option} is a list with one item for each index: {option}=['{indexes}']")
    return [_columns(columns) for columns in indexes]
