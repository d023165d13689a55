"""The table of kinds: every capability that the engine knows, in the order in which they claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any

from penstock.algebra.catalog import ATTENDANTS
from penstock.algebra.physical import Step
from penstock.kinds.protocol import Kind
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.extensions import KINDS as GROUP
from penstock.vocabulary.extensions import brought, extensions

OWN = (
    "model_query", "view", "range_aggregate", "bounded_join", "lookup_join", "multi_join", "join",
    "filter",
)  # fmt: skip
"""Penstock's own kinds, each the package of its name, in the order in which they claim queries."""


class KindTable(Mapping[str, Kind]):
    """Kinds by name, imported when they are first asked for; those of other packages claim first.

    >>> list(KINDS)[-1], KINDS["filter"].operators
    ('filter', ('filter',))
    """

    @cached_property
    def _kinds(self) -> dict[str, Kind]:
        found: dict[str, Kind] = {}
        own = [import_module(f"penstock.kinds.{name}").KIND for name in OWN]
        for kind in (*(brought(point, Kind) for point in extensions(GROUP).values()), *own):
            if kind.name in found:
                fact = f"Two packages bring a kind of queries that is called {kind.name!r}."
                raise PenstockError("ENG-055", fact, "Remove one of them.")
            found[kind.name] = kind
        return found

    def __getitem__(self, name: str) -> Kind:
        return self._kinds[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)


KINDS = KindTable()


def kind_of(step: Step | Mapping[str, Any]) -> Kind:
    """Give the kind whose groups run a step, as it is or as the registry describes it.

    >>> kind_of({"kind": "band_join"}).name
    'join'
    """
    word = step["kind"] if isinstance(step, Mapping) else step.kind
    for kind in KINDS.values():
        if word in kind.operators or word in kind.feeders:
            return kind
    fact = f"There is no kind of query that runs {word!r}."
    remedy = "Install the package that brings it, or use the Penstock that made this home."
    raise PenstockError("ENG-050", fact, remedy)


def groups_of(steps: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Any, Kind]]:
    """Give the groups of queries among steps as the registry describes them, with their kinds.

    >>> [(group, kind.name) for group, _, kind in groups_of(
    ...     {"a": {"kind": "clock"}, "b": {"kind": "filter"}})]
    [('b', 'filter')]
    """
    for group, described in list(steps.items()):
        if described["kind"] in ATTENDANTS:
            continue
        kind = kind_of(described)
        if described["kind"] in kind.operators:
            yield group, described, kind
