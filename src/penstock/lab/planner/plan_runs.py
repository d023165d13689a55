"""Plans run for real: what they cost, make and keep, measured on the operator."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import process_time

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.algebra.multi_joins import KIND
from penstock.algebra.physical import PLAN_PORT
from penstock.algebra.trees import JoinPlan
from penstock.lab.planner.workload import SECOND_US, Batch, PlannerQuery
from penstock.operators.catalogue import OPERATORS
from penstock.operators.protocol import WHOLE, Operator
from penstock.vocabulary.batches import NO_QUERIES, Ints, QueryChanges, Results
from penstock.vocabulary.figures import Key, Tally
from penstock.vocabulary.scatter import splitmix
from penstock.vocabulary.shared_figures import RESULTS, SPAN

SLICE = 8
FIRST_PLAN = 1_000_000
"""Plans are numbered from here; the one query is number 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRun:
    """What one plan did, batch by batch, after the warm-up.

    `services` are seconds of the processor, `counts` and `sizes` the operator's own. `digest` is
    the same for the same results, in whatever order they came; it covers the warm-up too.
    """

    services: tuple[float, ...]
    counts: tuple[Tally, ...]
    sizes: tuple[Tally, ...]
    digest: int
    batch_s: float
    found: npt.NDArray[np.uint64]
    """The names of a slice of the results after the warm-up, one in `SLICE`: enough for recall."""

    @property
    def span_s(self) -> float:
        """How much event time the results are of."""
        return sum(each[SPAN] for each in self.counts) / SECOND_US

    @property
    def cpu(self) -> float:
        """Seconds of the processor per second of event time."""
        return sum(self.services) / (self.batch_s * len(self.services))

    def rate(self, key: Key) -> float:
        """Give a count per second of event time."""
        return sum(each[key] for each in self.counts) / self.span_s

    def mean(self, key: Key) -> float:
        """Give what stood, on average."""
        return float(np.mean([each[key] for each in self.sizes]))

    @property
    def output_rate(self) -> float:
        """Results per second of event time."""
        return self.rate(RESULTS)

    @property
    def results(self) -> int:
        """All results."""
        return sum(each[RESULTS] for each in self.counts)


def planned(number: int, plan: JoinPlan) -> QueryChanges:
    """Give what the operator's port takes to follow a plan, in place of the one before."""
    row = pa.table({"query": pa.array([number]), "plan": [json.dumps(plan.to_json())]})
    before = np.array([number - 1]) if number > FIRST_PLAN else NO_QUERIES
    return QueryChanges(adds={PLAN_PORT: row}, drops=before)


def operator_of(query: PlannerQuery, plan: JoinPlan) -> Operator:
    """Make an operator with the one standing query and a plan."""
    operator = OPERATORS[KIND].build(query.step(), None, WHOLE)
    operator.apply(QueryChanges(adds=query.entries()))
    operator.apply(planned(FIRST_PLAN, plan))
    return operator


def run_plan(
    query: PlannerQuery,
    batches: Sequence[Batch],
    plan: JoinPlan,
    *,
    warm_up: int,
    batch_s: float = 1.0,
    before: JoinPlan | None = None,
    before_batches: int = 0,
) -> PlanRun:
    """Run a plan over batches; those of the warm-up are not judged.

    The first `before_batches` follow the plan `before`, if there is one: a plan that sheds takes
    over full windows, as it does in an engine that runs.

    Only the operator's own work is timed, on the processor's clock: micro-batch in, results and
    the change of its state out.
    """
    operator = operator_of(query, before or plan)
    services, counts, sizes, digest = [], [], [], 0
    names: list[npt.NDArray[np.uint64]] = [np.empty(0, dtype=np.uint64)]
    for number, batch in enumerate(batches):
        if number == before_batches and before is not None:
            operator.apply(planned(FIRST_PLAN + 1, plan))
        started = process_time()
        found = operator.process(batch)
        operator.delta()
        spent = process_time() - started
        made = names_of(found, len(query.sources))
        digest = (digest + int(made.sum(dtype=np.uint64))) % (1 << 64)
        if number >= warm_up:
            names.append(made[made % np.uint64(SLICE) == 0])
            services.append(spent)
            counts.append(operator.counts())
            sizes.append(operator.sizes())
    return PlanRun(
        services=tuple(services),
        counts=tuple(counts),
        sizes=tuple(sizes),
        digest=digest,
        batch_s=batch_s,
        found=np.concatenate(names),
    )


def names_of(results: Iterable[Results], inputs: int) -> npt.NDArray[np.uint64]:
    """Name every result by a hash of its constituents; the sum of all knows no order."""
    names = [np.empty(0, dtype=np.uint64)]
    for found in results:
        assert found.rows is not None
        with np.errstate(over="ignore"):
            hashes = np.zeros(found.rows.num_rows, dtype=np.uint64)
            for number in range(inputs):
                ids = found.rows[f"i{number}.id"].to_numpy().astype(np.uint64)
                hashes = splitmix(hashes ^ ids + np.uint64(number))
            names.append(hashes[found.event])
    return np.concatenate(names)


def alternately(
    query: PlannerQuery,
    batches: Sequence[Batch],
    plans: Mapping[str, JoinPlan],
    *,
    warm_up: int,
    rounds: int,
    batch_s: float = 1.0,
) -> dict[str, PlanRun]:
    """Run every plan once per round, in turn; a batch's service time is its best.

    The machine's moods fall on all plans alike, and can only slow a batch down.
    """
    runs: dict[str, list[PlanRun]] = {name: [] for name in plans}
    for _ in range(rounds):
        for name, plan in plans.items():
            run = run_plan(query, batches, plan, warm_up=warm_up, batch_s=batch_s)
            runs[name].append(run)
    return {name: _best(found) for name, found in runs.items()}


def _best(runs: Sequence[PlanRun]) -> PlanRun:
    first = runs[0]
    assert all(each.digest == first.digest for each in runs), "a plan gives what it gave before"
    services = zip(*(each.services for each in runs), strict=True)
    return PlanRun(
        services=tuple(min(each) for each in services),
        counts=first.counts,
        sizes=first.sizes,
        digest=first.digest,
        batch_s=first.batch_s,
        found=first.found,
    )


def ids_of(table: pa.Table) -> Ints:
    """Give the constituents' numbers of joined rows, one line per row, sorted."""
    columns = [table[name].to_numpy() for name in table.column_names]
    lines = np.stack(columns, axis=1).astype(np.int64)
    return lines[np.lexsort(lines.T[::-1])]
