"""One bad value among the rows of parameters is one refused row, whatever it came in."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.algebra.catalog import Relation
from penstock.engine.parameters import load_parameters
from penstock.vocabulary.errors import PenstockError
from tests.support.desk_runs import DeskRun

STREAM = Relation(name="s", kind="stream", schema=pa.schema([("k", pa.int64())]))
ROWS = [{"id": "a", "p": 1}, {"id": "b", "p": "x"}, {"id": "c", "p": 3}]
NAMELESS = pa.table({"id": ["a", None, "c"], "p": [1, 2, 3]})


def _file(name: str, write: Callable[[Path], Any]) -> Callable[[Path], Any]:
    def make(directory: Path) -> Path:
        write(directory / name)
        return directory / name

    return make


LINES = "\n".join(json.dumps(row) for row in ROWS)
BROKEN = LINES.replace('"x"', "x")
SOURCES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "list": (lambda _: ROWS, "REG-005"),
    "an object": (lambda _: [ROWS[0], {"id": "b", "p": object()}, ROWS[2]], "REG-005"),
    "a list in a list": (lambda _: [ROWS[0], {"id": "b", "p": [1]}, ROWS[2]], "REG-005"),
    "no dict": (lambda _: [ROWS[0], ["b", 2], ROWS[2]], "REG-006"),
    "a large number": (lambda _: [ROWS[0], {"id": "b", "p": 10**40}, ROWS[2]], ""),
    "an infinite one": (
        lambda _: [{"id": "a", "p": 10**30}, {"id": "b", "p": float("inf")}, ROWS[2]],
        "REG-005",
    ),
    "pandas": (lambda _: pd.DataFrame(ROWS), "REG-005"),
    "csv": (_file("p.csv", lambda p: p.write_text("id,p\na,1\nb,x\nc,3\n")), "REG-005"),
    "bytes": (_file("p.csv", lambda p: p.write_bytes(b"id,p\na,1\nb,\xff\nc,3\n")), "REG-005"),
    "json": (_file("p.json", lambda p: p.write_text(json.dumps(ROWS))), "REG-005"),
    "jsonl": (_file("p.jsonl", lambda p: p.write_text(LINES)), "REG-005"),
    "a broken line": (
        _file("p.jsonl", lambda p: p.write_text(BROKEN)),
        "REG-011",
    ),
    "arrow": (
        lambda _: pa.table({"id": ["a", "b", "c"], "p": pa.array([1, 2**64 - 1, 3], pa.uint64())}),
        "",
    ),
    "parquet": (
        _file(
            "p.parquet",
            lambda p: pq.write_table(NAMELESS, p),
        ),
        "REG-015",
    ),
}
"""Parameters whose second row is bad, and the code that refuses it; an empty one: it is not."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with DeskRun(tmp_path_factory.mktemp("bad") / "home", STREAM) as run:
        yield run.desk


@pytest.mark.parametrize("source", SOURCES)
def test_one_bad_value_is_one_refused_row(source: str, home: Any, tmp_path: Path) -> None:
    make, code = SOURCES[source]
    made = home.subscribe("SELECT k FROM s WHERE k > :p", each=make(tmp_path), key="id")
    refused = made.receipt.refused.to_pylist()
    assert [(row["row"], row["code"]) for row in refused] == ([(1, code)] if code else [])
    assert made.receipt.accepted == (2 if code else 3)


def test_what_holds_no_rows_is_refused_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text("7")
    for each in ([1, 2], tmp_path / "p.json", 5):
        with pytest.raises(PenstockError, match=r"REG-006|REG-010"):
            load_parameters(each)
    assert load_parameters([]).table.num_rows == 0


def test_a_byte_order_mark_is_no_part_of_a_file_of_json(tmp_path: Path) -> None:
    for name, text in (("rows.jsonl", '{"id": "a", "p": 1}\n'), ("rows.json", '[{"id": "a"}]')):
        (tmp_path / name).write_text("\ufeff" + text)
        found = load_parameters(tmp_path / name)
        assert found.table["id"].to_pylist() == ["a"]
        assert found.refused.row == []


def test_lines_of_json_that_are_not_utf_8_are_refused(tmp_path: Path) -> None:
    """Letters were put in their place, so that two such ids were one."""
    rows = [{"id": "ä", "p": 1}, {"id": "ö", "p": 2}, {"id": "c", "p": 3}]
    lines = [json.dumps(row, ensure_ascii=False).encode("latin-1") for row in rows]
    (tmp_path / "rows.jsonl").write_bytes(b"\n".join(lines))
    found = load_parameters(tmp_path / "rows.jsonl")
    assert found.table["id"].to_pylist() == ["c"]
    assert (found.refused.row, set(found.refused.code)) == ([0, 1], {"REG-011"})


@pytest.mark.parametrize(
    ("given", "code"),
    [("{\n{\n", "REG-010"), ('{"id"\n', "REG-010"), ("{}\n{}\n", "REG-006")],
)
def test_rows_of_which_none_has_a_value_are_not_passed_over(
    tmp_path: Path, given: str, code: str
) -> None:
    (tmp_path / "rows.jsonl").write_text(given)
    with pytest.raises(PenstockError, match=rf"\[{code}\]"):
        load_parameters(tmp_path / "rows.jsonl")


def test_a_key_that_is_no_text_is_named() -> None:
    with pytest.raises(PenstockError, match=r"\[REG-006\] .* called 5, which is no text"):
        load_parameters([{"id": "a", 5: 1}])


def test_an_index_with_a_name_is_a_column() -> None:
    frame = pd.DataFrame({"id": ["a", "b"], "p": [1, 2]})
    assert load_parameters(frame.set_index("id")).table.equals(load_parameters(frame).table)
    assert load_parameters(frame.set_index(["id", "p"])).table.num_columns == 2
    assert load_parameters(frame[frame["p"] > 1]).table.column_names == ["id", "p"]
    with pytest.raises(PenstockError, match=r"\[REG-007\] .* named id"):
        load_parameters(frame.set_index("id", drop=False))
