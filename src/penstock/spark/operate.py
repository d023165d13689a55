"""The operate stage: one shard per key, its truth in the state store, a live copy in the worker.

The state store holds a head (registry version, step), a delta per step and a snapshot every so
often. The live shard in the worker is a cache: Spark may run a key in any worker, so a copy that
lags is caught up by deltas, and one that does not fit is built anew.

Spark may run a batch again: a task failed, or has a twin, or the driver died before Spark noted
that the batch was done. A shard whose operators are functions of their input makes the same again.
One that asks outside does not: its transcript is durable before Spark sees it, and taken next time.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from penstock.delivery.log import ResultLog
from penstock.delivery.parts import PIECES, part_to_bytes
from penstock.operators.protocol import Share
from penstock.operators.shard import Shard
from penstock.registry.versions import RegistryReader
from penstock.spark.deferral import ShardStates, shard_states
from penstock.spark.hosts import Pipeline, Resting, run_batch
from penstock.spark.lanes import Lane, Lanes
from penstock.spark.older_state import carried, renamed, replayed, restored_from
from penstock.spark.provenance import offsets_of
from penstock.storage.files import table_from_bytes, table_to_bytes
from penstock.storage.state import OLDER, BatchState, read_older
from penstock.storage.transcripts import Transcript, Transcripts
from penstock.vocabulary.errors import PenstockError

SNAPSHOT_EVERY_STEPS = 16
LIVE_SHARDS_MAX = 64
HEADS = "heads"
"""What a batch's manifest calls the steps that it left the shards at, by their numbers."""
_GROUPS = pa.schema([("group", pa.string()), ("data", pa.binary())])


@dataclass(slots=True)
class LiveShard:
    """A shard in this worker, the step of the state store that it is at, and its lane.

    A home that was stopped may have more relations when it starts again: lanes are others then.
    """

    shard: Shard
    step: int
    lane: Lane


_LIVE: OrderedDict[tuple[str, int], LiveShard] = OrderedDict()
"""Worker processes live on between batches; processors do not."""


def batch_number() -> int:
    """Give the number of the micro-batch that this task is of, as Spark tells its tasks."""
    context = TaskContext.get()
    told = None if context is None else context.getLocalProperty("streaming.sql.batchId")
    assert told is not None, "shards run in micro-batches"
    return int(told)


def groups_to_bytes(groups: dict[str, bytes]) -> bytes:
    """Serialise deltas or snapshots of several groups."""
    return table_to_bytes(pa.table([list(groups), list(groups.values())], schema=_GROUPS))


def groups_from_bytes(data: bytes) -> dict[str, bytes]:
    """Give back what `groups_to_bytes` serialised."""
    table = table_from_bytes(data)
    return dict(zip(table["group"].to_pylist(), table["data"].to_pylist(), strict=True))


class ShardProcessor(StatefulProcessor):
    """Runs any shard: it knows nothing of what the operators do."""

    def __init__(self, pipeline: Pipeline, lanes: Lanes) -> None:
        self._pipeline = pipeline
        self._lanes = lanes

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the shard's state."""
        self.begin(shard_states(handle))

    def begin(self, states: ShardStates) -> None:
        """Take the shard's state, which Spark wants opened before rows come."""
        self._feed = RegistryReader(self._pipeline.registry)
        self._transcripts = Transcripts(self._pipeline.transcripts)
        self._head, self._snapshot, self._deltas = states

    def handleInputRows(  # Spark's name
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,
    ) -> Iterator[pd.DataFrame]:
        """Run one micro-batch of one shard: registry changes first, then the events."""
        number = int(key[0])
        version, step = (self._head.get() if self._head.exists() else None) or (0, 0)
        self._refuse_another_state(number, step)
        older = self._pipeline.home / OLDER
        if older.exists() and step < (noted := read_older(older))["begins"]:
            version, step = self._bring_over(number, step, noted)
        live, transcript = self._done(number, version, step, rows)
        live.step = self._keep(live.shard, transcript.deltas, version, step)
        if (live.shard.version, live.step) != (version, step):
            self._head.update((live.shard.version, live.step))
        live.shard.close()  # another process may be asked next, or read meanwhile
        _remember((self._pipeline.engine, number), live)
        yield pd.DataFrame({"key": [number], "step": [live.step], "payload": [transcript.part]})

    def close(self) -> None:
        """Leave the live shards for the next batch."""

    def _refuse_another_state(self, number: int, step: int) -> None:
        """Hold the shard's head against what the batch before noted; of older homes, none did."""
        batch = batch_number()
        before = ResultLog(self._pipeline.results).noted(batch - 1) if batch else None
        noted = ({} if before is None else before.get(HEADS, {})).get(str(number), step)
        if noted != step:
            raise PenstockError(
                "RUN-016",
                f"Spark's store in {self._pipeline.checkpoint / 'state'} has shard {number} as it "
                f"was after step {step:,}, and batch {batch - 1:,} left it at step {noted:,}.",
                "Nothing was run. Restore the home from a copy, all of it from the same one.",
            )

    def _done(
        self, number: int, version: int, step: int, rows: Iterator[pd.DataFrame]
    ) -> tuple[LiveShard, Transcript]:
        """Run the batch, or take what came of it before; give the shard behind it."""
        batch = batch_number()
        offsets = offsets_of(self._pipeline.checkpoint, batch)
        rests = self._pipeline.rests(batch)
        attempt = len(rests.begun)
        live = self._live(number, version, step)
        transcript = self._transcripts.read(number, batch, offsets, attempt)
        if transcript is None:

            def before() -> Shard:
                return self._live(number, version, step).shard

            transcript = self._run(live.shard, number, rows, (rests, before))
            if not live.shard.asks_outside:
                return live, transcript
            if ResultLog(self._pipeline.results).manifest(batch).exists():
                raise self._transcripts.missing(number, batch, attempt)
            if self._transcripts.write(number, batch, transcript, offsets, attempt):
                return live, transcript
            # A twin of this task was faster, and this shard may have been told something else.
            live = self._live(number, version, step)
            transcript = self._transcripts.read(number, batch, offsets, attempt)
        assert transcript is not None, "transcripts stay while their batch may run"
        live.shard.catch_up(transcript.version, transcript.deltas)
        return live, transcript

    def _run(
        self, shard: Shard, number: int, rows: Iterator[pd.DataFrame], resting: Resting
    ) -> Transcript:
        lane, _ = self._lanes.of(number)
        # Every row passes the filters' lane: there, and only there, the input is recorded.
        records = lane.division is None
        tables, version = _unpack(rows, noting=records and self._pipeline.record)
        pipeline = self._pipeline
        part = run_batch(
            shard, tables, version, pipeline.record, records,
            event_times=pipeline.event_times, resting=resting,
        )  # fmt: skip
        return Transcript(shard.version, shard.deltas(), part_to_bytes(part))

    def _live(self, number: int, version: int, step: int) -> LiveShard:
        """Give the shard at the state store's head: the worker's copy caught up, or a new one.

        The copy is taken out of the cache, so that one which fails half-way is never used again.
        """
        live = _LIVE.pop((self._pipeline.engine, number), None)
        fits = (
            live is not None
            and live.lane == self._lanes.of(number)[0]
            and live.shard.version <= version
            and live.step <= step
            and self._feed.reaches(live.shard.version)
            and all(self._deltas.containsKey((s,)) for s in range(live.step + 1, step + 1))
        )
        if live is None or not fits:
            live = self._restored(number)
        for missed in range(live.step + 1, step + 1):
            delta_version, data = self._deltas.getValue((missed,)) or (0, b"")
            live.shard.catch_up(delta_version, groups_from_bytes(data))
        live.shard.advance(version)
        live.step = step
        return live

    def _of(self, number: int) -> tuple[Lane, Share]:
        """Give the lane and the share of a shard, with where its home is."""
        lane, share = self._lanes.of(number)
        return lane, replace(share, home=str(self._pipeline.home))

    def _restored(self, number: int) -> LiveShard:
        lane, share = self._of(number)
        version, step, data = (self._snapshot.get() if self._snapshot.exists() else None) or (
            0, 0, None
        )  # fmt: skip
        groups = groups_from_bytes(data) if data else None
        return LiveShard(Shard(self._feed, version, groups, share, lane.hosts), step, lane)

    def _bring_over(self, number: int, step: int, noted: dict[str, Any]) -> tuple[int, int]:
        """Put what an older format left into the store in this format; give the new head."""
        lane, share = self._of(number)
        pipeline = self._pipeline
        eras = sorted(noted["eras"], key=lambda era: int(era["below"]))
        era = next(era for era in eras if step < era["below"])
        states = self._older_states(step, era["names"])
        if era["read"]:
            shard = restored_from(self._feed, states, share, lane.hosts)
        elif pipeline.record:
            layout = pipeline.layout
            schemas = dict(zip(layout.names, layout.schemas, strict=True))
            shard = replayed(
                self._feed,
                ResultLog(pipeline.results),
                schemas,
                batch_number(),
                share,
                lane.hosts,
                partial(_own_rows, lane, number),
            )
        else:
            shard = carried(self._feed, states, share, lane.hosts)
        _LIVE.pop((pipeline.engine, number), None)
        self._deltas.clear()
        begins = int(noted["begins"])
        snapshots = groups_to_bytes(shard.snapshots())
        self._snapshot.update((shard.version, begins, snapshots))
        self._head.update((shard.version, begins))
        return shard.version, begins

    def _older_states(self, step: int, names: dict[str, str]) -> list[BatchState]:
        """Read a snapshot and the deltas behind it, under their groups' new names."""
        kept = (self._snapshot.get() if self._snapshot.exists() else None) or (0, 0, None)
        told = [(self._deltas.getValue((s,)) or (0, b"")) for s in range(kept[1] + 1, step + 1)]
        states = [(kept[0], kept[2]), *told]
        return [
            BatchState(
                number,
                version,
                {
                    names.get(group, group): renamed(own, names)
                    for group, own in (groups_from_bytes(data) if data else {}).items()
                },
                number == 0,
            )
            for number, (version, data) in enumerate(states)
        ]

    def _keep(self, shard: Shard, deltas: dict[str, bytes], version: int, step: int) -> int:
        """Write the batch's delta; every so often a snapshot instead of the deltas before it.

        Where there is data state, a new registry version is a step too, though its delta may be
        empty: no snapshot is then older than the versions that the registry keeps.
        """
        if not deltas and (step == 0 or shard.version == version):
            return step
        step += 1
        self._deltas.updateValue((step,), (shard.version, groups_to_bytes(deltas)))
        if step % SNAPSHOT_EVERY_STEPS == 0:
            snapshots = groups_to_bytes(shard.snapshots())
            self._snapshot.update((shard.version, step, snapshots))
            # Copies in other workers may lag by a few steps: leave them something to follow.
            for old in range(step - 2 * SNAPSHOT_EVERY_STEPS, step - SNAPSHOT_EVERY_STEPS):
                self._deltas.removeKey((old,))
        return step


def _unpack(rows: Iterator[pd.DataFrame], noting: bool) -> tuple[dict[str, pa.Table], int]:
    """Give the events in the order in which they were packed, and the newest version.

    With `noting`, tables say in their metadata which pieces they are made of: what is recorded in
    several shards can then be put in order again.
    """
    packed = pd.concat(list(rows), ignore_index=True)
    version = int(packed["version"].max())
    events = packed[packed["relation"].notna()].sort_values(["partition", "sequence"])
    parts: dict[str, list[pa.Table]] = {}
    pieces: dict[str, list[list[int]]] = {}
    names = ("relation", "partition", "sequence", "payload")
    for relation, partition, sequence, payload in zip(*(events[n] for n in names), strict=True):
        table = table_from_bytes(payload)
        parts.setdefault(relation, []).append(table)
        pieces.setdefault(relation, []).append([int(partition), int(sequence), table.num_rows])
    tables = {name: pa.concat_tables(own) for name, own in parts.items()}
    if noting:
        tables = {
            name: table.replace_schema_metadata({PIECES: json.dumps(pieces[name])})
            for name, table in tables.items()
        }
    return tables, version


def _own_rows(lane: Lane, number: int, relation: str, table: pa.Table) -> pa.Table | None:
    """Give the rows of a batch that a shard sees."""
    return next((rows for key, rows in lane.spread(relation, table, 0) if key == number), None)


def _remember(name: tuple[str, int], live: LiveShard) -> None:
    _LIVE[name] = live
    while len(_LIVE) > LIVE_SHARDS_MAX:
        _LIVE.popitem(last=False)
