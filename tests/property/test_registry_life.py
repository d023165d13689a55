"""The registry's life: registrations, drops, alterations, restarts, tidying, against plain dicts.

The model keeps, for every version, which query stood in which group; whatever the registry did with
its files, folding what its reader gives must say the same.
"""

from __future__ import annotations

import copy
import shutil
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from penstock.algebra.catalog import Relation
from penstock.registry import folds
from penstock.registry.records import (
    NEVER,
    Block,
    Declaration,
    Draft,
    Source,
    SubscriptionRecord,
)
from penstock.registry.store import Registry
from penstock.storage import disk
from penstock.vocabulary.batches import Feed, QueryChanges

NAMES = ("a", "b", "c")
GROUPS = ("g0", "g1")
Standing = dict[str, dict[int, int]]  # by group: the payload of every standing query


def record(name: str, group: str, text: int) -> SubscriptionRecord:
    return SubscriptionRecord(
        name=name, sql=f"SELECT {text}", relations=("t",), group=group, key="id"
    )


def fold(feed: Feed, after: int, upto: int, begin: Standing) -> Standing:
    """Follow the registry's changes as a shard does."""
    # A shard that starts from nothing must hear of a group's step before its changes.
    found: Standing = copy.deepcopy(begin) if not after else defaultdict(dict, copy.deepcopy(begin))
    for version in feed(after, upto):
        for group in version.steps:
            found.setdefault(group, {})
        for group, change in version.changes.items():
            for query in change.drops.tolist():
                found[group].pop(query, None)
            table = change.adds.get("port")
            if table is not None:
                pairs = zip(table["query"].to_pylist(), table["v"].to_pylist(), strict=True)
                found[group].update(pairs)
    return {group: queries for group, queries in found.items() if queries}


class RegistryLife(RuleBasedStateMachine):
    """Drives a registry and its model through the same changes."""

    @initialize(
        history=st.sampled_from([False, False, True]),
        per_base=st.integers(1, 3),
        lag=st.sampled_from([0, 0, 1, 3, None]),
    )
    def start(self, history: bool, per_base: int, lag: int | None) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="penstock-registry-"))
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(folds, "VERSIONS_PER_BASE_MAX", per_base)
        self.patch.setattr(disk, "flush", lambda path: None)  # no power cut in here
        self.history, self.lag = history, lag
        self.registry = Registry(self.root, keep_history=history)
        # By version: what stood in which group. By name: query → (id, payload, group).
        self.past: list[Standing] = [{}]
        self.members: dict[str, dict[int, tuple[str, int, str]]] = {}
        self.records: dict[str, SubscriptionRecord] = {}
        self.lives: dict[int, tuple[SubscriptionRecord, int, int]] = {}
        self.silent: set[int] = set()
        self.next = 0
        self.settled = 0
        self.bases = [0]
        relation = Relation(name="T", kind="stream", schema=pa.schema([("x", pa.int64())]))
        self.publish(Draft(declarations=[Declaration(relation=relation, source=Source())]))

    def teardown(self) -> None:
        if hasattr(self, "patch"):
            self.patch.undo()
            shutil.rmtree(self.root)

    def publish(self, draft: Draft) -> None:
        expected = len(self.past)
        assert self.registry.publish(draft) == expected
        self.past.append(
            {
                group: queries
                for group in GROUPS
                if (
                    queries := {
                        query: payload
                        for own in self.members.values()
                        for query, (_, payload, of) in own.items()
                        if of == group
                    }
                )
            }
        )

        if self.lag is not None:
            self.settle(max(self.settled, len(self.past) - 1 - self.lag))

    def adds(self, draft: Draft, of: SubscriptionRecord, size: int, gap: int) -> None:
        """Draft `size` queries; rows that were refused leave gaps among the numbers."""
        numbers = [self.next + i * (1 + gap) for i in range(size)]
        version = len(self.past)
        silent = [number % 5 == 0 for number in numbers]
        table = pa.table(
            {
                "query": pa.array(numbers, pa.int64()),
                "id": pa.array([f"i{number}" for number in numbers]),
                "silent": pa.array(silent),
            }
        )
        draft.blocks.append(Block(record=of, version=version, table=table))
        before = draft.changes.get(of.group, QueryChanges())
        entries = pa.table({"query": table["query"], "v": pa.array([n * 7 for n in numbers])})
        draft.changes[of.group] = QueryChanges(adds={"port": entries}, drops=before.drops)
        if of.group not in self.registry.steps:
            draft.steps[of.group] = {"kind": "none", "group": of.group}
        for number, quiet in zip(numbers, silent, strict=True):
            self.members[of.name][number] = (f"i{number}", number * 7, of.group)
            self.lives[number] = (of, version, NEVER)
            if quiet:
                self.silent.add(number)
        self.next = numbers[-1] + 1 if numbers else self.next

    def drops(self, draft: Draft, name: str, queries: list[int]) -> None:
        for query in queries:
            _, _, group = self.members[name].pop(query)
            of, since, _ = self.lives[query]
            self.lives[query] = (of, since, len(self.past))
            before = draft.changes.get(group, QueryChanges())
            drops = np.sort(np.append(before.drops, query))
            draft.changes[group] = QueryChanges(adds=before.adds, drops=drops)

    @rule(
        name=st.sampled_from(NAMES),
        group=st.sampled_from(GROUPS),
        size=st.integers(1, 4),
        gap=st.integers(0, 2),
    )
    def subscribe_or_add(self, name: str, group: str, size: int, gap: int) -> None:
        draft = Draft()
        if name not in self.records:
            self.records[name] = record(name, group, self.next)
            self.members[name] = {}
            draft.subscriptions.append(self.records[name])
        # Parameters of another type may lead to another group under the same text.
        own = self.records[name]
        self.adds(draft, record(name, group, int(own.sql.split()[1])), size, gap)
        self.publish(draft)

    @rule(name=st.sampled_from(NAMES), every=st.integers(1, 3))
    def drop(self, name: str, every: int) -> None:
        chosen = sorted(self.members.get(name, {}))[::every]
        if chosen:
            draft = Draft()
            self.drops(draft, name, chosen)
            self.publish(draft)

    @rule(name=st.sampled_from(NAMES))
    def end(self, name: str) -> None:
        if name in self.records:
            draft = Draft(ended=[name])
            self.drops(draft, name, sorted(self.members[name]))
            del self.records[name], self.members[name]
            self.publish(draft)

    @rule(name=st.sampled_from(NAMES), group=st.sampled_from(GROUPS), every=st.integers(1, 2))
    def alter(self, name: str, group: str, every: int) -> None:
        chosen = sorted(self.members.get(name, {}))[::every]
        if chosen:
            self.records[name] = record(name, group, self.next)
            draft = Draft(subscriptions=[self.records[name]])
            self.drops(draft, name, chosen)
            self.adds(draft, self.records[name], len(chosen), 0)
            self.publish(draft)

    @rule(share=st.floats(0, 1))
    def tidy(self, share: float) -> None:
        self.settle(self.settled + int(share * (len(self.past) - 1 - self.settled)))

    def settle(self, version: int) -> None:
        self.settled = version
        per_base = folds.VERSIONS_PER_BASE_MAX
        if not self.history and self.settled - self.bases[-1] > per_base:
            self.bases.append(self.settled)
        self.registry.tidy(self.settled)

    @rule(torn=st.booleans())
    def reopen(self, torn: bool) -> None:
        """Open the files again, perhaps after a crash at the worst moments."""
        version = len(self.past) - 1
        newest = self.root / "announcements" / f"{version:012d}.txt"
        if torn and newest.exists() and version > self.settled:
            newest.unlink()  # written, never announced
            for place in ("versions", "bases"):
                half = self.root / place / f".{version + 1:012d}.99999.tmp"
                half.mkdir(exist_ok=True)
                (half / "manifest.json").write_text("{")
            (self.root / "announcements" / f".{version + 1:012d}.json.99999.tmp").write_text("{")
        self.registry = Registry(self.root, keep_history=self.history)

    @precondition(lambda self: hasattr(self, "registry"))
    @invariant()
    def everything_stands_as_in_the_model(self) -> None:
        registry = self.registry
        assert registry.version == len(self.past) - 1
        assert registry.next_query == self.next
        assert list(registry.catalog) == ["t"]
        assert dict(registry.subscriptions) == self.records
        for name, own in self.members.items():
            assert registry.standing(name) == len(own)
            ids = {
                query: id_
                for block in registry.blocks[name]
                for query, id_, alive in zip(
                    block.query.tolist(), block.table["id"].to_pylist(), block.alive, strict=True
                )
                if alive
            }
            assert ids == {query: id_ for query, (id_, _, _) in own.items()}
        standing = {query for own in self.members.values() for query in own}
        counts = registry.counts()
        assert counts["queries"] == len(standing)
        assert counts["queries_never_matching"] == len(standing & self.silent)
        for group in GROUPS:
            expected = sorted(self.past[-1].get(group, {}))
            assert registry.queries_of_group(group).tolist() == expected
            entries = registry.entries(group).get("port")
            found = [] if entries is None else entries["query"].to_pylist()
            assert found == expected

    @precondition(lambda self: hasattr(self, "registry"))
    @invariant()
    def every_version_is_announced(self) -> None:
        announced = [int(p.stem) for p in (self.root / "announcements").glob("[0-9]*.txt")]
        assert max(announced) == self.registry.version

    @precondition(lambda self: hasattr(self, "registry"))
    @invariant()
    def shards_can_follow(self) -> None:
        """Cold from the previous base on, and step by step from any version that is reachable."""
        reader, version = self.registry.reader, len(self.past) - 1
        oldest = self.bases[-2] if len(self.bases) > 1 else 0
        for upto in range(oldest, version + 1):
            assert fold(reader, 0, upto, {}) == self.past[upto]
        for after in range(version + 1):
            assert reader.reaches(after) or after < oldest
            if after and reader.reaches(after):
                assert fold(reader, after, version, self.past[after]) == self.past[version]

    @precondition(lambda self: hasattr(self, "registry") and self.history)
    @invariant()
    def history_tells_when_and_under_which_text(self) -> None:
        found = {
            query: (of, block.version, dropped)
            for name in self.registry.names()
            for of, block in self.registry.history(name)
            for query, dropped in zip(block.query.tolist(), block.dropped.tolist(), strict=True)
        }
        assert found == self.lives


TestRegistryLife = RegistryLife.TestCase
TestRegistryLife.settings = settings(max_examples=20, stateful_step_count=20)
