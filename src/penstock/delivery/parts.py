"""Parts: the results of one shard in one micro-batch, as two small tables per relation.

An event is stored once, however many standing queries it matches; a match is a pair (query, event).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.kernels.pair_ranges import pairs_divide
from penstock.storage.files import table_from_bytes, table_to_bytes, write_file
from penstock.storage.seals import Seal, SealingFile
from penstock.vocabulary.batches import Ints, Results, Rows

PIECES = b"pieces"
"""Where recorded events say how they came: partition, sequence and rows of every piece."""
TOLD = ("figures", "sizes", "counts")
"""Where a part describes its figures; the last two are of the version before."""
MATCHES = pa.schema([("query", pa.int64()), ("event", pa.int32())])
ROW_GROUP_ROWS = 16_384
"""So many rows are read at the least: who reads one query of many reads few such row groups."""
RANGES_MAX = 256
RANGES_PER_ROW_GROUP = 4


def net_section(table: str) -> str:
    """Name the section that holds how a table's rows changed: what its filters saw.

    >>> net_section("orders")
    'orders/net'
    """
    return f"{table}/net"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The results over one relation: its events, the pairs, and which pairs are whose group's.

    `groups` maps a group to its slice (start, stop) of `matches`; a long slice lies by ranges of
    query numbers. `event` in `matches` counts rows of `events`.
    """

    relation: str
    events: pa.Table
    matches: pa.Table
    groups: dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one shard made of one micro-batch; `told_figures` reads what it told."""

    version: int
    rows_in: int
    sections: tuple[Section, ...] = ()
    told: Mapping[str, Any] = field(default_factory=dict)

    @property
    def matches(self) -> int:
        """Count the pairs."""
        return sum(section.matches.num_rows for section in self.sections)


def kept_section(relation: str) -> str:
    """Name the section that holds how a relation changed which a query keeps, if it is recorded.

    >>> kept_section("cheapest")
    'cheapest/kept'
    """
    return f"{relation}/kept"


def assemble(
    results: Iterable[tuple[str, Results]],
    batch: Mapping[str, pa.Table],
    keep_all: bool,
    resolved: Mapping[str, pa.Table] | None = None,
    keep_kept: bool = False,
) -> tuple[Section, ...]:
    """Gather results by relation and keep each event once; rows that operators made follow.

    With `keep_all` the events that nothing matched are kept too: that is the recorded input. What
    matched of a table is among its `resolved` changes, which are a section of their own. With
    `keep_kept` so are the changes of relations that no source brings.
    """
    found: dict[str, list[tuple[str, Results]]] = {name: [] for name in batch} if keep_all else {}
    resolved = resolved or {}
    kept = {
        kept_section(name): table
        for name, table in resolved.items()
        if keep_kept and name not in batch
    }
    found |= {name: [] for name in kept}
    made: dict[str, list[tuple[Results, pa.Table]]] = {}
    for group, result in results:
        if result.rows is None:
            name = result.relation
            name = net_section(name) if name in resolved else name
            found.setdefault(name, []).append((group, result))
        else:
            made.setdefault(group, []).append((result, result.rows))
    nets = {net_section(name): table for name, table in resolved.items()}
    sources, whole = {**batch, **kept, **nets}, batch if keep_all else {}
    sections = [
        _section(relation, items, sources[relation], relation in kept or relation in whole)
        for relation, items in found.items()
    ]
    return (*sections, *(_made_section(group, items) for group, items in made.items()))


def _made_section(group: str, items: list[tuple[Results, pa.Table]]) -> Section:
    """Give the section of rows that an operator made: they are its group's own relation."""
    moved: list[tuple[str, Results]] = []
    first = 0
    for result, rows in items:
        event = (result.event + first).astype(np.int32) if first else result.event
        moved.append((group, replace(result, event=event)))
        first += rows.num_rows
    assert first <= np.iinfo(np.int32).max, "a batch's rows are counted in 32 bits"
    return _section(group, moved, pa.concat_tables([rows for _, rows in items]), keep_all=False)


def _section(
    relation: str, items: list[tuple[str, Results]], source: pa.Table, keep_all: bool
) -> Section:
    groups: dict[str, tuple[int, int]] = {}
    start = 0
    for group, result in items:
        stop = start + len(result.query)
        first = groups[group][0] if group in groups else start
        groups[group] = (first, stop)
        start = stop
    queries = _concatenate([result.query for _, result in items], np.int64)
    events = _concatenate([result.event for _, result in items], np.int32)
    if not keep_all:
        source, events = _matched(source, events)
    queries, events = _by_ranges(queries, events, groups.values())
    matches = pa.Table.from_arrays([pa.array(queries), pa.array(events)], schema=MATCHES)
    return Section(relation=relation, events=source, matches=matches, groups=groups)


def _concatenate(arrays: list[Any], type_: type) -> Any:
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=type_)


def _by_ranges(
    queries: Ints, events: Rows, slices: Collection[tuple[int, int]]
) -> tuple[Ints, Rows]:
    """Put the pairs of every long slice side by side by ranges of their query numbers."""
    if all(stop - start <= ROW_GROUP_ROWS for start, stop in slices):
        return queries, events
    to_queries, to_events = np.empty_like(queries), np.empty_like(events)
    for own in itertools.starmap(slice, slices):
        row_groups = (own.stop - own.start) // ROW_GROUP_ROWS
        if row_groups:
            ranges = min(RANGES_MAX, RANGES_PER_ROW_GROUP * (row_groups + 1))
            pairs_divide(queries[own], events[own], ranges, to_queries[own], to_events[own])
        else:
            to_queries[own], to_events[own] = queries[own], events[own]
    return to_queries, to_events


def warm_up() -> None:
    """Compile what writes parts, before a batch waits for it."""
    rows = ROW_GROUP_ROWS + 1
    _by_ranges(np.arange(rows), np.zeros(rows, dtype=np.int32), [(0, rows)])


def _matched(source: pa.Table, events: Rows) -> tuple[pa.Table, Rows]:
    """Keep the rows that some pair names, in order, and renumber the pairs."""
    seen = np.zeros(source.num_rows, dtype=np.bool_)
    seen[events] = True
    if seen.all():
        return source, events
    place = np.cumsum(seen, dtype=np.int32) - 1
    return source.filter(pa.array(seen)), place[events].astype(np.int32)


def write_part(part: Part, directory: Path, name: str) -> dict[str, Any]:
    """Write a part's parquet files and describe them, with their seals, for the manifest."""
    sections = []
    for number, section in enumerate(part.sections):
        stem = f"{name}-{number}"
        seals = {}
        for suffix, table in (("events", section.events), ("matches", section.matches)):
            seals[suffix] = _write(table, directory / f"{stem}-{suffix}.parquet")
        sections.append(
            {
                "relation": section.relation,
                "stem": stem,
                "events": section.events.num_rows,
                "matches": section.matches.num_rows,
                "groups": section.groups,
                "seals": seals,
            }
        )
    return {
        "version": part.version,
        "rows_in": part.rows_in,
        "sections": sections,
        **part.told,
    }


def _write(table: pa.Table, path: Path) -> Seal:
    seal: Seal = []

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            sealing = SealingFile(file)
            pq.write_table(
                table,
                sealing,
                compression="none",
                use_dictionary=False,
                version="2.6",
                row_group_size=ROW_GROUP_ROWS,
            )
            seal.extend(sealing.seal)

    # The manifest's own flush of the directory makes the names durable.
    write_file(path, write, named=False)
    return seal


def part_to_bytes(part: Part) -> bytes:
    """Serialise a part so that it can pass through Spark as one binary value."""
    rows = [
        (s.relation, table_to_bytes(s.events), table_to_bytes(s.matches), json.dumps(s.groups))
        for s in part.sections
    ]
    columns = list(zip(*rows, strict=True)) if rows else [(), (), (), ()]
    schema = pa.schema(
        [
            ("relation", pa.string()),
            ("events", pa.large_binary()),
            ("matches", pa.large_binary()),
            ("groups", pa.string()),
        ],
        metadata={
            "version": str(part.version),
            "rows_in": str(part.rows_in),
            **{name: json.dumps(told) for name, told in part.told.items()},
        },
    )
    return table_to_bytes(pa.table([list(column) for column in columns], schema=schema))


def part_from_bytes(data: bytes) -> Part:
    """Give back the part that `part_to_bytes` serialised, in this version or the one before."""
    table = table_from_bytes(data)
    metadata = table.schema.metadata
    names = (name for name in TOLD if name.encode() in metadata)
    told = {name: json.loads(metadata[name.encode()]) for name in names}
    sections = tuple(
        Section(
            relation=row["relation"],
            events=table_from_bytes(row["events"]),
            matches=table_from_bytes(row["matches"]),
            groups={
                group: (start, stop) for group, (start, stop) in json.loads(row["groups"]).items()
            },
        )
        for row in table.to_pylist()
    )
    return Part(
        version=int(metadata[b"version"]),
        rows_in=int(metadata[b"rows_in"]),
        sections=sections,
        told=told,
    )
