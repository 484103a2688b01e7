from typing import Any, final

class Error(Exception):
    """The rows cannot be loaded; the database is as it was."""

@final
class Summary:
    """What a load came to."""

    @property
    def rows(self) -> int:
        """Rows added; with upsert, rows added or updated."""
    @property
    def ignored(self) -> int:
        """Rows left out because their keys were known."""
    @property
    def skipped(self) -> int:
        """Rows left out because they could not be loaded."""
    @property
    def strategy(self) -> str:
        """How the rows were written: "pages", "arrays", or "pages, arrays"."""
    @property
    def reason(self) -> str | None:
        """Why not all rows were written as pages."""
    @property
    def stale(self) -> list[str]:
        """Full-text indexes that lack the new rows."""
    @property
    def seconds(self) -> float:
        """The time from the beginning to the end, syncing included."""

def load(path: str, table: str, data: object, options: dict[str, Any]) -> Summary: ...
