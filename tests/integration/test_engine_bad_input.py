"""Bad input at the desk: a stable code, a fact, a remedy; and what stood before stands after."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.engine import Desk, Receipt, Subscription
from penstock.engine.migration import FORMAT, OLDEST
from penstock.engine.parameters import load_parameters
from penstock.operators.shared.conversion import converted
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.types import seeming
from tests.support.desks import desk_with_events

RANGES = "SELECT n FROM t WHERE x BETWEEN :low AND :high"
GOOD = [{"id": 1, "low": 1.0, "high": 2.0}, {"id": 2, "low": 3.0, "high": 4.0}]


def row(id_: int, low: float, high: float) -> dict[str, Any]:
    return {"id": id_, "low": low, "high": high}


def state(desk: Desk) -> Any:
    """Tell all that stands, down to the entries that operators are given."""
    registry = desk.registry
    return (
        registry.version,
        registry.next_query,
        dict(registry.subscriptions),
        {
            name: [b.table.filter(pa.array(b.alive)).to_pylist() for b in blocks]
            for name, blocks in registry.blocks.items()
        },
        {
            group: {port: t.to_pylist() for port, t in registry.entries(group).items()}
            for group in registry.steps
        },
    )


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """Give a desk where something stands; in the end the same must stand, also after reopening."""
    opened = desk_with_events(tmp_path / "home")
    opened.subscribe("SELECT * FROM t WHERE k = 'IBM'", name="one")
    opened.subscribe(RANGES, name="many", each=GOOD)
    before = state(opened)
    yield opened
    opened.close()
    after = Desk(tmp_path / "home")
    try:
        standing, kept = state(after), before
        if "accepted" in standing[2]:
            for part in (2, 3):
                standing[part].pop("accepted")
            assert standing[2:4] == kept[2:4]
        else:
            assert standing == kept
    finally:
        after.close()


def refused(error: pytest.ExceptionInfo[PenstockError], code: str) -> None:
    """An error has a code, a fact and a remedy, each a sentence."""
    said = str(error.value)
    assert error.value.code == code, said
    assert said.startswith(f"[{code}] "), said
    for sentence in (error.value.fact, error.value.remedy):
        assert re.search(r"[.)…!?`'\"]$", sentence.strip()), sentence
    assert "Traceback" not in said


def lines(receipt: Receipt | None) -> list[tuple[int, str]]:
    """Give the refused rows with their codes."""
    assert receipt is not None
    for reason in receipt.refused["reason"].to_pylist():
        assert len(reason) > 10
    return list(
        zip(receipt.refused["row"].to_pylist(), receipt.refused["code"].to_pylist(), strict=True)
    )


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("", "SQL-002"),
        ("SELEC * FROM t", "SQL-002"),
        ("SELECT * FROM t WHERE", "SQL-001"),
        ("SELECT FROM t", "SQL-001"),
        ("SELECT * FROM t WHERE (x > 1", "SQL-001"),
        ("SELECT * FROM t WHERE x > 1; SELECT * FROM t", "SQL-002"),
        ("DROP TABLE t", None),
        ("SELECT * FROM nowhere WHERE x > 1", None),
        ("SELECT nothing FROM t WHERE x > 1", None),
        ("SELECT * FROM t WHERE nothing > 1", None),
        ("SELECT * FROM t WHERE k > 1 + 'a'", None),
        ("SELECT * FROM t WHERE x = 'IBM'", None),
        ("SELECT * FROM t WHERE x", None),
        ("SELECT * FROM t WHERE x BETWEEN 5 AND 1", "REG-004"),
        ("SELECT * FROM t WHERE x > 5 AND x < 5", "REG-004"),
        ("SELECT * FROM t WHERE x > :low", None),
        ("SELECT count(*) FROM t", None),
        ("SELECT * FROM t JOIN t AS u ON t.n = u.n", None),
        ("SELECT * FROM t WHERE random() > 0.5", None),
    ],
)
def test_a_bad_text_is_refused(desk: Desk, sql: str, code: str | None) -> None:
    with pytest.raises(PenstockError) as error:
        desk.subscribe(sql, name="bad")
    refused(error, code or error.value.code)
    assert error.value.code.startswith(("SQL-", "REG-", "CAT-"))


def test_a_silent_query_is_accepted_and_counted(tmp_path: Path) -> None:
    desk = desk_with_events(tmp_path / "home")
    rows = [
        {"id": 1, "low": None, "high": 1.0},
        {"id": 2, "low": float("nan"), "high": 1.0},
        {"id": 3, "low": 0.0, "high": 1.0},
    ]
    receipt = desk.subscribe(RANGES, name="s", each=rows).receipt
    assert receipt is not None
    assert (receipt.accepted, receipt.silent, receipt.refused.num_rows) == (3, 2, 0)
    assert desk.registry.counts()["queries_never_matching"] == 2
    desk.drop("s", [1])
    assert desk.registry.counts()["queries_never_matching"] == 1
    desk.close()


def test_a_pandas_column_of_nan_is_silent_too(tmp_path: Path) -> None:
    desk = desk_with_events(tmp_path / "home")
    rows = pd.DataFrame({"id": ["a", "b"], "low": [float("nan"), 0.0], "high": [1.0, 2.0]})
    receipt = desk.subscribe(RANGES, name="s", each=rows).receipt
    assert receipt is not None
    assert (receipt.accepted, receipt.silent) == (2, 1)
    desk.close()


def test_bad_rows_harm_no_others(desk: Desk) -> None:
    rows = [
        {"id": 10, "low": 5.0, "high": 1.0},  # reversed
        {"id": 11, "low": 1.0, "high": 1.0},  # one value: fine
        {"id": None, "low": 1.0, "high": 2.0},
        {"id": 11, "low": 1.0, "high": 9.0},  # twice
        {"id": 12, "low": 0.0, "high": float("inf")},
    ]
    sub = desk.subscribe(RANGES, name="accepted", each=rows)
    assert lines(sub.receipt) == [(0, "REG-004"), (2, "REG-015"), (3, "REG-003")]
    assert len(sub) == 2
    receipt = sub.add([{"id": 12, "low": 0.0, "high": 1.0}, {"id": 13, "low": 0.0, "high": 1.0}])
    assert lines(receipt) == [(0, "REG-003")]
    assert len(sub) == 3
    version = desk.registry.version
    assert sub.add([{"id": 13, "low": 0.0, "high": 1.0}]).accepted == 0
    assert desk.registry.version == version, "nothing accepted: no version"


def test_a_subscription_may_be_refused_whole_and_filled_later(desk: Desk) -> None:
    sub = desk.subscribe(RANGES, name="accepted", each=[{"id": 1, "low": 2.0, "high": 1.0}])
    assert lines(sub.receipt) == [(0, "REG-004")]
    assert (len(sub), sub.read().num_rows) == (0, 0)
    assert sub.add([{"id": 1, "low": 1.0, "high": 2.0}]).accepted == 1
    assert sub.read().num_rows == 0


@pytest.mark.parametrize(
    ("each", "key", "code"),
    [
        ([{"id": 1, "low": 1.0}], None, None),
        ([{"id": 1, "low": "one", "high": "two"}], None, None),
        (pa.table({"id": [1], "low": [[1.0]], "high": [[2.0]]}), None, None),
        (pa.table([[1], [1.0], [2.0], [3.0]], ["id", "low", "high", "high"]), None, "REG-007"),
        ([{"id": 1, "low": 1.0, "high": 2.0}], "name", "REG-012"),
        ([{"id": 1.5, "low": 1.0, "high": 2.0}], "id", "REG-013"),
        (42, None, "REG-006"),
        ("nowhere.csv", None, "REG-009"),
        ("nowhere.parquet", None, "REG-009"),
        ("rows.xlsx", None, "REG-008"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(
    desk: Desk, each: Any, key: str | None, code: str | None
) -> None:
    with pytest.raises(PenstockError) as error:
        desk.subscribe(RANGES, name="bad", each=each, key=key)
    refused(error, code or error.value.code)


def test_a_broken_csv_is_refused_row_by_row(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(
        "id,low,high\n"
        "a,1,2\n"
        "b,one,2\n"  # 1: a bad value
        "c,3\n"  # 2: too few fields
        "d,4,5,6\n"  # 3: too many
        "e,7,6\n"  # 4: reversed
        "f,,2\n"  # 5: NULL, silent
        "a,1,2\n"  # 6: an id again
        "g,8,9\n"
    )
    sub = desk.subscribe(RANGES, name="accepted", each=str(path))
    assert lines(sub.receipt) == [
        (1, "REG-005"), (2, "REG-011"), (3, "REG-011"), (4, "REG-004"), (6, "REG-003"),
    ]  # fmt: skip
    assert sub.receipt is not None
    assert (sub.receipt.accepted, sub.receipt.silent) == (3, 1)
    ids = [i for b in desk.registry.blocks["accepted"] for i in b.table["id"].to_pylist()]
    assert ids == ["a", "f", "g"]


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv"])
def test_a_file_that_is_not_what_it_says_is_refused(desk: Desk, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"" if name.endswith("csv") else b"id,low,high\n1,2,3\n")
    with pytest.raises(PenstockError) as error:
        desk.subscribe(RANGES, name="bad", each=path)
    refused(error, "REG-010")
    assert str(path) in error.value.fact


def test_a_parquet_file_of_parameters_is_read(desk: Desk, tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(GOOD), tmp_path / "rows.parquet")
    sub = desk.subscribe(RANGES, name="accepted", each=tmp_path / "rows.parquet")
    assert len(sub) == 2


def test_names_are_unique(desk: Desk) -> None:
    with pytest.raises(PenstockError) as error:
        desk.subscribe("SELECT * FROM t WHERE x > 1", name="one")
    refused(error, "REG-002")
    with pytest.raises(PenstockError) as error:
        desk.subscription("nonesuch")
    refused(error, "REG-001")


@pytest.mark.parametrize(
    ("ids", "code"),
    [
        ([99], "REG-017"),
        (["x"], "REG-017"),
        ([], "REG-017"),
        ([1, "x"], "REG-020"),
        ([None], "REG-017"),
    ],
)
def test_ids_that_do_not_stand_cannot_be_dropped(desk: Desk, ids: list[Any], code: str) -> None:
    with pytest.raises(PenstockError) as error:
        desk.drop("many", ids)
    refused(error, code)


@pytest.mark.parametrize(
    ("name", "change", "code"),
    [
        ("many", {"each": [row(1, 1.0, 5.0), row(2, 9.0, 1.0)]}, "REG-004"),
        ("many", {"each": [row(1, 1.0, 5.0), row(9, 1.0, 2.0)]}, "REG-017"),
        ("many", {"each": [{"id": 9, "low": 1.0, "high": 5.0}]}, "REG-017"),
        ("many", {"each": [{"id": "1", "low": 1.0, "high": 5.0}]}, "REG-014"),
        ("many", {"each": [{"id": 1, "low": 1.0, "high": 5.0}] * 2}, "REG-003"),
        ("many", {"each": [{"low": 1.0, "high": 5.0}]}, "REG-012"),
        ("many", {"each": [{"id": 1, "low": 1.0}]}, None),
        ("many", {"sql": "SELECT * FROM t WHERE x > 1"}, "REG-016"),
        ("one", {}, "REG-016"),
        ("one", {"sql": "SELECT * FROM t WHERE", "each": GOOD}, "REG-016"),
        ("one", {"sql": "SELECT * FROM t WHERE"}, "SQL-001"),
        ("one", {"sql": "SELECT * FROM t WHERE x > :low"}, None),
        ("one", {"sql": "SELECT * FROM t WHERE x BETWEEN 5 AND 1"}, "REG-004"),
        ("nonesuch", {"sql": "SELECT * FROM t"}, "REG-001"),
    ],
)  # fmt: skip
def test_altering_badly_leaves_everything_as_it_was(
    desk: Desk, name: str, change: dict[str, Any], code: str | None
) -> None:
    with pytest.raises(PenstockError) as error:
        Subscription(desk, name, None).alter(**change)
    refused(error, code or error.value.code)


def test_ids_without_a_column_are_numbers_and_cannot_be_altered_by_text(desk: Desk) -> None:
    rows = [{"low": 1.0, "high": 2.0}, {"low": 3.0, "high": 4.0}]
    sub = desk.subscribe(RANGES, name="accepted", each=rows)
    with pytest.raises(PenstockError) as error:
        sub.alter(sql="SELECT n FROM t WHERE x > 1")
    refused(error, "REG-016")
    with pytest.raises(PenstockError) as error:
        sub.alter(each=rows)
    refused(error, "REG-012")
    first = desk.registry.blocks["accepted"][0].table["id"][0].as_py()
    sub.drop([first])
    assert len(sub) == 1


def test_a_bad_token_is_refused(desk: Desk) -> None:
    with pytest.raises(PenstockError) as error:
        next(desk.subscription("one").changes(since="yesterday"))
    refused(error, "DEL-001")


# Homes


def test_a_directory_that_is_no_home_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(PenstockError) as error:
        Desk(tmp_path)
    refused(error, "ENG-003")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("marker", "code"),
    [
        ('{"format": 99, "engine": "e"}', "ENG-007"),
        ("{", "ENG-006"),
        ("[]", "ENG-006"),
        ("{}", "ENG-006"),
        (f'{{"format": {FORMAT}}}', "ENG-006"),
    ],
)
def test_a_home_that_cannot_be_read_is_left_alone(tmp_path: Path, marker: str, code: str) -> None:
    (tmp_path / "penstock.json").write_text(marker)
    for _ in range(2):  # the refusal leaves no lock behind
        with pytest.raises(PenstockError) as error:
            Desk(tmp_path)
        refused(error, code)
    assert (tmp_path / "penstock.json").read_text() == marker


@pytest.mark.parametrize("found", [OLDEST - 1, FORMAT + 1])
@pytest.mark.parametrize("way", ["library", "run", "explain", "verify"])
def test_a_home_of_another_format_is_refused_and_left_alone(
    tmp_path: Path, found: int, way: str
) -> None:
    home = tmp_path / "home"
    Desk(home).close()
    (home / ".lock").write_text("4711")
    (home / "penstock.json").write_text(json.dumps({"format": found, "engine": "e"}))
    (tmp_path / "app.sql").write_text("CREATE STREAM t FROM 'market:trades'")
    before = {path: path.stat().st_mtime_ns for path in [home, *home.rglob("*")]}
    commands = {
        "run": ["run", str(tmp_path / "app.sql"), "--once"],
        "explain": ["explain", "SELECT * FROM t"],
        "verify": ["verify", str(tmp_path / "app.sql")],
    }
    if way == "library":
        with pytest.raises(PenstockError) as error:
            Desk(home)
        refused(error, "ENG-007")
        said = str(error.value)
    else:
        told = CliRunner().invoke(app, [*commands[way], "--home", str(home)])
        assert told.exit_code == 2
        said = " ".join(told.stderr.split())
    assert f"has format {found}; this Penstock reads formats {OLDEST} to {FORMAT}." in said
    remedy = "Install a newer Penstock" if found > FORMAT else "Open it once with a Penstock"
    assert remedy in said
    assert {path: path.stat().st_mtime_ns for path in [home, *home.rglob("*")]} == before
    assert (home / ".lock").read_text() == "4711"


def test_a_home_is_used_by_one_process_at_a_time(desk: Desk, tmp_path: Path) -> None:
    with pytest.raises(PenstockError) as error:
        Desk(tmp_path / "home")
    refused(error, "ENG-004")
    code = (
        "import sys; from penstock.engine import Desk; from penstock.vocabulary.errors import "
        "PenstockError\n"
        "try: Desk(sys.argv[1])\n"
        "except PenstockError as error: print(error)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "home")],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert said.startswith("[ENG-004]")
    desk.subscribe("SELECT * FROM t WHERE x > 1", name="accepted")


def test_facts_of_a_home_do_not_change(tmp_path: Path) -> None:
    Desk(tmp_path / "home", record=True).close()
    with pytest.raises(PenstockError) as error:
        Desk(tmp_path / "home", record=False)
    refused(error, "ENG-005")
    desk = Desk(tmp_path / "home")  # the refusal left no lock behind
    assert desk.home.facts["record"] is True
    assert json.loads((tmp_path / "home" / "penstock.json").read_text())["record"] is True
    desk.close()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["126.5", "43", "7"], [126.5, 43.0, 7.0]),
        (["1", "2", "-3"], [1, 2, -3]),
        (["T", "F", "KO"], ["T", "F", "KO"]),
        (["T", "F", "T"], ["T", "F", "T"]),
        (["02134", "10001", "10002"], ["02134", "10001", "10002"]),
        (["true", "FALSE", ""], [True, False, None]),
        (["9223372036854775808", "1"], [9223372036854775808.0, 1.0]),
    ],
)
def test_csv_values_are_read_as_they_are_written(
    tmp_path: Path, values: list[str], expected: list[object]
) -> None:
    """No value is rounded, no ticker becomes a truth value, no code loses its zeros."""
    path = tmp_path / "given.csv"
    path.write_text("\n".join(["id,value", *(f"{i},{v}" for i, v in enumerate(values))]) + "\n")
    table = load_parameters(path, "id").table
    given = table["value"].combine_chunks()
    assert given.to_pylist() == [value or None for value in values]
    found = converted(given, seeming(table.schema.field("value"))).values.to_pylist()
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]


def test_a_text_of_a_csv_file_is_what_it_is_compared_with(tmp_path: Path) -> None:
    """NA, null and nan are texts for a text, and no numbers; nothing is NULL, "" is a text."""
    path = tmp_path / "given.csv"
    path.write_text('id,k,x\na,NA,1\nb,null,NA\nc,nan,nan\nd,,2.5\ne,"",\nf,007,x\n')
    with closing(desk_with_events(tmp_path / "home")) as desk:
        texts = desk.subscribe("SELECT n FROM t WHERE k = :k", name="texts", each=path)
        numbers = desk.subscribe("SELECT n FROM t WHERE x > :x", name="numbers", each=path)
    assert texts.receipt is not None and numbers.receipt is not None
    assert texts.receipt.refused.num_rows == 0
    assert (texts.receipt.accepted, texts.receipt.silent) == (6, 1)
    assert numbers.receipt.refused["row"].to_pylist() == [1, 5]
    assert set(numbers.receipt.refused["code"].to_pylist()) == {"REG-005"}
    assert "'NA' of parameter x is no double" in numbers.receipt.refused["reason"][0].as_py()
    assert (numbers.receipt.accepted, numbers.receipt.silent) == (4, 2)


def test_a_list_is_no_item_of_in(desk: Desk) -> None:
    with pytest.raises(PenstockError) as error:
        desk.subscribe(
            "SELECT n FROM t WHERE n IN (:ns)", name="refused", each=[{"id": 1, "ns": [1, 2]}]
        )
    refused(error, "SQL-042")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2.5, None], [1.0, 2.5, None]),
        ([1, float("nan")], [1, None]),
        ([2**63, 1], [2**63, 1]),
        ([-1, 2**63], [-1, 2**63]),
        ([2**60 + 1, 0.5], [Decimal(2**60 + 1), Decimal("0.5")]),
        ([Decimal("1.50"), 2, 0.1], [Decimal("1.50"), 2, Decimal("0.1")]),
    ],
)
def test_numbers_of_several_types_are_kept(values: list[Any], expected: list[Any]) -> None:
    """A list of dicts and a frame of objects hold what Python holds, and lose nothing."""
    rows = [{"id": i, "p": value} for i, value in enumerate(values)]
    frame = pd.DataFrame({"p": pd.Series(values, dtype=object), "id": range(len(values))})
    for each in (rows, frame):
        assert load_parameters(each).table["p"].to_pylist() == expected


def test_mixed_columns_are_what_their_texts_say() -> None:
    found = load_parameters([{"id": 1, "p": "x"}, {"id": 2, "p": 3}]).table
    assert found["p"].to_pylist() == ["x", "3"]


def test_a_column_that_the_first_row_lacks_is_there() -> None:
    found = load_parameters([{"id": 1}, {"id": 2, "p": 3}]).table
    assert found["p"].to_pylist() == [None, 3]
