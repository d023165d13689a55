"""A shard: the live operators of all groups in one place, and how they move from batch to batch.

Both hosts run shards and nothing else, so that an answer does not depend on the host.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from penstock.operators.catalogue import OPERATORS
from penstock.operators.protocol import WHOLE, Operator, Share
from penstock.vocabulary.batches import Feed, Results, added


class Shard:
    """The operators of one shard at one registry version.

    >>> shard = Shard(lambda after, upto: [])
    >>> shard.advance(0)
    >>> shard.process({})
    []
    """

    def __init__(
        self,
        feed: Feed,
        version: int = 0,
        snapshot: Mapping[str, bytes] | None = None,
        share: Share = WHOLE,
    ) -> None:
        """Build, or restore at `version`: data state from the snapshot, queries from the feed."""
        self._feed = feed
        self._share = share
        self._operators: dict[str, Operator] = {}
        self.version = 0
        self._advance(version, snapshot or {})

    def advance(self, version: int) -> None:
        """Take over the registry's changes up to `version`; they hold from the next batch on."""
        self._advance(version, {})

    def catch_up(self, version: int, deltas: Mapping[str, bytes]) -> None:
        """Follow a batch that another copy of this shard ran under `version`."""
        self.advance(version)
        for group, delta in deltas.items():
            self._operators[group].catch_up(delta)

    def _advance(self, version: int, snapshot: Mapping[str, bytes]) -> None:
        if version <= self.version:
            return
        for change in self._feed(self.version, version):
            for group, step in change.steps.items():
                kind = OPERATORS[step["kind"]]
                self._operators[group] = kind.build(
                    kind.step_from_json(step), snapshot.get(group), self._share
                )
            for group, changes in change.changes.items():
                self._operators[group].apply(changes)
        self.version = version

    def process(self, batch: Mapping[str, pa.Table]) -> list[tuple[str, Results]]:
        """Run one micro-batch through every group."""
        return [
            (group, results)
            for group, operator in self._operators.items()
            for results in operator.process(batch)
            if len(results.query)
        ]

    def deltas(self) -> dict[str, bytes]:
        """Give each group's change of data state since the last call."""
        found = {group: operator.delta() for group, operator in self._operators.items()}
        return {group: data for group, data in found.items() if data is not None}

    def snapshots(self) -> dict[str, bytes]:
        """Give each group's whole data state."""
        found = {group: operator.snapshot() for group, operator in self._operators.items()}
        return {group: data for group, data in found.items() if data is not None}

    def sizes(self) -> dict[str, int]:
        """Say what stands in all groups."""
        return added(operator.sizes() for operator in self._operators.values())

    def counts(self) -> dict[str, int]:
        """Say what the last batch met in all groups."""
        return added(operator.counts() for operator in self._operators.values())
