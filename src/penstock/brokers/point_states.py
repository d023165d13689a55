"""States: the aggregate at every x, or the values there, from which whoever comes late begins.

A state is written in chunks by buckets, and only those buckets anew in which something changed. A
bucket's chunks are written beside the ones before; then the head says that they count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.brokers.message_format import HEAD, MessageForm, StateHead, buckets_of, numbers_of
from penstock.brokers.message_kinds import GAIN, OP, X, added_up
from penstock.brokers.protocol import PUBLISH_BYTES_MAX
from penstock.vocabulary.errors import PenstockError

COMPRESSED = pa.ipc.IpcWriteOptions(compression="zstd")
NO_SIZES: Mapping[int, int] = MappingProxyType({})
ROWS_MAX = 2_000_000
"""Rows of a join that a state may have: publisher and broker hold all of them."""
TURN = b"turn"
PLACE = "_place"
"""Where a row stands; messages have no column of this name."""


def chunk_name(bucket: int, turn: int, number: int) -> str:
    """Give the name under which a chunk is kept.

    >>> chunk_name(3, 7, 0)
    's3.1.0'
    """
    return f"s{bucket}.{turn % 2}.{number}"


def points_of(form: MessageForm, rows: pa.Table | pa.RecordBatch) -> pa.Table:
    """Give what messages say of single values of the attribute."""
    own = rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])
    if form.kind in {"total", "row"}:
        return own.select(form.points.names)
    at_point = own.filter(pc.equal(own["inner_l"], own["inner_r"]))
    columns = [at_point[name] for name in (*form.partition, "inner_l", form.value)]
    if form.kind == "set":
        gains = pc.equal(at_point[OP], GAIN)
        columns.append(pc.if_else(gains, pa.scalar(1, pa.int64()), pa.scalar(-1, pa.int64())))
    return pa.Table.from_arrays(columns, schema=form.points)


def newest_points(form: MessageForm, told: Iterable[pa.Table]) -> pa.Table:
    """Give what stands at every x: what was told of it last, or all together."""
    whole = pa.concat_tables([form.points.empty_table(), *told])
    if form.kind != "extreme":
        return added_up(whole)
    numbered = whole.append_column(PLACE, pa.array(np.arange(len(whole))))
    last = numbered.group_by([*form.partition, X]).aggregate([(PLACE, "max")])
    found = whole.take(last[f"{PLACE}_max"])
    return found.filter(found[form.value].is_valid())


class PointState:
    """The state of one subscription, as it is published."""

    def __init__(
        self, form: MessageForm, head: StateHead, points: Mapping[int, pa.Table],
        sizes: Mapping[int, int] = NO_SIZES,
    ) -> None:  # fmt: skip
        self.form, self.head = form, head
        self._points, self._sizes = dict(points), dict(sizes)
        self._told: dict[int, list[pa.Table]] = {}
        self._count = sum(map(len, self._points.values()))

    def take(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Take the rows of messages, in order."""
        self.take_points(points_of(self.form, rows))

    def take_points(self, points: pa.Table) -> None:
        """Take what rows of messages say of single values of the attribute."""
        if len(points):
            self._count += len(points)
            buckets = buckets_of(numbers_of(points[self.form.point_place]), self.form.bounds)
            for bucket in np.unique(buckets).tolist():
                own = points.filter(pa.array(buckets == bucket))
                self._told.setdefault(bucket, []).append(own)

    @property
    def nbytes_changed(self) -> int:
        """About how many bytes it takes to write what changed: what it took last."""
        return sum(self._sizes.get(bucket, 0) for bucket in self._told)

    def written(
        self, batch: int, number: int, position: str, heard: int, edges: Mapping[str, str]
    ) -> list[dict[str, bytes]]:
        """Write what changed, and then the head; each is to be kept before the next.

        `edges` are those whose ranges are known behind it, and `heard` is the number of that.
        """
        values: dict[str, bytes] = {}
        chunks = dict(self.head.chunks)
        for bucket in self._told:
            points = self._points[bucket] = self._newest(bucket)
            turn = chunks.get(str(bucket), (0, 0))[0] + 1
            pieces = [_chunk(piece, turn) for piece in _pieces(points)]
            values |= {chunk_name(bucket, turn, at): own for at, own in enumerate(pieces)}
            chunks[str(bucket)] = turn, len(pieces)
            self._sizes[bucket] = sum(map(len, pieces))
        self._told.clear()
        self._count = sum(map(len, self._points.values()))
        self.head = StateHead(
            batch=batch, number=number, position=position, chunks=chunks, heard=heard,
            edges=dict(edges),
        )  # fmt: skip
        return [values, {HEAD: self.head.to_bytes()}]

    def _newest(self, bucket: int) -> pa.Table:
        before = self._points.get(bucket)
        told = self._told.get(bucket, [])
        return newest_points(self.form, [*([] if before is None else [before]), *told])

    def check_room(self, rows: pa.Table) -> None:
        """Refuse rows of a join with which the state would be too large, before they are sent."""
        if self.form.kind != "row" or self._count + len(rows) <= ROWS_MAX:
            return
        beside = [self._newest(bucket) for bucket in self._told.keys() | self._points.keys()]
        self._count = sum(map(len, beside))
        coming = added_up(pa.concat_tables([points_of(self.form, rows), *beside]))
        if len(coming) > ROWS_MAX:
            raise PenstockError(
                "BRK-008",
                f"The join has {len(coming):,} rows, and a state holds {ROWS_MAX:,}: whoever comes "
                "late begins with it.",
                "Write constant conditions that leave fewer rows, or subscribe to parts of them "
                "with a root each.",
            )

    @staticmethod
    def of_kept(form: MessageForm, kept: Mapping[str, bytes]) -> PointState | None:
        """Read a state; None if it is being written just now, or there is none."""
        if HEAD not in kept:
            return None
        head = StateHead.of_bytes(kept[HEAD])
        points, sizes = {}, {}
        for bucket, (turn, count) in head.chunks.items():
            pieces = []
            sizes[int(bucket)] = 0
            for at in range(count):
                data = kept.get(chunk_name(int(bucket), turn, at))
                piece = None if data is None else pa.ipc.open_stream(data).read_all()
                if piece is None or int(piece.schema.metadata[TURN]) != turn:
                    return None
                pieces.append(piece.replace_schema_metadata(None))
                sizes[int(bucket)] += len(data or b"")
            points[int(bucket)] = pa.concat_tables([form.points.empty_table(), *pieces])
        return PointState(form, head, points, sizes)

    def whole(self) -> pa.Table:
        """Give all points, as they were written last."""
        return pa.concat_tables([self.form.points.empty_table(), *self._points.values()])


def _pieces(points: pa.Table) -> list[pa.Table]:
    """Divide a table so that every piece can be published."""
    count = max(-(-points.nbytes * 11 // 10 // PUBLISH_BYTES_MAX), 1)
    size = max(-(-len(points) // count), 1)
    return [points.slice(at, size) for at in range(0, len(points), size)]


def _chunk(piece: pa.Table, turn: int) -> bytes:
    told = piece.replace_schema_metadata({TURN: str(turn).encode()}).combine_chunks()
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, told.schema, options=COMPRESSED) as writer:
        writer.write_table(told)
    return bytes(out.getvalue())
