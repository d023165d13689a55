"""Golden nodes: what is stored of steps, plans and declarations, byte by byte.

Homes hold these texts, and groups are named after them: one that changes is another format.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.algebra.bounded_joins import BoundedJoinStep
from penstock.algebra.joins import JoinStep
from penstock.algebra.lookups import LookupJoinStep
from penstock.algebra.memories import Lookup, Memory
from penstock.algebra.model_streams import ModelStreamStep
from penstock.algebra.models import ModelQueryStep
from penstock.algebra.multi_joins import MultiJoinStep
from penstock.algebra.physical import ClockStep, FilterStep, KeepStep
from penstock.algebra.range_aggregates import RangeAggregateStep
from penstock.algebra.trees import JoinPlan
from penstock.algebra.views import ViewStep
from penstock.kinds.multi_join.plans import StandingPlan
from penstock.kinds.statistics import Figures
from penstock.operators.catalogue import OPERATORS
from penstock.registry.records import Declaration, SubscriptionRecord
from penstock.vocabulary.codec import Node, decode

STORED: dict[str, Any] = {
    each.__name__: each
    for each in (
        BoundedJoinStep, ClockStep, Declaration, Figures, FilterStep, JoinPlan, JoinStep, KeepStep,
        Lookup, LookupJoinStep, Memory, ModelQueryStep, ModelStreamStep, MultiJoinStep,
        RangeAggregateStep, StandingPlan, SubscriptionRecord, ViewStep,
    )
}  # fmt: skip
LINES = (Path(__file__).parent / "nodes.txt").read_text(encoding="utf-8").splitlines()
NODES = [(name, text) for name, _, text in (line.partition(" ") for line in LINES)]


def read(name: str, data: Any) -> Any:
    return (
        StandingPlan.from_json(7, data) if name == "StandingPlan" else STORED[name].from_json(data)
    )


@pytest.mark.parametrize(("name", "text"), NODES)
def test_what_is_stored_is_read_and_written_as_it_was(name: str, text: str) -> None:
    node = read(name, json.loads(text))
    assert json.dumps(node.to_json()) == text
    assert read(name, json.loads(text)) == node


def test_every_stored_class_and_kind_is_among_them() -> None:
    assert {name for name, _ in NODES} == set(STORED)
    kinds = {json.loads(text).get("kind") for _, text in NODES}
    assert set(OPERATORS) <= kinds


def test_what_is_missing_is_told() -> None:
    with pytest.raises(KeyError, match="relation"):
        KeepStep.from_json({"columns": []})
    with pytest.raises(AssertionError, match="told apart"):
        decode(Memory | Lookup, {"rows": 3})
    assert issubclass(JoinStep, Node)
