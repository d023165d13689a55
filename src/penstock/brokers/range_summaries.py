"""Which ranges an edge holds, as it tells a publisher: so what concerns nobody need not be sent.

A summary has the ends of ranges as floats, which keep the order, if not all digits, and where there
are very many boxes, those that contain several of them. A publisher that asks it may be told that a
message concerns the edge when it does not, never the reverse.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.brokers.message_format import MessageForm, numbers_of
from penstock.brokers.protocol import END, PUBLISH_BYTES_MAX, Broker, Publication
from penstock.kernels.boxes import STACK as BOXES_STACK
from penstock.kernels.float_keys import floats_key
from penstock.kernels.packed_boxes import boxes_pack, keys_place, points_meet
from penstock.kernels.range_points import (
    STACK,
    RangePoints,
    RangeRectangles,
    points_build,
    rectangles_meet,
)
from penstock.vocabulary.batches import Flags, Floats, Ints

APART = "\x1f"
"""Between the values of a partition, where they are one text."""
SLACK = 1e-12
"""So much wider, as a share, messages are taken: an end may be written in several types."""
PARTITION, ENDS = "partition", (("lo", "hi"), ("lo_2", "hi_2"))
BOXES_MAX = 65_536
"""So many boxes a summary has, and one more for each partition."""
ROWS_MAX = PUBLISH_BYTES_MAX // 64
"""So many rows of a summary are kept as one value, if their texts are not long."""


def partition_texts(columns: Sequence[pa.Array], form: MessageForm) -> pa.Array | None:
    """Give partitions as texts, NULL where a value is; None if there is one partition only."""
    if not columns:
        return None
    parts = []
    for column, name in zip(columns, form.partition, strict=True):
        own = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        own = own.cast(form.schema.field(name).type)
        if pa.types.is_floating(own.type):  # 0.0 and -0.0 are equal, and one text
            own = pc.add(own, pa.scalar(0, own.type))
        parts.append(own.cast(pa.string()))
    return pc.binary_join_element_wise(*parts, APART)


@dataclass(frozen=True, slots=True)
class SummaryNotice:
    """What an edge publishes under `end` below its own root: which summary it has kept."""

    digest: str
    chunks: int

    def to_bytes(self) -> bytes:
        """Write it down, as JSON."""
        return json.dumps({"digest": self.digest, "chunks": self.chunks}).encode()

    @staticmethod
    def of_bytes(data: bytes) -> SummaryNotice:
        """Read what was written down."""
        facts = json.loads(data)
        return SummaryNotice(str(facts["digest"]), int(facts["chunks"]))


def summary_of(partitions: pa.Array | None, sides: Sequence[tuple[Floats, Floats]]) -> pa.Table:
    """Give the ranges of an edge, each once, in an order that they alone decide.

    Where subscribers have two ranges each, these are boxes, and very many become fewer.
    """
    texts = pa.repeat(pa.scalar(""), len(sides[0][0])) if partitions is None else partitions
    columns = {PARTITION: texts.cast(pa.string())}
    for names, ends in zip(ENDS, sides, strict=False):
        columns |= {name: pa.array(own) for name, own in zip(names, ends, strict=True)}
    rows = _once(pa.table(columns))
    return _once(_covered(rows)) if len(sides) == len(ENDS) and len(rows) > BOXES_MAX else rows


def _once(rows: pa.Table) -> pa.Table:
    found = rows.group_by(rows.column_names).aggregate([]).select(rows.column_names)
    return found.sort_by([(name, "ascending") for name in rows.column_names]).combine_chunks()


def _covered(rows: pa.Table) -> pa.Table:
    """Give boxes of which each contains several that lie beside each other in one partition."""
    coded = _coded(rows)
    codes, keys = np.asarray(coded.indices, dtype=np.int64), _sides(rows)
    order = boxes_pack(np.stack([*keys[0], *keys[1]], axis=1))[0]
    order = order[np.argsort(codes[order], kind="stable")]
    codes = codes[order]
    begins = np.flatnonzero(np.diff(codes, prepend=-1))
    number = np.arange(len(codes)) - np.repeat(begins, np.diff(begins, append=len(codes)))
    starts = np.flatnonzero(number % -(-len(rows) // BOXES_MAX) == 0)
    columns = {PARTITION: coded.dictionary.take(pa.array(codes[starts]))}
    for low, high in ENDS:
        columns[low] = pa.array(np.minimum.reduceat(rows[low].to_numpy()[order], starts))
        columns[high] = pa.array(np.maximum.reduceat(rows[high].to_numpy()[order], starts))
    return pa.table(columns)


def announce(broker: Broker, summary: pa.Table) -> str:
    """Keep a summary below an edge's own root, and tell of it; give its digest.

    One that is there already is left as it is.
    """
    rest = [summary.slice(at, ROWS_MAX) for at in range(0, max(len(summary), 1), ROWS_MAX)]
    chunks = [piece for own in rest for piece in _streams(own)]
    notice = SummaryNotice(_digest(chunks), len(chunks))
    newest = broker.newest(END)
    if newest is not None and SummaryNotice.of_bytes(newest.payload) == notice:
        return notice.digest
    turn = 0 if newest is None else newest.batch + 1
    broker.keep({_name(turn, at): chunk for at, chunk in enumerate(chunks)})
    broker.publish([Publication(END, notice.to_bytes(), turn, 0)])
    return notice.digest


def announced(kept: Mapping[str, bytes], notice: Publication) -> pa.Table | None:
    """Read the summary that a notice is of; None if it is not there, or not whole."""
    told = SummaryNotice.of_bytes(notice.payload)
    found = [kept.get(_name(notice.batch, at)) for at in range(told.chunks)]
    chunks = [own for own in found if own is not None]
    if len(chunks) < told.chunks or _digest(chunks) != told.digest:
        return None
    return pa.concat_tables([pa.ipc.open_stream(own).read_all() for own in chunks])


def _streams(rows: pa.Table) -> list[bytes]:
    """Write rows as Arrow's streams, none of which is too large for a broker."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, rows.schema) as writer:
        writer.write_table(rows)
    data = bytes(out.getvalue())
    if len(data) <= PUBLISH_BYTES_MAX or len(rows) < 2:  # one is not divided
        return [data]
    half = len(rows) // 2
    return _streams(rows.slice(0, half)) + _streams(rows.slice(half))


def _name(turn: int, number: int) -> str:
    return f"r{turn % 2}.{number}"


def _digest(chunks: Sequence[bytes]) -> str:
    found = hashlib.sha256()
    for own in chunks:
        found.update(len(own).to_bytes(8) + own)
    return found.hexdigest()[:32]


class RangeSummary:
    """The ranges of an edge, as a publisher knows them: one for each subscriber, or two."""

    def __init__(self, summary: pa.Table) -> None:
        coded = _coded(summary)
        self._partitions = coded.dictionary
        codes = np.asarray(coded.indices, dtype=np.int64)
        are_boxes = ENDS[1][0] in summary.column_names
        self._index = BoxSummary(codes, summary) if are_boxes else IntervalSummary(codes, summary)

    def concerned(self, form: MessageForm, rows: pa.Table) -> Flags:
        """Say which rows may concern a range of the edge: all that do, and few others."""
        return self._index.concerned(form, rows, self._codes(form, rows))

    def _codes(self, form: MessageForm, rows: pa.Table) -> Ints:
        texts = partition_texts([rows[name] for name in form.partition], form)
        texts = pa.repeat(pa.scalar(""), len(rows)) if texts is None else texts
        found = pc.index_in(texts, value_set=self._partitions).fill_null(-1)
        return np.asarray(found, dtype=np.int64)


class IntervalSummary:
    """Ranges of one attribute, as points in the plane of ranges."""

    def __init__(self, codes: Ints, summary: pa.Table) -> None:
        order = np.argsort(codes, kind="stable")
        directory, starts = np.unique(codes[order], return_index=True)
        ((lows, highs),) = _sides(summary)
        self._stack = np.empty(STACK, np.int64)
        self._points = RangePoints(
            directory, np.append(starts, len(order)).astype(np.int64), lows[order], highs[order],
            np.arange(len(order), dtype=np.int32),
        )  # fmt: skip
        points_build(self._points, self._stack)

    def concerned(self, form: MessageForm, rows: pa.Table, codes: Ints) -> Flags:
        """Say which rows, of coded partitions, may concern a range."""
        found = np.zeros(len(rows), np.bool_)
        asked = _rectangles(form, rows, codes)
        rectangles_meet(self._points, asked, self._stack, np.empty(1, np.int32), found)
        return found


class BoxSummary:
    """Boxes of two attributes in partitions, somewhat wider than they are."""

    def __init__(self, codes: Ints, summary: pa.Table) -> None:
        (low, high), second = _sides(summary, SLACK)
        self._ends = np.unique(np.concatenate([low, high]))
        first = [keys_place(codes, each, self._ends) for each in (low, high)]
        _, self._tree, self._starts = boxes_pack(np.stack([*first, *second], axis=1))

    def concerned(self, form: MessageForm, rows: pa.Table, codes: Ints) -> Flags:
        """Say which rows, of coded partitions, may concern a box."""
        first, second = (_keys(_numbers(rows[name])) for name in form.places)
        points = np.stack([keys_place(codes, first, self._ends), second], axis=1)
        found = np.zeros(len(rows), np.bool_)
        points_meet(points, self._tree, self._starts, np.empty(BOXES_STACK, np.int64), found)
        return found & (codes >= 0)


def _coded(summary: pa.Table) -> pa.DictionaryArray:
    """Give the partitions of a summary, and the code of each row's."""
    coded = summary[PARTITION].combine_chunks().dictionary_encode()
    return coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded


def _sides(summary: pa.Table, slack: float = 0.0) -> list[tuple[Ints, Ints]]:
    """Give the ends of all ranges as keys, so much wider as a share."""
    return [
        (
            _keys(_wider(_numbers(summary[low]), -slack)),
            _keys(_wider(_numbers(summary[high]), slack)),
        )
        for low, high in ENDS
        if low in summary.column_names
    ]


def _rectangles(form: MessageForm, rows: pa.Table, codes: Ints) -> RangeRectangles:
    """Give what messages speak of in keys of floats, somewhat wider than it is."""
    if form.kind in {"total", "row"}:
        inner_l = inner_r = _numbers(rows[form.point_place])
        outer_l, outer_r = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
    else:
        inner_l, inner_r = _numbers(rows["inner_l"]), _numbers(rows["inner_r"])
        outer_l, outer_r = _numbers(rows["outer_l"]), _numbers(rows["outer_r"])
        outer_l = np.where(np.asarray(rows["outer_l"].is_valid()), outer_l, -np.inf)
        outer_r = np.where(np.asarray(rows["outer_r"].is_valid()), outer_r, np.inf)
    return RangeRectangles(
        codes, _keys(_wider(outer_l, -SLACK)), _keys(_wider(inner_l, SLACK)),
        _keys(_wider(inner_r, -SLACK)), _keys(_wider(outer_r, SLACK)),
    )  # fmt: skip


def _numbers(column: pa.ChunkedArray) -> Floats:
    """Give numbers that keep the order; what is infinite is as large as can be."""
    found: Floats = np.nan_to_num(numbers_of(column))
    return found


def _wider(numbers: Floats, share: float) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        moved = numbers + share * np.abs(numbers)
    return np.where(np.isfinite(numbers), moved, numbers)


def _keys(numbers: Floats) -> Ints:
    own = np.ascontiguousarray(numbers, dtype=np.float64)
    keys, valid = np.empty(len(own), np.int64), np.empty(len(own), np.bool_)
    floats_key(own, own.view(np.int64), keys, valid)
    return keys
