"""Lives of many shapes of model queries over one stream, as a registry tells them to shards."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.model_streams import StreamGate, StreamPlan
from penstock.algebra.models import ModelComparison, ModelFilter, StandingModelQuery
from penstock.algebra.physical import PLAN_PORT, ClockStep, signature
from penstock.kinds.model_query.streams import stream_of, with_stream
from penstock.models.sharing.covering import covering
from penstock.models.streams import first_condition
from penstock.operators.protocol import Share
from penstock.operators.shard import Shard
from penstock.registry.folds import unread_groups
from penstock.vocabulary.batches import QueryChanges, Results, VersionChanges
from tests.support import model_queries as models

Told = dict[tuple[Any, ...], int]
GATED = ("above", "beside", "below", "between", "highest_above", "thresholds")
"""Shapes of which most ask something first."""
SHAPES: dict[str, models.ModelForm] = {
    **{
        name: form
        for name, form in {**models.FORMS, **models.WIDE}.items()
        if form.relations == ("s",)
    },
    "above": models.ModelForm(models.above(models.source(), 1, 1.0), comparators=("<",)),
    "beside": models.ModelForm(models.above(models.source(), 1, 2.5), comparators=("<",)),
    "below": models.ModelForm(
        ModelFilter(
            input=models.above(models.source(), 1, 0.5),
            condition=ModelComparison(
                polynomial=models.linear(1.0, constant=-2.0), comparator="<="
            ),
        ),
        comparators=(),
        predicts=True,
    ),
    "highest_above": models.ModelForm(
        models.aggregated(models.above(models.source(), 1, 1.5), "max", (0,)), attributes=("y",)
    ),
}
"""Shapes that read one stream."""


def shared(form: models.ModelForm) -> StandingModelQuery:
    """Bind a form as the engine does: its source is a stream, which others may read."""
    return with_stream(form.bind())


class SharedLife:
    """Shapes that come and go, turn by turn, with rows of the stream that they read."""

    def __init__(
        self, seed: int, turns: int = 6, shapes: int = 5, among: Collection[str] = SHAPES.keys(),
        rows_max: int = 30,
    ) -> None:  # fmt: skip
        chance = self.chance = np.random.default_rng(seed)
        names = chance.choice(sorted(among), min(shapes, len(among)), replace=False).tolist()
        self.logicals = {name: shared(SHAPES[name]) for name in names}
        self.groups = {name: signature(own.shape) for name, own in self.logicals.items()}
        self.versions: list[VersionChanges] = []
        self.batches: list[dict[str, pa.Table]] = []
        self._standing: dict[str, set[int]] = {name: set() for name in names}
        self._steps: dict[str, dict[str, Any]] = {}
        self._next = 0
        self.plans: dict[int, dict[str, QueryChanges]] = {}
        """By version: the plans that streams are forced to."""
        self._planned: dict[str, int] = {}
        rows = models.ModelRows(chance)
        clock = ClockStep(relation="s", event_time="at", type=models.COLUMNS["at"])
        first = {signature(clock): clock.to_json()}
        for turn in range(turns):
            self.versions.append(self._version(turn + 1, first if turn == 0 else {}))
            self.plans[turn + 1] = dict(self._forced(turn + 1))
            size = int(chance.integers(0, rows_max)) if chance.random() < 0.8 else 0
            self.batches.append({"s": rows.batch(size, disorder=models.SECOND // 2)})

    def _version(self, number: int, steps: dict[str, dict[str, Any]]) -> VersionChanges:
        chance, changes, left = self.chance, dict[str, QueryChanges](), list[str]()
        steps = dict(steps)
        for name, logical in self.logicals.items():
            comes, group = chance.random() < 0.5, self.groups[name]
            own = self._standing[name]
            drops = [query for query in sorted(own) if chance.random() < 0.25]
            rows = models.drawn_queries(chance, SHAPES[name], int(chance.integers(1, 4)))
            size = rows.num_rows if comes else 0
            if not size and not drops:
                continue
            changes[group] = models.queries_of(logical, rows.slice(0, size), self._next, drops)
            own -= set(drops)
            if size and group not in self._steps:
                stream = stream_of(logical.shape)
                assert stream is not None
                for name_, step in ((signature(stream), stream), (group, logical.shape)):
                    if name_ not in self._steps:
                        steps[name_] = self._steps[name_] = step.to_json()
            own |= set(range(self._next, self._next + size))
            self._next += size
            if not own and group in self._steps:
                left.append(group)
        left += unread_groups(self._steps, left)
        for group in left:
            del self._steps[group]
        return VersionChanges(version=number, steps=steps, changes=changes, let_go=left)

    def _forced(self, number: int) -> Iterator[tuple[str, QueryChanges]]:
        """Force streams to plans: some of those that ask something first share gates, by chance."""
        for stream in [group for group in self._steps if group.startswith("model_stream")]:
            readers = {
                self.groups[name]: condition
                for name, own in self.logicals.items()
                if self.groups[name] in self._steps
                and stream in own.shape.reads
                and (condition := first_condition(own.shape)) is not None
            }
            parts: dict[int, list[str]] = {}
            for group in readers:
                parts.setdefault(int(self.chance.integers(0, 4)), []).append(group)
            gates = tuple(
                StreamGate(condition=covering([readers[each] for each in own]), readers=tuple(own))
                for part, own in parts.items()
                if part
            )
            entry = pa.table(
                {
                    "query": pa.array([1_000_000 + number], pa.int64()),
                    "plan": [json.dumps(StreamPlan(gates=gates).to_json())],
                }
            )
            drops = [self._planned[stream]] if stream in self._planned else []
            self._planned[stream] = 1_000_000 + number
            yield stream, QueryChanges(adds={PLAN_PORT: entry}, drops=np.array(drops, np.int64))

    def feed(self, only: Collection[str] | None = None, planned: bool = False) -> Any:
        """Give what a shard is fed; `only` some groups, with the streams that they read."""

        def own(names: Iterable[str]) -> list[str]:
            return [n for n in names if only is None or n in only or n.startswith("clock")]

        def feed(after: int, upto: int) -> list[VersionChanges]:
            return [
                VersionChanges(
                    version=each.version,
                    steps={name: each.steps[name] for name in own(each.steps)},
                    changes={
                        **{name: each.changes[name] for name in own(each.changes)},
                        **(self.plans[each.version] if planned else {}),
                    },
                    let_go=own(each.let_go),
                )
                for each in self.versions
                if after < each.version <= upto
            ]

        return feed

    def alone(self, name: str) -> Any:
        """Feed one shape, and a stream that nobody else reads and that began as early."""
        logical = self.logicals[name]
        return self.feed({self.groups[name], *logical.shape.reads})


def told(found: Iterable[tuple[str, Results]], into: Told) -> None:
    """Add up what queries were told, by group, query and content."""
    for group, each in found:
        assert each.rows is not None
        rows = [tuple(map(repr, row.values())) for row in each.rows.to_pylist()]
        for query, event in zip(each.query.tolist(), each.event.tolist(), strict=True):
            into[group, query, *rows[event][:-1]] += int(rows[event][-1])


def run(shard: Shard, version: int, batch: dict[str, pa.Table]) -> Told:
    """Run a batch under a version; give what was told."""
    found: Told = defaultdict(int)
    shard.advance(version)
    told(shard.process(batch), found)
    return {key: count for key, count in found.items() if count}


def moved(shard: Shard, feed: Any, how: str, share: Share | None = None) -> Shard:
    """Give a shard from what another kept, `how` a host would: or the same."""
    if how == "stay":
        return shard
    return Shard(feed, shard.version, shard.snapshots(), share or Share())
