"""Cursors: how far the sinks of a home have read."""

from __future__ import annotations

from pathlib import Path

from penstock.storage.disk import make_directory
from penstock.storage.files import read_json, write_json


class Cursors:
    """How far the sinks of a home have read, in one file: there may be very many."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / "cursors.json"
        self._tokens: dict[str, str] = read_json(self._path) if self._path.exists() else {}
        self._written = dict(self._tokens)

    def token(self, cursor: str) -> str | None:
        """Give the token behind the last change that a sink took."""
        before = self._directory / f"{cursor}.json"  # where homes had it until version 0.1
        if cursor not in self._tokens and before.exists():
            self._tokens[cursor] = read_json(before)["token"]
        return self._tokens.get(cursor)

    def tokens(self) -> dict[str, str]:
        """Give the tokens of all sinks."""
        return dict(self._tokens)

    def set(self, cursor: str, token: str) -> None:
        """Note how far a sink has read."""
        self._tokens[cursor] = token

    def write(self) -> None:
        """Make durable what was noted."""
        if self._tokens != self._written:
            make_directory(self._directory)
            self._written = dict(self._tokens)
            write_json(self._path, self._written)
