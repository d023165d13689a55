"""Penstock: a continuous-query engine for Apache Spark.

Takes: streams and standing queries.
Gives: answers that stay up to date.
Never: a job per query.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.delivery.changes import Change
    from penstock.delivery.sink_kinds import BatchSink, SinkAddress
    from penstock.delivery.sinks import ConsoleSink, Sink
    from penstock.engine import Desk, Engine, Notice, Receipt, Subscription
    from penstock.engine.home_sinks import SinkFacts
    from penstock.engine.home_verification import Outcome
    from penstock.engine.run_figures import RunFigures
    from penstock.operators.bounded import policies
    from penstock.operators.bounded.policies import (
        Candidates,
        CompiledPolicy,
        Rule,
        ScoredPolicy,
        SteppedPolicy,
    )
    from penstock.planning.explanation import Explanation, TupleExplanation
    from penstock.spark import sources
    from penstock.spark.hosts import BatchReport
    from penstock.vocabulary.durations import Duration
    from penstock.vocabulary.errors import PenstockError

__all__ = [
    "BatchReport",
    "BatchSink",
    "Candidates",
    "Change",
    "CompiledPolicy",
    "ConsoleSink",
    "Desk",
    "Duration",
    "Engine",
    "Explanation",
    "Notice",
    "Outcome",
    "PenstockError",
    "Receipt",
    "Rule",
    "RunFigures",
    "ScoredPolicy",
    "Sink",
    "SinkAddress",
    "SinkFacts",
    "SteppedPolicy",
    "Subscription",
    "TupleExplanation",
    "policies",
    "sources",
]
__version__ = "0.1.0"

_ROOMS = {
    "penstock.delivery.changes": ("Change",),
    "penstock.delivery.sink_kinds": ("BatchSink", "SinkAddress"),
    "penstock.delivery.sinks": ("ConsoleSink", "Sink"),
    "penstock.engine": ("Desk", "Engine", "Notice", "Receipt", "Subscription"),
    "penstock.engine.home_sinks": ("SinkFacts",),
    "penstock.engine.home_verification": ("Outcome",),
    "penstock.engine.run_figures": ("RunFigures",),
    "penstock.operators.bounded.policies": (
        "Candidates",
        "CompiledPolicy",
        "Rule",
        "ScoredPolicy",
        "SteppedPolicy",
    ),
    "penstock.planning.explanation": ("Explanation", "TupleExplanation"),
    "penstock.spark.hosts": ("BatchReport",),
    "penstock.vocabulary.durations": ("Duration",),
    "penstock.vocabulary.errors": ("PenstockError",),
}
_MODULES = {
    "policies": "penstock.operators.bounded.policies",
    "sources": "penstock.spark.sources",
}


def __getattr__(name: str) -> Any:  # PEP 562
    """Import a public name when it is asked for.

    Spark's workers import single rooms; the whole engine would double their start.
    """
    if name in _MODULES:
        return import_module(_MODULES[name])
    for room, names in _ROOMS.items():
        if name in names:
            return getattr(import_module(room), name)
    raise AttributeError(f"module 'penstock' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
