"""Loads tables of pyarrow, polars, pandas or DuckDB into SQLite, atomically.

    import pragmark
    pragmark.load("shop.db", "prices", frame, primary_key="id", indexes=["name"])
"""

from __future__ import annotations

import os
from typing import Literal, Mapping, Protocol, Sequence, Union

from ._pragmark import Error, Summary
from ._pragmark import load as _load

__all__ = ["ArrowStream", "Error", "Summary", "load"]

Columns = Union[str, Sequence[str]]


class ArrowStream(Protocol):
    """What can be loaded: an object with the Arrow PyCapsule interface for streams."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


def load(
    path: str | os.PathLike[str],
    table: str,
    data: ArrowStream,
    *,
    append: bool = False,
    replace: bool = False,
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

    append: add the rows to a table that exists. replace: drop the table and create it again.
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
    return _load(os.fspath(path), table, data, options)


def _columns(columns: Columns) -> list[str]:
    return [columns] if isinstance(columns, str) else list(columns)


def _indexes(option: str, indexes: Sequence[Columns]) -> list[list[str]]:
    if isinstance(indexes, str):
        raise ValueError(f"{option} is a list with one item for each index: {option}=['{indexes}']")
    return [_columns(columns) for columns in indexes]
