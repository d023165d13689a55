"""Cursors: how far the sinks of a home have read."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from penstock.storage.disk import make_directory
from penstock.storage.files import read_json, write_json
from penstock.storage.seals import SEAL, sealed, unsealed
from penstock.vocabulary.errors import PenstockError


class Cursors:
    """How far the sinks of a home have read, in one file: there may be very many."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.path = directory / "cursors.json"
        self._written: dict[str, str] = {}

    @cached_property
    def _tokens(self) -> dict[str, str]:
        """Read when a sink asks first: who only reads a home needs none of it."""
        self._written = dict(read_cursors(self.path)) if self.path.exists() else {}
        return dict(self._written)

    @property
    def is_missing(self) -> bool:
        """Say whether sinks were fed here, and how far is not known any more."""
        return self._directory.is_dir() and not any(self._directory.glob("*.json"))

    def token(self, cursor: str) -> str | None:
        """Give the token behind the last change that a sink took."""
        before = self._directory / f"{cursor}.json"  # where homes had it until version 0.1
        if cursor not in self._tokens and before.exists():
            self._tokens[cursor] = read_cursors(before)["token"]
        return self._tokens.get(cursor)

    def tokens(self) -> dict[str, str]:
        """Give the tokens of all sinks."""
        return dict(self._tokens)

    def set(self, cursor: str, token: str) -> None:
        """Note how far a sink has read."""
        self._tokens[cursor] = token

    def forget_others(self, names: Collection[str], cursors: Collection[str]) -> None:
        """Forget cursors of subscriptions that are not named, unless a cursor is."""
        for cursor in list(self._tokens):
            if cursor not in cursors and unquote(cursor.partition(".")[0]) not in names:
                del self._tokens[cursor]

    def write(self) -> None:
        """Make durable what was noted."""
        if self._tokens != self._written:
            make_directory(self._directory)
            self._written = dict(self._tokens)
            write_json(self.path, sealed({"tokens": self._written}))


def read_cursors(path: Path) -> dict[str, str]:
    """Read a file of cursors, or refuse; those of older homes are not sealed."""
    try:
        data: dict[str, Any] = read_json(path)
        tokens = unsealed(data)["tokens"] if SEAL in data else data
        if not all(isinstance(token, str) and ":" in token for token in tokens.values()):
            raise ValueError("it holds no tokens")
        return tokens
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PenstockError(
            "DEL-007",
            f"{path} does not say how far sinks have read: {error}.",
            "Restore it from a copy, or remove it: sinks are then fed again from the beginning, "
            "with the tokens that they know.",
        ) from None
