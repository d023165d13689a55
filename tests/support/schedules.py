"""A schedule of batches for tallies: registry versions and events, with the answers they must give.

The answers are computed one event at a time, by nothing that the engine uses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.registry.records import Block, Draft, SubscriptionRecord
from penstock.registry.store import Registry
from penstock.spark.layout import TAG, Layout
from penstock.vocabulary.batches import QueryChanges
from tests.support.tally import TallyStep, tallies

GROUP = "tally-0"
LAYOUT = Layout(("t",), (pa.schema([("n", pa.int64())]),))
RECORD = SubscriptionRecord(name="s", sql="TALLY", relations=("t",), group=GROUP, key="id")

Answer = list[tuple[int, int]]  # (query, n), in the order of events


@dataclass
class Batch:
    """One micro-batch: the flat table that Spark hands over, its version, what must come out."""

    table: pa.Table
    version: int
    answer: Answer


@dataclass
class Schedule:
    """Draws batches; publishes their versions in a real registry."""

    registry: Registry
    seed: int
    standing: dict[int, list[int]] = field(default_factory=dict)
    batches: list[Batch] = field(default_factory=list)
    events: int = 0

    def __post_init__(self) -> None:
        self.chance = np.random.default_rng(self.seed)
        # Some streams are nearly silent while registrations go on.
        self.quiet = float(self.chance.choice([0.0, 0.5, 0.95]))

    @classmethod
    def at(cls, root: Path, seed: int) -> Schedule:
        return cls(Registry(root / "registry"), seed)

    def draw(self) -> Batch:
        """Make the next batch; half of them bring versions, some bring no events."""
        chance = self.chance
        first = self.registry.version + 1
        for _ in range(int(chance.integers(0, 3)) if self.batches else 1):
            self.change()
        versions = list(range(first, self.registry.version + 1))
        rows = 0 if chance.random() < self.quiet else int(chance.integers(0, 12))
        rows = rows if self.batches else 3
        numbers = list(range(self.events, self.events + rows))
        self.events += rows
        answer: Answer = []
        for n in numbers:
            for query, state in self.standing.items():
                state[1] += 1
                if state[1] % state[0] == 0:
                    answer.append((query, n))
        table = flat(versions, numbers)
        self.batches.append(Batch(table, self.registry.version, sorted(answer)))
        return self.batches[-1]

    def change(self) -> None:
        """Publish a version: some queries come, some go."""
        chance = self.chance
        gone = [query for query in self.standing if chance.random() < 0.2]
        everies = chance.integers(1, 6, int(chance.integers(1, 3))).tolist()
        draft = Draft(
            changes={
                GROUP: QueryChanges(
                    adds=tallies(self.registry.next_query, everies),
                    drops=np.array(gone, dtype=np.int64),
                )
            }
        )
        numbers = range(self.registry.next_query, self.registry.next_query + len(everies))
        block = pa.table({"query": numbers, "id": numbers, "silent": [False] * len(everies)})
        draft.blocks.append(Block(record=RECORD, version=self.registry.version + 1, table=block))
        if GROUP not in self.registry.steps:
            draft.steps[GROUP] = TallyStep(relation="t").to_json()
            draft.subscriptions.append(RECORD)
        for query in gone:
            del self.standing[query]
        self.standing |= {query: [e, 0] for query, e in zip(numbers, everies, strict=True)}
        self.registry.publish(draft)


def flat(versions: list[int], numbers: list[int]) -> pa.Table:
    """Give a batch as the union of all streams gives it."""
    tags = [-version for version in versions] + [0] * len(numbers)
    return pa.table(
        {
            TAG: pa.array(tags, pa.int64()),
            "c0_0": pa.array([*([None] * len(versions)), *numbers], pa.int64()),
        }
    )
