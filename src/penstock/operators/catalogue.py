"""Every kind of operator that the engine knows, by the kind of its step."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module

from penstock.operators.protocol import OperatorKind

PLACES = {
    "filter": ("filter", "FILTER"),
    "keep": ("keep", "KEEP"),
    "clock": ("clock", "CLOCK"),
    "select_join": ("join", "JOIN"),
    "band_join": ("join", "JOIN"),
    "window_join": ("join", "JOIN"),
    "multi_join": ("multi_join", "MULTI_JOIN"),
    "bounded_join": ("bounded_join", "BOUNDED_JOIN"),
    "lookup_join": ("lookup", "LOOKUP_JOIN"),
}
"""The package of each kind, and the kind's name in it."""


class Catalogue(MutableMapping[str, OperatorKind]):
    """Kinds by name, each imported when it is first asked for.

    One of Spark's workers that runs filters never sees the code of joins.

    >>> OPERATORS["clock"].tells_apart
    False
    """

    def __init__(self) -> None:
        self._loaded: dict[str, OperatorKind | None] = dict.fromkeys(PLACES)

    def __getitem__(self, name: str) -> OperatorKind:
        found = self._loaded[name]
        if found is None:
            package, constant = PLACES[name]
            found = getattr(import_module(f"penstock.operators.{package}"), constant)
            assert isinstance(found, OperatorKind)
            self._loaded[name] = found
        return found

    def __setitem__(self, name: str, kind: OperatorKind) -> None:
        self._loaded[name] = kind

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._loaded

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded)

    def __len__(self) -> int:
        return len(self._loaded)


OPERATORS = Catalogue()
