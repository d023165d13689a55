"""Cursors: how far the sinks of a home have read."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from penstock.storage.disk import make_directory
from penstock.storage.editions import write_edition
from penstock.storage.files import read_json
from penstock.storage.seals import SEAL, unsealed
from penstock.vocabulary.errors import PenstockError

HOME, PROCESS = "/", "."
"""What stands between subscription and sink in the name of a cursor: whether the home knows the
sink, or it is one of a process, such as a function."""


def cursor_of(subscription: str, sink: str, kind: str) -> str:
    """Name the cursor of a sink.

    >>> cursor_of("alerts", "files", HOME), cursor_of("a/b", "print", PROCESS)
    ('alerts/files', 'a%2Fb.print')
    """
    return f"{quote(subscription, safe='')}{kind}{quote(sink, safe='')}"


def parts_of(cursor: str) -> list[tuple[str, str]]:
    """Give the subscription and the sink that a cursor may be of: names may have dots in them.

    >>> parts_of("alerts/files"), parts_of("a.b.print")
    ([('alerts', 'files')], [('a', 'b.print'), ('a.b', 'print')])
    """
    kind = HOME if HOME in cursor else PROCESS
    return [
        (unquote(cursor[:at]), unquote(cursor[at + 1 :]))
        for at, sign in enumerate(cursor)
        if sign == kind
    ]


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
        """Give the token behind the last change that a sink took.

        A sink that the home knows goes on where the process's sink of its name was.
        """
        same = cursor.replace(HOME, PROCESS, 1)
        if same != cursor and cursor not in self._tokens and (token := self.token(same)):
            self._tokens[cursor] = token
            self.forget(same)
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

    def forget(self, cursor: str) -> None:
        """Forget how far a sink has read."""
        self._tokens.pop(cursor, None)

    def forget_unless(self, stands: Callable[[str, str | None], bool]) -> None:
        """Forget cursors of what stands no more.

        It is asked with a subscription and the name of a sink, None if that is not the home's.
        """
        for cursor in list(self._tokens):
            parts = parts_of(cursor)
            if HOME in cursor:
                is_kept = all(stands(name, sink) for name, sink in parts)
            else:
                is_kept = any(stands(name, None) for name, _ in parts)
            if not is_kept:
                self.forget(cursor)

    def write(self) -> None:
        """Make durable what was noted."""
        if self._tokens != self._written:
            make_directory(self._directory)
            tokens = dict(self._tokens)
            write_edition(self.path, {"tokens": tokens})
            self._written = tokens


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
