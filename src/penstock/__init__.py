"""Penstock: a continuous-query engine for Apache Spark.

Takes: streams and standing queries.
Gives: answers that stay up to date.
Never: a job per query.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.engine import Engine, Receipt, Subscription
    from penstock.spark import sources
    from penstock.vocabulary.errors import PenstockError

__all__ = ["Engine", "PenstockError", "Receipt", "Subscription", "sources"]
__version__ = "0.1.0"

_ROOMS = {
    "Engine": "penstock.engine",
    "Receipt": "penstock.engine",
    "Subscription": "penstock.engine",
    "PenstockError": "penstock.vocabulary.errors",
}


def __getattr__(name: str) -> Any:  # PEP 562
    """Import a public name when it is asked for.

    Spark's workers import single rooms; the whole engine would double their start.
    """
    if name == "sources":
        return import_module("penstock.spark.sources")
    if name in _ROOMS:
        return getattr(import_module(_ROOMS[name]), name)
    raise AttributeError(f"module 'penstock' has no attribute {name!r}")
