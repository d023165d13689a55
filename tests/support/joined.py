"""Relations to join, and shorthands that bind joins of them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.algebra.joins import StandingJoin
from penstock.kinds.binder import bind
from penstock.vocabulary.errors import PenstockError

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("small", pa.int8()),
        ("big", pa.uint64()),
        ("word", pa.string()),
        ("price", pa.float64()),
        ("ratio", pa.float32()),
        ("half", pa.float16()),
        ("cost", pa.decimal128(8, 2)),
        ("rate", pa.decimal128(8, 3)),
        ("vast", pa.decimal128(30, 2)),
        ("day", pa.date32()),
        ("naive", pa.timestamp("us")),
        ("ts", pa.timestamp("us", "UTC")),
        ("nano", pa.timestamp("ns")),
        ("flag", pa.bool_()),
        ("raw", pa.binary()),
        ("info", pa.struct([("a", pa.int32())])),
    ]
)
OTHER = pa.schema([*SCHEMA, ("extra", pa.int64()), ("op", pa.string())])


def table(name: str, schema: pa.Schema) -> Relation:
    return Relation(name=name, kind="table", schema=schema, change_column="op")


def stream(name: str, event_time: str | None) -> Relation:
    return Relation(
        name=name, kind="stream", schema=SCHEMA, event_time=event_time, lateness_us=7_000_000
    )


CATALOG = {
    relation.name.lower(): relation
    for relation in (
        table("a", pa.schema([*SCHEMA, ("op", pa.string())])),
        table("B", OTHER),
        stream("s", "ts"),
        stream("t", "naive"),
        stream("timeless", None),
        stream("whole", "id"),
        stream("fine", "nano"),
    )
}
EACH = pa.schema([("n", pa.int64()), ("p", pa.float64()), ("k", pa.string()), ("w", pa.int32())])


def join(sql: str, each: pa.Schema | None = None, **options: object) -> StandingJoin:
    bound = bind(sql, CATALOG, each, options)
    assert isinstance(bound, StandingJoin)
    return bound


def refusal(sql: str, **options: object) -> PenstockError:
    with pytest.raises(PenstockError) as caught:
        bind(sql, CATALOG, EACH, options)
    assert (caught.value.place is None) == (caught.value.option is not None)
    assert caught.value.remedy
    return caught.value


KEYED = "FROM a x JOIN b y ON x.id = y.id"
WINDOW = "JOIN t y ON x.id = y.id"
