"""Warming: every kernel of lookup joins once, with the types of production."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from itertools import product

import numpy as np
import pyarrow as pa

from penstock.algebra.crossings import Crossing
from penstock.algebra.inputs import InputShape
from penstock.algebra.lookups import LookupJoinStep
from penstock.algebra.memories import AUTO, LOOKUP_POLICIES, Lookup, Memory, PolicyName
from penstock.algebra.physical import BranchShape
from penstock.kernels.lookup_caches import keys_slice
from penstock.operators.lookup.operator import LookupJoinOperator
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.rehearsal import rehearse
from penstock.vocabulary.batches import QueryChanges

ROWS = 400
COLUMNS = (("key", pa.int64()), ("text", pa.string()))


class Nowhere:
    """A source that has a row for every key."""

    def columns(self, timeout_s: float) -> pa.Schema:  # noqa: ARG002
        """Give the columns."""
        return pa.schema(list(COLUMNS))

    def fetch(self, keys: pa.Array, timeout_s: float) -> pa.Table:  # noqa: ARG002
        """Give a row for every key."""
        texts = keys.cast(pa.string())
        numbers = keys if pa.types.is_integer(keys.type) else pa.array(np.arange(len(keys)))
        return pa.table([numbers, texts], names=["key", "text"])

    def close(self) -> None:
        """Hold nothing."""


def warm_up(step: LookupJoinStep | None) -> None:
    """Run small groups through everything that a step may need, once per process and policy."""
    keys_slice(np.empty(0, dtype=np.int64), 1, np.empty(0, dtype=np.bool_))  # of large caches only
    policies = LOOKUP_POLICIES if step is None else (step.lookup.memory.policy,)
    for key, policy in product(("key", "text"), policies):
        _run(key, policy)


@cache
def _run(key: str, policy: PolicyName) -> None:
    """Let rows come and go once."""
    step = _small(key, policy)
    numbers = np.arange(ROWS) * 7 % 41
    rows = pa.table([numbers, pa.array(numbers).cast(pa.string())], _names())
    rehearse(
        partial(LookupJoinOperator, step, source=Nowhere()),
        [(QueryChanges(adds={PORT: pa.table({"query": [0]})}), {"s": rows})],
    )


def _names() -> list[str]:
    return [name for name, _ in COLUMNS]


def _small(key: str, policy: PolicyName) -> LookupJoinStep:
    shape = InputShape(relation="s", columns=COLUMNS, branch=BranchShape())
    memory = Memory(rows=16, policy=policy, laws=(AUTO,))
    lookup = Lookup(source="duckdb:nowhere", table="t", key=key, memory=memory)
    return LookupJoinStep(
        inputs=(shape, replace(shape, relation="t")),
        crossing=Crossing(equalities=(((0, key), (1, key)),)),
        lookup=lookup,
        looked_up=1,
    )
