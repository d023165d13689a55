"""State of an older format, brought over: built again from what was recorded, or carried.

What operators keep is their own matter, and changes with them. Where all input is recorded, their
state is a function of it: the recorded batches run once more, and what comes of them is not told
again. Where it is not, the rows that tables hold and what joins of two relations keep are carried
over; all other groups begin as new ones do, with the rows of their tables and empty windows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import get_args

import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.joins import JoinKind
from penstock.algebra.physical import KeepStep, Step
from penstock.delivery.log import LoggedBatch, ResultLog
from penstock.delivery.parts import PIECES
from penstock.operators.catalogue import OPERATORS
from penstock.operators.keep import KeepOperator
from penstock.operators.protocol import WHOLE, Share
from penstock.operators.shard import Hosts, Shard, everything
from penstock.storage.files import table_from_bytes
from penstock.storage.state import BatchState
from penstock.vocabulary.batches import Feed

CARRIED = frozenset(get_args(JoinKind))
"""Kinds whose operators read what they kept in the format before."""
NAME = re.compile(rb"[a-z_]+-[0-9a-f]{12}")
"""What names of groups, and of ports that are named after a shape, look like."""
SIGN = "_sign"
"""The column of a change of a kept table, in format 2, that says whether a row came or went."""

Spreading = Callable[[str, pa.Table], pa.Table | None]
"""`(relation, rows)`: the rows of a batch that a shard sees, if any."""


def renamed(data: bytes, names: Mapping[str, str]) -> bytes:
    """Give bytes with new names in place of old ones; names are of one length.

    >>> renamed(b'{"filter-0123456789ab": 1}', {"filter-0123456789ab": "filter-ba9876543210"})
    b'{"filter-ba9876543210": 1}'
    """

    def new(found: re.Match[bytes]) -> bytes:
        old = found[0].decode()
        return names.get(old, old).encode()

    return NAME.sub(new, data)


def all_rows(_relation: str, table: pa.Table) -> pa.Table | None:
    """Show a shard everything: there is no other."""
    return table


def replayed(
    feed: Feed,
    log: ResultLog,
    schemas: Mapping[str, pa.Schema],
    batches: int,
    share: Share = WHOLE,
    hosts: Hosts = everything,
    spread: Spreading = all_rows,
    tell: Callable[[int, int], None] = lambda _done, _all: None,
) -> Shard:
    """Give the shard behind the first batches of a recorded log: they run again, in silence.

    Nobody outside is asked again: a lookup begins with an empty cache.
    """
    shard = Shard(feed, share=share, hosts=lambda step: hosts(step) and not asks_outside(step))
    version = 0
    for number in range(batches):
        batch = log.read(number)
        assert batch is not None, "a log has no holes"
        tables: dict[str, pa.Table] = {}
        for relation, rows in recorded_tables(batch, schemas).items():
            own = spread(relation, rows)
            if own is not None and own.num_rows:
                tables[relation] = own
        version = batch.version
        shard.advance(version)
        shard.process(tables)
        shard.deltas()
        tell(number + 1, batches)
    whole = Shard(feed, share=share, hosts=hosts)
    whole.advance(version, shard.snapshots())
    return whole


def restored_from(
    feed: Feed, states: Sequence[BatchState], share: Share = WHOLE, hosts: Hosts = everything
) -> Shard:
    """Give the shard behind states that operators read: a snapshot, then deltas."""
    shard = Shard(feed, states[0].version, states[0].groups, share, hosts)
    for state in states[1:]:
        shard.catch_up(state.version, state.groups)
    return shard


def carried(
    feed: Feed, states: Sequence[BatchState], share: Share = WHOLE, hosts: Hosts = everything
) -> Shard:
    """Give the shard behind states of format 2: a snapshot, then deltas."""
    if not states:
        return Shard(feed, share=share, hosts=hosts)
    version = states[-1].version
    steps = {
        group: OPERATORS[described["kind"]].step_from_json(described)
        for change in feed(0, version)
        for group, described in change.steps.items()
    }
    joins = {group for group, step in steps.items() if step.kind in CARRIED}
    own = [replace(state, groups=_only(joins, state.groups)) for state in states]
    folded = restored_from(feed, own, share, lambda step: step.kind in CARRIED and hosts(step))
    kept = {
        group: _kept(step, [state.groups[group] for state in states if group in state.groups])
        for group, step in steps.items()
        if isinstance(step, KeepStep) and hosts(step)
    }
    shard = Shard(feed, share=share, hosts=hosts)
    shard.advance(version, {**folded.snapshots(), **kept})
    return shard


def begins_anew(step: Step, is_recorded: bool) -> bool:
    """Say whether a group's state of format 2 is lost: it can be neither built again nor carried.

    A filter keeps none.
    """
    if is_recorded:
        return asks_outside(step)
    return step.kind not in CARRIED | {"keep", "clock", "filter"}


def asks_outside(step: Step) -> bool:
    """Say whether a step's operator asks somebody else: what it was told is not recorded."""
    return OPERATORS[step.kind].asks_outside


def recorded_tables(batch: LoggedBatch, schemas: Mapping[str, pa.Schema]) -> dict[str, pa.Table]:
    """Read the recorded rows of a batch by relation, each in the order in which they came."""
    pieces: dict[str, list[tuple[int, int, pa.Table]]] = {}
    for part, section in enumerate(batch.sections):
        if section.relation in schemas:
            table = section.events()
            pieces.setdefault(section.relation, []).extend(_pieces(table, part))
    found = {}
    for relation, own in pieces.items():
        tables = [piece for _, _, piece in sorted(own, key=lambda each: each[:2])]
        whole = pa.concat_tables(tables) if tables else schemas[relation].empty_table()
        schema = schemas[relation]
        found[relation] = whole.select(schema.names).cast(schema).replace_schema_metadata(None)
    return found


def _pieces(table: pa.Table, part: int) -> Iterator[tuple[int, int, pa.Table]]:
    noted = (table.schema.metadata or {}).get(PIECES)
    first = 0
    for partition, sequence, size in json.loads(noted) if noted else [[part, 0, table.num_rows]]:
        yield partition, sequence, table.slice(first, size)
        first += size


def _only(groups: set[str], states: Mapping[str, bytes]) -> dict[str, bytes]:
    return {group: data for group, data in states.items() if group in groups}


def _kept(step: KeepStep, states: Sequence[bytes]) -> bytes:
    """Give the rows of a table: those of a snapshot, then changes with their signs."""
    keeper = KeepOperator(step, None)
    for data in states:
        keeper.process({step.relation: _with_words(step, table_from_bytes(data))})
        keeper.delta()
    snapshot = keeper.snapshot()
    assert snapshot is not None, "a table tells all that it holds"
    return snapshot


def _with_words(step: KeepStep, table: pa.Table) -> pa.Table:
    words = pa.repeat("insert", table.num_rows)
    if SIGN in table.column_names and SIGN not in dict(step.columns):
        words = pc.if_else(pc.less(table[SIGN], 0), "delete", "insert")
        table = table.drop_columns([SIGN])
    return table.append_column(step.change_column, words)
