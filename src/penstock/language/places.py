"""Where in a text something stands, and what the writer may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from sqlglot import exp

from penstock.vocabulary.errors import PenstockError, Place


@dataclass(frozen=True, slots=True)
class ScriptSource:
    """The characters `start` to `end` (exclusive) of a script.

    >>> ScriptSource("SELECT 1; SELECT 2", 10, 18).text
    'SELECT 2'
    """

    script: str
    start: int
    end: int

    @classmethod
    def whole(cls, text: Any) -> ScriptSource:
        """Take a text for itself."""
        if not isinstance(text, str):
            fact = f"A query is a text, and this is a {type(text).__name__}."
            raise PenstockError("SQL-002", fact, "Write SELECT … FROM … WHERE … in quotes.")
        return cls(text, 0, len(text))

    @property
    def text(self) -> str:
        """The piece itself."""
        return self.script[self.start : self.end]

    @property
    def place(self) -> Place:
        """Where the piece begins."""
        return self.place_at(0)

    def place_at(self, offset: int) -> Place:
        """Give the line and column, in the script, of a character of this piece."""
        at = self.start + offset
        # The same splitlines() with which Place shows its line: it also breaks at \r and \f.
        lines = self.script.splitlines(keepends=True) or [""]
        begin = 0
        for number, line in enumerate(lines[:-1], start=1):
            if at < begin + len(line):
                return Place(line=number, column=at - begin + 1, text=self.script)
            begin += len(line)
        return Place(line=len(lines), column=at - begin + 1, text=self.script)

    def place_within(self, place: Place) -> Place:
        """Give the place, in the script, of one that was found in this piece alone."""
        before = self.text.splitlines(keepends=True)[: place.line - 1]
        return self.place_at(sum(len(line) for line in before) + place.column - 1)

    def place_of(self, node: exp.Expr) -> Place:
        """Give the place where a node of this piece's tree begins.

        Nodes made of keywords carry no position: then the nearest parent's counts.
        """
        at: exp.Expr | None = node
        while at is not None:
            starts = [child.meta["start"] for child in at.walk() if "start" in child.meta]
            if starts:
                return self.place_at(min(starts))
            at = at.parent
        return self.place

    def error(
        self, code: str, fact: str, remedy: str, at: exp.Expr | int | None = None
    ) -> PenstockError:
        """Make an error that points into this piece: at a node, at an offset, or at its start."""
        if at is None:
            place = self.place
        else:
            place = self.place_at(at) if isinstance(at, int) else self.place_of(at)
        return PenstockError(code, fact, remedy, place)


def suggestion(name: str, known: Iterable[str], otherwise: str) -> str:
    """Say which known name was meant, or else `otherwise`.

    >>> suggestion("prise", ["price", "symbol"], "Look again.")
    "Did you mean 'price'?"
    """
    by_lower = {each.lower(): each for each in known}
    close = get_close_matches(str(name).lower(), by_lower, n=1, cutoff=0.6)
    return f"Did you mean {by_lower[close[0]]!r}?" if close else otherwise


def listing(names: Iterable[str], limit: int = 12) -> str:
    """List names for a remedy, cut where nobody reads on.

    >>> listing(["a", "b", "c"], limit=2)
    'a, b, … (3 in all)'
    """
    all_names = list(names)
    shown = ", ".join(all_names[:limit])
    return shown if len(all_names) <= limit else f"{shown}, … ({len(all_names)} in all)"
