"""Extensions: what other packages bring, found by the entry points that they declare.

A package that is installed beside Penstock, in the engine's environment and in that of Spark's
workers, names its kinds and its operators in its own `pyproject.toml`. Nothing of it is imported
before it is asked for.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from penstock.vocabulary.errors import PenstockError

KINDS, OPERATORS, SINKS = "penstock.kinds", "penstock.operators", "penstock.delivery.sinks"
"""Groups of entry points: kinds of queries, for the engine; of operators, also for workers; of
sinks, by the scheme of their addresses."""


@cache
def extensions(group: str) -> dict[str, EntryPoint]:
    """Give what installed packages declare in a group, by name.

    >>> extensions("penstock.nothing")
    {}
    """
    return {point.name: point for point in sorted(entry_points(group=group))}


def brought(point: EntryPoint, type_: type) -> Any:  # a value of that type
    """Import what an entry point names; refuse what is not there, or is something else."""
    try:
        found = point.load()
    except (ImportError, AttributeError) as error:
        fact = f"{point.value!r}, which an installed package declares, is not there: {error}."
        raise PenstockError("ENG-051", fact, "Repair the package, or remove it.") from None
    if not isinstance(found, type_):
        fact = f"{point.value!r}, which an installed package declares, is no {type_.__name__}."
        raise PenstockError("ENG-051", fact, "Repair the package, or remove it.")
    return found
