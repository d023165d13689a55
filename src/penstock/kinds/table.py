"""The table of kinds: every capability that the engine knows, in the order in which they claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from penstock.algebra.catalog import FOLLOWERS
from penstock.algebra.physical import Step
from penstock.kinds.bounded_join import BOUNDED_JOINS
from penstock.kinds.filter import FILTERS
from penstock.kinds.join import JOINS
from penstock.kinds.lookup_join import LOOKUP_JOINS
from penstock.kinds.multi_join import MULTI_JOINS
from penstock.kinds.protocol import Kind
from penstock.vocabulary.errors import PenstockError

KINDS: dict[str, Kind] = {
    kind.name: kind for kind in (BOUNDED_JOINS, LOOKUP_JOINS, MULTI_JOINS, JOINS, FILTERS)
}


def kind_of(step: Step | Mapping[str, Any]) -> Kind:
    """Give the kind whose groups run a step, as it is or as the registry describes it.

    >>> kind_of({"kind": "band_join"}).name
    'join'
    """
    word = step["kind"] if isinstance(step, Mapping) else step.kind
    for kind in KINDS.values():
        if word in kind.operators:
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
        if described["kind"] not in FOLLOWERS:
            yield group, described, kind_of(described)
