"""Every kind of operator that the engine knows, by the kind of its step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from functools import lru_cache
from importlib import import_module
from typing import Any, cast

from penstock.operators.protocol import OperatorKind
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.extensions import OPERATORS as GROUP
from penstock.vocabulary.extensions import brought, extensions
from penstock.vocabulary.figures import Figure
from penstock.vocabulary.losses import LOSSES, Loss
from penstock.vocabulary.shared_figures import ACTUAL_COST

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
    "view": ("view", "VIEW"),
    "range_aggregate": ("range_aggregate", "RANGE_AGGREGATE"),
    "model_query": ("model_query", "MODEL_QUERY"),
    "model_stream": ("model_query", "MODEL_STREAM"),
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
        found = self._loaded.get(name)
        if found is None:
            found = self._loaded[name] = _imported(name)
        return found

    def __setitem__(self, name: str, kind: OperatorKind) -> None:
        self._loaded[name] = kind

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._loaded or name in extensions(GROUP)

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded)

    def __len__(self) -> int:
        return len(self._loaded)


class UnknownOperatorError(PenstockError, KeyError):
    """No package that is installed here has operators of a kind."""


def _imported(name: str) -> OperatorKind:
    if name in PLACES:
        package, constant = PLACES[name]
        found = getattr(import_module(f"penstock.operators.{package}"), constant)
        assert isinstance(found, OperatorKind)
        return found
    if name not in extensions(GROUP):
        fact = f"No package that is installed here has operators of the kind {name!r}."
        remedy = "Install the one that does, for the engine and for Spark's workers."
        raise UnknownOperatorError("ENG-054", fact, remedy)
    return cast(OperatorKind, brought(extensions(GROUP)[name], OperatorKind))


OPERATORS = Catalogue()


def asks_outside(described: Mapping[str, Any]) -> bool:
    """Say whether the operators of a step, as the registry describes it, ask a database.

    >>> asks_outside({"kind": "clock"})
    False
    """
    return OPERATORS[described["kind"]].asks_outside


def cooldown_s(described: Mapping[str, Any]) -> float | None:
    """Say how long a step leaves a database alone that does not answer; None: it asks none."""
    kind = OPERATORS[described["kind"]]
    if kind.cooldown_s is None:
        return None
    return kind.cooldown_s(kind.step_from_json(dict(described)))


def figures_of(subject: str) -> Mapping[str, Figure]:
    """Give all figures that a group, a relation or the groups of a kind may tell, by name.

    >>> figures_of("clock-1a2b")["actual_cost"].unit
    'nanoseconds'
    """
    kind = subject if subject in OPERATORS else subject.rpartition("-")[0]
    return _named(OPERATORS[kind].figures if kind in OPERATORS else ())


def all_losses() -> dict[str, Loss]:
    """Give all losses by name: those of the house, then those that other packages declare."""
    brought_in = (OPERATORS[name] for name in extensions(GROUP))
    own = [each for kind in brought_in for each in kind.figures if isinstance(each, Loss)]
    return {**LOSSES, **{loss.name: loss for loss in own}}


@lru_cache(maxsize=64)
def _named(figures: tuple[Figure, ...]) -> Mapping[str, Figure]:
    return {figure.name: figure for figure in (ACTUAL_COST, *LOSSES.values(), *figures)}
