"""What every operator is and does.

An operator lives in a shard. The host calls, for every micro-batch: `apply` for each registry
version that begins with the batch, then `process`, then `delta`. It may call `snapshot` at any
time after `delta`. A copy of the operator elsewhere follows by `apply` and `catch_up`, in the same
order. Everything an operator does is a function of these calls: no clock, no chance. One that asks
somebody else is of a kind that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from penstock.algebra.physical import PLAN_PORT, Step
from penstock.expressions.allowances import EvaluationError, allowance
from penstock.vocabulary.batches import NO_QUERIES, Ints, QueryChanges, Registration, Results
from penstock.vocabulary.codec import Node
from penstock.vocabulary.figures import Figure, Tally

NO_CLOCKS: Mapping[str, int] = {}


class GroupFailureError(EvaluationError):
    """The text of one group cannot be evaluated: the group, and no other, is to be suspended."""

    def __init__(self, error: EvaluationError, group: str) -> None:
        super().__init__(error.code, error.fact, error.remedy)
        self.group = group


@contextmanager
def failures_of(group: str, limit_s: float | None) -> Iterator[None]:
    """Say whose text it was that could not be evaluated, or took longer than it may."""
    try:
        if limit_s is not None:
            with allowance(limit_s):
                yield
        else:
            yield
    except EvaluationError as error:
        raise GroupFailureError(error, group) from error


class Operator(Protocol):
    """The work of one group in one shard."""

    def begin(self, tables: Mapping[str, pa.Table], clocks: Mapping[str, int] = NO_CLOCKS) -> None:
        """Take what was there before the group.

        That is the rows that tables held, without their change column, and the newest event times
        that streams had brought, in microseconds.

        Called at most once, right after `build` and before the first `apply`. What it brings is
        data state: the next `delta` tells of it.
        """

    def apply(self, changes: QueryChanges) -> None:
        """Take a registry version's changes to this group; they hold from the next batch on."""

    def process(self, batch: Mapping[str, pa.Table]) -> list[Results]:
        """Match one micro-batch: a table per relation that the step reads."""

    def delta(self) -> bytes | None:
        """Give what `process` changed in the data state since the last call, or None if nothing.

        Standing queries are not data state: the registry keeps them.
        """

    def catch_up(self, delta: bytes) -> None:
        """Take a delta that another copy of this operator gave, instead of processing its batch."""

    def snapshot(self) -> bytes | None:
        """Give the whole data state, or None if the operator keeps none."""

    def sizes(self) -> Tally:
        """Say what stands, in gauges that the kind declares. The same in every copy."""

    def counts(self) -> Tally:
        """Say what the last `process` met, in counters that the kind declares."""


@runtime_checkable
class RelationOperator(Operator, Protocol):
    """An operator that keeps a relation, which others read: how it changes, and its rows.

    Of all groups, those that keep relations see a batch first, in the order of their declaration.
    """

    @property
    def gives(self) -> str:
        """The name of the relation."""

    @property
    def resolved(self) -> pa.Table | None:
        """How its rows changed in the last batch; None: they did not.

        A row comes or goes as often as it is there, and none does both.
        """

    def rows(self) -> pa.Table:
        """Give the rows that it holds now."""


@runtime_checkable
class FedOperator(Protocol):
    """An operator that reads what operators of other groups make of the same batch.

    Its step names those groups in `reads`. They see every batch, and every delta, before it does.
    """

    def attach(self, feeders: Sequence[Any]) -> None:
        """Read from these operators, from now on; called before `begin`."""


@runtime_checkable
class AnsweringOperator(Protocol):
    """An operator that can say at once what new queries find in what it keeps.

    Others are asked by one of the new queries alone, to which all rows come at once.
    """

    def first_answers(self, asked: Sequence[QueryChanges]) -> list[Results]:
        """Tell new queries WITH SNAPSHOT what they find; they were applied, the batch was not."""


@runtime_checkable
class ClosingOperator(Protocol):
    """An operator that holds something open."""

    def close(self) -> None:
        """Let go of it; it is opened again when it is needed."""


@dataclass(frozen=True, slots=True)
class Share:
    """Which of how many shards an operator works in, and the directory of their home, if any.

    `version` is the one with which an operator begins that was not restored: when its group is
    resumed it begins anew, with another.
    """

    number: int = 0
    count: int = 1
    home: str | None = None
    version: int = 0


WHOLE = Share()


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteCosts:
    """What every strategy would cost for one row, which is chosen, and what that was computed from.

    Without a choice there are no costs; a row that joins with nothing has no choice.
    """

    choice: str | None = None
    costs: dict[str, float] = field(default_factory=dict)
    estimates: dict[str, float] = field(default_factory=dict)
    unit: str = "ns"


@runtime_checkable
class RoutingOperator(Protocol):
    """An operator that has several ways to process a row, and can say what each would cost."""

    def explain_tuple(self, relation: str, row: pa.Table) -> RouteCosts:
        """Tell what each strategy would cost for a row that arrives, and which would be chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveFacts(Node):
    """What a live operator knows that numbers do not say; a kind declares fields for it.

    `SHOWN` names those that EXPLAIN shows in a run; `to_json` gives all of them.
    """

    SHOWN: ClassVar[tuple[str, ...]] = ()

    @property
    def laws(self) -> tuple[Node, ...]:
        """The laws of the streams, where the operator goes by such."""
        return ()

    def shown(self) -> dict[str, Any]:
        """Give what EXPLAIN shows, as far as there is something to show."""
        told = self.to_json()
        own = {name: told.get(name) for name in self.SHOWN}
        return {name: fact for name, fact in own.items() if fact not in (None, [], {})}


NO_FACTS = LiveFacts()


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorKind:
    """How the engine makes and feeds operators of one kind."""

    step_from_json: Callable[[dict[str, Any]], Step]
    """Reads a step from the registry's files."""
    register: Callable[[Any, Any, pa.Table, int], Registration]
    """`(logical, step, parameters, first query number)`: turns rows of parameters into entries; row
    i becomes query number first + i. Never raises for a bad row: it refuses the row."""
    build: Callable[[Any, bytes | None, Share], Operator]
    """`(step, snapshot, share)`: the only way to make or restore an operator. The host then applies
    the registry's versions up to the snapshot's."""
    explain: Callable[[Any, Mapping[str, pa.Table]], dict[str, Any]]
    """`(step, entries by port)`: facts for EXPLAIN about the group as it is now."""
    warm_up: Callable[[Any], None]
    """`(step)`: compiles every kernel that the step's operator may need, or loads it from disk.
    None stands for every step of the kind."""
    check: Callable[[Any], None] | None = None
    """`(step)`: refuses a step that cannot work, for reasons that its text does not show: a file
    that is not there. Asked before a query of it stands."""
    figures: tuple[Figure, ...] = ()
    """What its operators count and measure: `counts` and `sizes` tell nothing else."""
    tells_apart: bool = False
    """Whether a shard tells the counts and sizes of each group also by themselves."""
    cooldown_s: Callable[[Any], float] | None = None
    """`(step)`: its operators ask somebody else, a database; one that does not answer is left alone
    so long. As they may be told something else when a batch is run again, what comes of a batch is
    kept until it cannot be. Rows of such a step have a division: which shard a row goes to depends
    on the row alone."""
    sees_broken: Callable[[Any], bool] = lambda _step: False
    """`(step)`: whether lines that do not parse are rows for its operators, since they ask for
    them. Everybody else is not shown them."""
    begins_full: Callable[[Any], bool] = lambda _step: False
    """`(step)`: whether answers may begin with what there is. The shard asks the operator for it,
    if it is an `AnsweringOperator`, or else one of the new queries alone."""
    facts: Callable[[Any], LiveFacts] | None = None
    """`(operator)`: what a live operator knows that numbers do not say: the laws in force with
    their parameters, the state of a circuit breaker. Asked between two batches."""

    @property
    def asks_outside(self) -> bool:
        """Whether its operators ask somebody else."""
        return self.cooldown_s is not None


def standing_after(changes: Iterable[QueryChanges]) -> Ints:
    """List the queries that stand after some changes of their group; its plans are no queries."""
    added, dropped = [NO_QUERIES], [NO_QUERIES]
    for own in changes:
        added += [
            table["query"].to_numpy() for port, table in own.adds.items() if port != PLAN_PORT
        ]
        dropped.append(own.drops)
    return np.setdiff1d(np.concatenate(added), np.concatenate(dropped))
