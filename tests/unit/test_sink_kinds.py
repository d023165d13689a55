"""Sinks that are found by their address: a batch that comes again is as if it came once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.delivery import webhook_sink
from penstock.delivery.change_texts import line_of, row_text
from penstock.delivery.changes import Change
from penstock.delivery.postgresql_sink import TOKENS, PostgresqlSink
from penstock.delivery.row_texts import json_lines
from penstock.delivery.sink_kinds import BatchSink, SinkAddress, sink_at
from penstock.vocabulary.errors import PenstockError
from tests.support import postgres
from tests.support.desks import desk_with_events
from tests.support.hooks import HookServer, listening

BATCH = pa.table(
    {"_id": ["a", "b"], "x": [1.5, float("nan")], "word": ["o\tne", None], "l": [[1, 2], None]}
)
NAN, MOMENT = float("nan"), datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
EVERY_TYPE = pa.table(
    {
        "text": ["a'b\"\\c\r\n\\.\né", "", None],
        "Text": pa.array(["x", None, "x"]).dictionary_encode(),
        "flag": [True, False, None],
        "small": pa.array([-1, 2, None], pa.int8()),
        "float": [float("inf"), 1e-300, NAN],
        "single": pa.array([0.1, None, NAN], pa.float32()),
        "exact": [Decimal("1.10"), Decimal(-2), None],
        "moment": pa.array([MOMENT, None, MOMENT], pa.timestamp("us", "UTC")),
        "local": pa.array([MOMENT.replace(tzinfo=None), None, None], pa.timestamp("us")),
        "day": [MOMENT.date(), None, None],
        "time": [MOMENT.time(), None, None],
        "bytes": [b"\x00\\ab", b"", None],
        "floats": [[NAN, 1.0], [], None],
        "nested": [{"n": [Decimal("7.10")], "f": NAN}, {"n": None, "f": 0.5}, None],
    }
)


def address(text: str) -> SinkAddress:
    return SinkAddress(text=text, engine="e", subscription="s/1")


def at(text: str) -> BatchSink:
    return sink_at(address(text))


def test_a_directory_has_a_file_for_each_batch(tmp_path: Path) -> None:
    for text in (str(tmp_path / "out"), f"file://{tmp_path}/out"):
        sink = at(text)
        sink.write(BATCH.slice(0, 1), "3:1")
        sink.write(BATCH, "4:2")
        sink.write(BATCH, "3:2")
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == ["s%2F1-000000000003.parquet", "s%2F1-000000000004.parquet"]
    assert pq.read_table(tmp_path / "out" / files[0])["word"].to_pylist() == ["o\tne", None]


@pytest.fixture
def hook() -> Iterator[HookServer]:
    with listening() as server:
        yield server


def test_a_webhook_is_posted_a_batch(hook: HookServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_PART", "t0ken")
    sink = at(hook.url + "?key=${SECRET_PART}")
    sink.write(BATCH, "3:2")
    ((key, body),) = hook.posted
    assert key == "e/s/1/3:2"
    first, second = map(json.loads, body.splitlines())
    assert first == {"_id": "a", "x": 1.5, "word": "o\tne", "l": [1, 2]}
    assert second == {"_id": "b", "x": None, "word": None, "l": None}
    hook.status = 503
    with pytest.raises(ConnectionError, match="answered 503") as error:
        sink.write(BATCH, "4:2")
    assert "t0ken" not in str(error.value)


def test_json_lines_hold_every_type() -> None:
    first, second, third = map(json.loads, json_lines(EVERY_TYPE).whole().tobytes().splitlines())
    assert first == {
        "text": "a'b\"\\c\r\n\\.\né", "Text": "x", "flag": True, "small": -1, "float": None,
        "single": pytest.approx(0.1), "exact": "1.10", "moment": "2026-01-02T03:04:05.000006Z",
        "local": "2026-01-02T03:04:05.000006", "day": "2026-01-02", "time": "03:04:05.000006",
        "bytes": "005c6162", "floats": [None, 1.0], "nested": {"n": ["7.10"], "f": None},
    }  # fmt: skip
    assert (second["text"], second["float"], second["bytes"], second["floats"]) == (
        "",
        1e-300,
        "",
        [],
    )
    assert second["nested"] == {"n": None, "f": 0.5}
    moment = third.pop("moment")
    assert moment == first["moment"] and third.pop("Text") == "x" and set(third.values()) == {None}


def test_maps_and_lists_of_one_length_are_json_too() -> None:
    """What was no number in them was written as it is, and no reader of JSON took the line."""
    maps, bytes_ = pa.map_(pa.string(), pa.list_(pa.float64())), pa.map_(pa.binary(), pa.binary())
    table = pa.table(
        {
            "m": pa.array([[("k", [NAN, 1.0])], None, []], maps),
            "b": pa.array([[(b"\xff", b"\x00")], None, []], bytes_),
            "l": pa.array([[NAN, 2.0], None, [1.0, float("inf")]], pa.list_(pa.float64(), 2)),
            "plain": pa.array([[(1, "x")], None, []], pa.map_(pa.int64(), pa.string())),
        }
    )
    lines = json_lines(table).whole().tobytes().splitlines()
    assert [json.loads(line, parse_constant=pytest.fail) for line in lines] == [
        {"m": {"k": [None, 1.0]}, "b": {"ff": "00"}, "l": [None, 2.0], "plain": {"1": "x"}},
        dict.fromkeys(table.column_names),
        {"m": {}, "b": {}, "l": [1.0, None], "plain": {}},
    ]


def test_a_change_is_told_alone_as_sinks_tell_it() -> None:
    """`penstock tail --json` said Infinity, which is no JSON, and bytes as Python writes them."""
    lines = json_lines(EVERY_TYPE).whole().tobytes().decode().splitlines()
    for row, line in zip(EVERY_TYPE.to_pylist(), lines, strict=True):
        told, expected = json.loads(row_text(row)), json.loads(line)
        assert told.pop("single") == pytest.approx(expected.pop("single"))
        assert told == expected
    change = Change(id="a\nb", row={"ö": "ß"}, sign=-1, batch=0, version=1, token="0:1")
    assert line_of(change, "odd") == '- odd a\\nb {"ö": "ß"}'


def test_a_large_batch_is_posted_in_pieces(
    hook: HookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every piece has a key of its own, the same each time; what was answered is not sent again."""
    monkeypatch.setattr(webhook_sink, "REQUEST_BYTES_MAX", 40)
    rows = pa.table({"n": [1, 2, 3, 4, 5, 6], "w": ["", "", "", "long" * 20, "", ""]})
    at(hook.url).write(rows, "3:6")
    keys, bodies = zip(*hook.posted, strict=True)
    assert keys == ("e/s/1/3:2", "e/s/1/3:3", "e/s/1/3:4", "e/s/1/3:6")
    posted = [json.loads(line)["n"] for body in bodies for line in body.splitlines()]
    assert posted == [1, 2, 3, 4, 5, 6]
    before, sink = list(hook.posted), at(hook.url)
    hook.posted.clear()
    hook.refused = 3
    with pytest.raises(ConnectionError):
        sink.write(rows, "3:6")
    sink.write(rows, "3:6")
    assert hook.posted == [*before[:3], *before[2:]]


@pytest.mark.skipif(postgres.missing() is not None, reason=postgres.missing() or "")
def test_postgresql_holds_every_type() -> None:
    with postgres.running() as server:
        sink = PostgresqlSink(address(server.url() + "?table=every"))
        sink.write(EVERY_TYPE, "1:3")
        sink.close()
        first, second, third = server.execute("SELECT * FROM every")
    moment = datetime(2026, 1, 2, 3, 4, 5, 6)  # noqa: DTZ001  # a local time
    assert first == (
        "a'b\"\\c\r\n\\.\né", "x", True, -1, float("inf"), pytest.approx(0.1), Decimal("1.10"),
        MOMENT, moment, moment.date(), "03:04:05.000006", b"\x00\\ab", "[null,1.0]",
        '{"n":["7.10"],"f":null}',
    )  # fmt: skip
    assert (second[0], second[1], second[4], second[11], second[12]) == (
        "",
        None,
        1e-300,
        b"",
        "[]",
    )
    assert third[1] == "x" and str(third[4]) == "nan" and third[7] == MOMENT
    assert [*third[:1], *third[2:4], third[6], *third[8:]] == [None] * 10


@pytest.mark.skipif(postgres.missing() is not None, reason=postgres.missing() or "")
def test_postgresql_takes_what_its_own_types_do_not_hold() -> None:
    """One such value stood before all later batches for ever."""
    table = pa.table({"n": pa.array([2**64 - 1], pa.uint64()), "k": ["a\0b"], "l": [["\0"]]})
    with postgres.running() as server:
        sink = PostgresqlSink(address(server.url() + "?table=odd"))
        sink.write(table, "1:1")
        sink.close()
        assert server.execute("SELECT * FROM odd") == [(2**64 - 1, "a\u2400b", '["\\u0000"]')]


@pytest.mark.skipif(postgres.missing() is not None, reason=postgres.missing() or "")
def test_postgresql_has_rows_and_token_in_one_transaction() -> None:
    with postgres.running() as server:
        sink = PostgresqlSink(alerts := address(server.url() + "?table=al%20erts"))
        for _ in range(2):  # a sink that begins anew knows what is there
            sink.close()
            sink = PostgresqlSink(alerts)
            sink.write(BATCH, "3:2")
            sink.write(BATCH.slice(1), "5:1")
            sink.write(BATCH, "3:2")
        other = BATCH.append_column("more", pa.array([1, 2]))
        with pytest.raises(Exception, match="more"):
            sink.write(other, "6:2")
        sink.write(BATCH.slice(0, 1), "7:1")
        sink.close()
        rows = server.execute('SELECT _id, word, l FROM "al erts"')
        assert rows == [("a", "o\tne", "[1,2]"), ("b", None, None), ("b", None, None), rows[0]]
        assert server.execute(f"SELECT * FROM {TOKENS}") == [("e/s/1/al erts", "7:1")]


def test_what_cannot_be_a_sink_is_refused(tmp_path: Path) -> None:
    desk = desk_with_events(tmp_path / "home")
    sub = desk.subscribe("SELECT n FROM t WHERE x > 1", name="sub")
    for text, code in (("kafka://host/topic", "DEL-004"), ("https://h/${NOT_SET_1}", "DEL-005")):
        with pytest.raises(PenstockError) as error:
            sub.to(text)
        assert error.value.code == code
    assert sub.to(str(tmp_path / "out"), name="files").cursor == "sub/files"
    desk.close()


def test_a_sink_without_its_driver_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(PenstockError) as error:
        at("postgresql://me:${PASSWORD_1}@h/db".replace("${PASSWORD_1}", "hidden"))
    assert error.value.code == "DEL-006"
    assert "hidden" not in str(error.value)
