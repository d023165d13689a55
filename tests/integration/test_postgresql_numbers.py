"""Numbers of views in PostgreSQL are those of DuckDB: infinities, NaN, 32 bits, halves."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.expressions.allowances import EvaluationError
from penstock.language.queries import read_query
from penstock.language.views import bind_view
from penstock.vocabulary.errors import PenstockError
from tests.support import postgres
from tests.support.view_lives import operator
from tests.support.view_turns import as_rows

SCHEMA = pa.schema(
    [
        ("i", pa.int64()), ("x", pa.float64()), ("r", pa.float32()), ("d", pa.decimal128(12, 4)),
        ("tiny", pa.int8()), ("plus", pa.uint64()),
    ]
)  # fmt: skip
CATALOG = {"odd": Relation(name="odd", kind="stream", schema=SCHEMA)}
ROWS = pa.table(
    [
        [0, 1, -2, 3, None, 7, 8, 9],
        [0.0, 1.005, -2.675, 0.145, 1.5, None, float("inf"), float("-inf")],
        pa.array([0.1, 0.0, 1.1, 0.3, 16777216.0, None, 2.5, 0.2], pa.float32()),
        [Decimal(each) if each else None
         for each in ("0.1000", "0.0000", "1.1000", "0.3000", "2.0000", "", "-2.5000", "0.2000")],
        pa.array([100, 0, -128, 127, None, 1, 2, 3], pa.int8()),
        pa.array([0, 1, 2**64 - 1, 3, None, 5, 6, 7], pa.uint64()),
    ],
    schema=SCHEMA,
)  # fmt: skip


def outcome(asked: str, home: Path, store: str | None) -> list[Any]:
    """Give the rows of a view of the odd rows; numbers as texts, so that NaN is itself."""
    options = {"view": "odd_numbers", "refresh": "1 second", **({"store": store} if store else {})}
    made = operator(bind_view(read_query(asked, CATALOG, None, options)), home)
    try:
        made.process({"odd": ROWS})
        return [tuple(map(str, row)) for row in as_rows(made.store.rows())]
    finally:
        made.store.drop()
        made.close()


@pytest.mark.parametrize(
    "asked",
    [
        "x / i, i / x, d / i, r / i, x / (i / x) / d, x / -x, i / (-x) / 2",
        "ln(x), ln(i), log10(x), log(i), sqrt(x), sqrt(d), exp(x * 800), acos(x), asin(i)",
        "power(i, x), power(x, 2), power(x, -0.5), power(d, i), i ** -1",
        "r = d, d >= r, r * d, r + i, r / d, r / 3 * 3, d BETWEEN r AND 2",
        "i // 2, i // 3, -i // 2, i % 2, d % 0.3, floor(i * 1000000000000000 + 1), round(i, -1)",
        "extract(second FROM DATE '2026-01-02' + i::INTEGER)",
        "CAST(x / 3 AS DECIMAL(9, 2)), CAST(r AS DECIMAL(9, 1)), "
        "round(CAST(r / 7 AS DECIMAL(18, 6)), 1)",
    ],
)  # fmt: skip
def test_expressions(asked: str, tmp_path: Path, postgresql: postgres.Server) -> None:
    listed = ", ".join(f"{each} AS y{number}" for number, each in enumerate(_parts(asked)))
    narrowed = "WHERE x NOT IN ('Infinity', '-Infinity')" if "DECIMAL" in asked else ""
    text = f"SELECT i, {listed} FROM odd {narrowed}"
    assert outcome(text, tmp_path, postgresql.url()) == outcome(text, tmp_path, None)


def _parts(asked: str) -> list[str]:
    """Take a list apart at the commas that are in no brackets."""
    found, depth = [""], 0
    for letter in asked:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return found


def test_what_aggregates_make(tmp_path: Path, postgresql: postgres.Server) -> None:
    text = (
        "SELECT i % 2 AS k, sum(x) / sum(i) AS a, min(r) = 0.1 AS b, max(x / i) AS c, "
        "count(DISTINCT d / i) AS e FROM odd GROUP BY 1 HAVING sum(i) / min(r) > 0 OR min(d) < 1"
    )
    found = outcome(text, tmp_path, postgresql.url())
    assert found == outcome(text, tmp_path, None) != []


@pytest.mark.parametrize(
    "asked", ["x // 2", "d // 2", "log2(x)", "log(3, x)", "CAST(x AS DECIMAL(30, 2))"]
)
def test_what_is_another_number_there_is_refused(asked: str) -> None:
    options = {"view": "v", "refresh": "1 second", "store": "postgresql://h/d"}
    with pytest.raises(PenstockError, match="VIEW-055"):
        bind_view(read_query(f"SELECT {asked} AS y FROM odd", CATALOG, None, options))


@pytest.mark.parametrize("asked", ["CAST(x AS BOOLEAN)", "(i + 1) IS TRUE"])
def test_words_for_other_types_are_refused_before_there_are_rows(
    asked: str, tmp_path: Path, postgresql: postgres.Server
) -> None:
    with pytest.raises(PenstockError, match="VIEW-055"):
        outcome(f"SELECT {asked} AS y FROM odd", tmp_path, postgresql.url())


@pytest.mark.parametrize("asked", ["tiny + tiny", "plus - 1"])
def test_a_value_beyond_its_type_suspends_the_view_alone(
    asked: str, tmp_path: Path, postgresql: postgres.Server
) -> None:
    for store in (None, postgresql.url()):
        with pytest.raises(EvaluationError, match="VIEW-005"):
            outcome(f"SELECT {asked} AS y FROM odd", tmp_path, store)
