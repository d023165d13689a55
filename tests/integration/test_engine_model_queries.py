"""Model queries in a home: told, restored, verified by DuckDB within their bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.engine.verification import verify
from penstock.kinds.outcomes import SubscriptionOutcome
from penstock.models.sources import SegmentSource
from penstock.operators.model_query.answers import Answers
from penstock.operators.model_query.figures import MODEL_ROWS, SEGMENTS, VALIDATED
from penstock.operators.model_query.made_rows import RowMaker
from penstock.operators.model_query.standing_segments import StandingSegments
from penstock.vocabulary.errors import PenstockError
from penstock.worlds import harbour
from tests.support.desk_runs import DeskRun
from tests.support.model_answers import held as answers

TICKS = Relation(
    name="ticks",
    kind="stream",
    schema=pa.schema(
        [("ts", pa.timestamp("us", "UTC")), ("symbol", pa.string()), ("price", pa.float64()),
         ("slope", pa.float64()), ("venue", pa.string())]
    ),
    event_time="ts",
    lateness_us=500_000,
)  # fmt: skip
SECOND = 1_000_000
MODEL = "MODEL price = price + slope * t KEY symbol"
TEXTS = {
    "above": f"SELECT symbol, starts, ends, price FROM ticks {MODEL} WHERE price > :limit "
    "ERROR WITHIN 0.5",
    "between": f"SELECT symbol, price FROM ticks {MODEL} WHERE symbol = 'a' AND price >= :limit "
    "AND price < 104 AND venue <> 'dark' ERROR WITHIN 0.2 %",
    "ahead": f"SELECT symbol, starts, ends, price, status FROM ticks {MODEL} WHERE price < :limit "
    "ERROR WITHIN 0.5 HORIZON 4 SECONDS",
    "sampled": f"SELECT at, symbol, price FROM ticks {MODEL} WHERE price > :limit "
    "ERROR WITHIN 0.5 SAMPLE EVERY 500 MILLISECONDS",
    "fitted": "SELECT symbol, starts, ends, price FROM ticks MODEL price KEY symbol "
    "WHERE price > :limit ERROR WITHIN 0.5",
}
TEXTS["carried"] = TEXTS["above"].replace("SELECT symbol", "SELECT symbol, upper(venue) AS where_")
EACH = [{"id": "low", "limit": 99.0}, {"id": "high", "limit": 101.5}, {"id": "null", "limit": None}]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    with DeskRun(tmp_path / "home", TICKS) as made:
        yield made


class Market:
    """Draws rows of prices that follow lines, with noise, and turn now and then."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.clock = 1_700_000_000 * SECOND
        self.price = np.array([100.0, 101.0, 103.0])
        self.slope = np.array([0.3, -0.2, 0.0])

    def batch(self, size: int = 40) -> pa.Table:
        chance = self.chance
        rows = []
        for _ in range(size):
            step = int(chance.integers(20_000, 120_000))
            self.clock += step
            self.price = self.price + self.slope * step / SECOND
            own = int(chance.integers(3))
            if chance.random() < 0.08:
                self.slope[own] = -np.sign(self.price[own] - 101) * chance.random()
            late = int(chance.integers(0, 400_000)) if chance.random() < 0.2 else 0
            rows.append(
                {
                    "ts": self.clock - late,
                    "symbol": "abc"[own] if chance.random() < 0.98 else None,
                    "price": float(self.price[own] + chance.normal(0, 0.1)),
                    "slope": float(self.slope[own]),
                    "venue": "dark" if chance.random() < 0.1 else "lit",
                }
            )
        times = pa.array([row.pop("ts") for row in rows]).cast(pa.timestamp("us", "UTC"))
        table = pa.Table.from_pylist(rows)
        return table.add_column(0, "ts", times).select(TICKS.schema.names)


def verified(run: DeskRun) -> dict[str, SubscriptionOutcome]:
    found = {each.subscription: each for each in verify(run.desk.registry, run.desk.log)}
    for each in found.values():
        assert each.equal, (each.subscription, each.examples, each.failures)
    return found


def test_what_is_told_is_what_models_say_and_rows_allow(run: DeskRun, seed: int) -> None:
    market = Market(seed)
    run.batch(ticks=market.batch())
    for name, text in TEXTS.items():
        run.desk.subscribe(text, name, EACH)
    for _ in range(3):
        run.batch(ticks=market.batch())
    for name in TEXTS:
        run.desk.subscription(name).add([{"id": "more", "limit": 100.5}])
    run.desk.subscription("above").drop(["high"])
    for _ in range(2):
        run.batch(ticks=market.batch())
        run.restart()
    run.batch()
    run.batch(ticks=market.batch())
    found = verified(run)
    assert len(found) == len(TEXTS)
    for each in found.values():
        assert each.expected > 50, (each.subscription, each.expected, each.found)
        assert each.remarks


STEADY = "MODEL price = price KEY symbol"
ALLOWED = {
    "equal": f"price FROM ticks {STEADY} WHERE price = :limit ERROR WITHIN 1",
    "unequal": f"price FROM ticks {STEADY} WHERE price <> :limit ERROR WITHIN 1",
    "narrow": f"price FROM ticks {STEADY} WHERE price BETWEEN :limit AND :limit + 0.1 "
    "ERROR WITHIN 5 %",
    "share": f"price FROM ticks {STEADY} WHERE price > :limit ERROR WITHIN 20 %",
}


def test_what_a_wide_bound_allows_is_no_difference(run: DeskRun, seed: int) -> None:
    """Rows are judged by their models where these lie between the edges of the bound."""
    chance = np.random.default_rng(seed)
    for name, text in ALLOWED.items():
        each = [{"id": limit, "limit": float(limit)} for limit in (99, 100, 101, 120)]
        run.desk.subscribe(f"SELECT symbol, starts, ends, {text}", name, each)
    second = 0.0
    for _ in range(4):
        rows = []
        for _ in range(60):
            second += 0.3
            steady = float(chance.choice([99, 100, 101, 120]))
            rows.append((second, steady + float(chance.choice([0.0, 0.4, -0.7])), 0.0))
        run.batch(ticks=ticks(*rows))
    found = verified(run)
    assert sum("false negatives" in each.remarks[0] for each in found.values()) == len(ALLOWED)


def test_values_that_dwarf_others_are_verified(run: DeskRun) -> None:
    """What stood for no value, 10^20 say, is taken back: nothing of it is left in any sum."""
    text = f"SELECT symbol, starts, ends, price FROM ticks {MODEL} WHERE price < :limit "
    run.desk.subscribe(f"{text} ERROR WITHIN 0.5", "some", [{"id": 1, "limit": 1e21}])
    mean = "SELECT symbol, avg(price) AS mean FROM ticks [SIZE 2 SECONDS ADVANCE 1 SECOND]"
    run.desk.subscribe(f"{mean} {MODEL} GROUP BY symbol ERROR WITHIN price 0.5", "means")
    for begin in (0, 10, 20):
        rows = [(begin + k / 4, 1e20 if k % 9 == 4 else 100.0 + k, 0.0) for k in range(36)]
        run.batch(ticks=ticks(*rows))
    found = verified(run)
    assert all(each.expected > 20 for each in found.values()), found


def test_an_average_forgets_what_is_behind_its_window(run: DeskRun) -> None:
    """Whole models in between are added up, and nothing is left of 10^20."""
    text = "SELECT starts, ends, avg(price) AS mean FROM ticks [SIZE 2 SECONDS ADVANCE 1 SECOND] {}"
    for name in ("avg", "sum"):
        asked = text.replace("avg", name).format(MODEL)
        run.desk.subscribe(f"{asked} GROUP BY symbol ERROR WITHIN price 0.1", name)
    rows = [(k / 4, 1e20 if k == 9 else 100.0 + 10 * (k % 3), 0.0) for k in range(60)]
    run.batch(ticks=ticks(*rows))
    for name, factor in (("avg", 1.0), ("sum", 2.0)):
        for _, _, sign, starts, _, mean in told(run, name):
            if sign > 0 and starts >= at(4.6):
                assert 100 * factor <= mean[0] <= 120 * factor, (starts, mean)


def test_fits_beside_values_without_measure_are_seen_by_all(run: DeskRun) -> None:
    """No piece is told that is no number, and one row without measure ends no batch."""
    for method in ("SLIDING", "BOTTOMUP", "SWAB"):
        fit = f"FIT price USING {method} DEGREE 2"
        run.desk.subscribe(
            f"SELECT symbol, starts, ends, price FROM ticks MODEL price KEY symbol {fit} "
            "ERROR WITHIN 0.5", method,
        )  # fmt: skip
    run.desk.subscribe(f"SELECT symbol, starts, ends, price FROM ticks {MODEL} "
                       "ERROR WITHIN 0.5", "told")  # fmt: skip
    rows = [(k / 4, 1.7e308 if k == 8 else 100.0 + k % 3, 1e303) for k in range(40)]
    run.batch(ticks=ticks(*rows))
    run.batch(ticks=ticks((60.0, 1.0, 0.0)))
    verified(run)
    for method in ("SLIDING", "BOTTOMUP", "SWAB"):
        pieces = [row[-1] for row in told(run, method)]
        assert len(pieces) > 3 and np.isfinite(np.concatenate(pieces)).all()


def test_the_instants_of_equality_are_taken_out(run: DeskRun) -> None:
    """`<>` divides segments and tells no sample there, also where rows take back from there on."""
    told = f"price FROM ticks {MODEL}"
    inner = f"FROM (SELECT symbol, {told} WHERE price <> 105) AS q ERROR WITHIN 0.4"
    asked = f"{told} WHERE price <> :limit ERROR WITHIN 0.4"
    sampled = "SAMPLE EVERY 1 SECOND"
    run.desk.subscribe(f"SELECT symbol, at, {asked} {sampled}", "asked", [{"id": 1, "limit": 105}])
    run.desk.subscribe(f"SELECT symbol, at, price {inner} {sampled}", "inner")
    run.desk.subscribe(f"SELECT symbol, starts, ends, price {inner}", "ranges")
    # Of every line it is known when it is 105: at 5 s, at 7 s, never, and at 20.3 s.
    lines = [(0, 100.0, 1.0), (5, 104.0, 0.5), (12, 110.0, 0.0), (20, 104.85, 0.5)]
    rows = [
        {"ts": at * SECOND, "symbol": "a", "price": price, "slope": slope, "venue": "lit"}
        for at, price, slope in lines
    ]
    for at in range(len(rows)):
        run.batch(ticks=rows[at : at + 1])
        run.restart()
    # A row of nobody, later than lateness.
    run.batch(ticks=[rows[-1] | {"ts": 21 * SECOND, "symbol": None}])
    meant = {
        at: price + slope * (at - begin)
        for (begin, price, slope), end in zip(lines, [5, 12, 20, 30], strict=True)
        for at in range(begin, end)
    }
    meant = {at: price for at, price in meant.items() if price != 105}
    assert 7 not in meant
    for name in ("asked", "inner"):
        found: dict[int, float] = {}
        for row in run.desk.subscription(name).read().to_pylist():
            at = round(row["at"].timestamp())
            found[at] = found.get(at, 0.0) + row["_sign"] * row["price"]
        assert {at: price for at, price in found.items() if price} == pytest.approx(meant), name
    ends: dict[tuple[float, float], int] = {}
    for row in run.desk.subscription("ranges").read().to_pylist():
        own = row["starts"].timestamp(), row["ends"].timestamp()
        ends[own] = ends.get(own, 0) + row["_sign"]
    assert ends == {
        (0, 5): 1, (5, 10): 0, (5, 7): 1, (7, 15): 1, (12, 15): -1, (12, 22): 1, (20, 22): -1,
        (20, 20.3): 1, (20.3, 30): 1,
    }  # fmt: skip
    verified(run)


def test_what_is_carried_is_constant_during_a_segment(run: DeskRun) -> None:
    """A column that is neither key nor model is told with each segment, and ends it by changing.

    In WHERE it chooses rows, whether it is told or not.
    """
    text = f"SELECT symbol, venue, starts, ends, price FROM ticks {MODEL} WHERE price > 0"
    run.desk.subscribe(f"{text} ERROR WITHIN 1", "all")
    run.desk.subscribe(f"{text} AND venue <> 'dark' ERROR WITHIN 1", "lit")
    run.desk.subscribe(f"SELECT * FROM ({text}) AS q ERROR WITHIN 1".replace(
        "starts, ends, ", ""), "inner")  # fmt: skip
    venues = ["lit", "lit", "dark", "dark", None, None, "lit"]
    rows = [
        {"ts": n * SECOND, "symbol": "a", "price": 5.0, "slope": 0.0, "venue": venue}
        for n, venue in enumerate(venues)
    ]
    run.batch(ticks=rows[:3])
    run.restart()
    run.batch(ticks=rows[3:])
    run.batch(ticks=[{**rows[0], "ts": 7 * SECOND, "symbol": None}])

    def held(name: str) -> dict[Any, list[tuple[int, int]]]:
        found = answers(run.desk.subscription(name).read(), 7 * SECOND)[name]
        return {key: [(a // SECOND, b // SECOND) for a, b in own] for key, own in found.items()}

    lit, dark, none = ("a", "lit"), ("a", "dark"), ("a", None)
    assert held("all") == {lit: [(0, 2), (6, 7)], dark: [(2, 4)], none: [(4, 6)]}
    assert held("lit") == {lit: [(0, 7)]}
    inner = run.desk.subscription("inner").read()
    assert set(inner["venue"].to_pylist()) == {"lit", "dark", None}
    assert {each.expected for each in verified(run).values()} != {0}
    assert "carried" in run.desk.explain("all").text()


def test_columns_that_no_bound_names_share_one_or_are_named_with_a_remedy(run: DeskRun) -> None:
    """Of what only WHERE speaks of rows may be off by a share; what is told is held exactly."""
    text = (
        "SELECT symbol, starts, ends, price * 2 AS twice FROM ticks "
        "MODEL price = price + slope * t, slope = slope KEY symbol "
        "WHERE slope > :limit ERROR WITHIN twice 10"
    )
    texts = {
        "shared": text,
        "whole": text.replace(":limit", "0.45 OR slope < -0.2"),
        "told": text.replace("AS twice", "AS twice, slope"),
        "named": f"{text}, slope 2",
    }
    for name, own in texts.items():
        run.desk.subscribe(own, name, None if name == "whole" else EACH)
    said = {name: " ".join(run.desk.explain(name).text().split()) for name in texts}
    assert "ticks.slope: every row that is off at all makes its model anew" in said["told"]
    assert "ERROR WITHIN twice 10, slope …" in said["told"]
    assert "within price 5, slope 2" in said["named"]
    assert "by conditions" not in said["named"]
    for name in ("shared", "whole"):
        assert "within price 2.5, slope 5" in said[name]
        assert "by conditions ticks.slope 5, its share of the bound of twice" in said[name]
        assert "makes its model anew" not in said[name]
    run.batch(ticks=[
        {"ts": n * SECOND, "symbol": "a", "price": 5.0, "slope": n / 10, "venue": ""}
        for n in range(9)
    ])  # fmt: skip
    made = {name: run.figures[run.desk.subscription(name).group].total(SEGMENTS) for name in texts}
    assert made.pop("told") > 1 and set(made.values()) == {1}
    run.desk.subscription("shared").add([{"id": "near", "limit": 0.0}])
    market = Market(3)
    for _ in range(2):
        run.batch(ticks=market.batch())
    assert verified(run)["shared"].expected > 5


@pytest.mark.parametrize(
    ("where", "distinct", "said"),
    [
        ("", {}, "one model is of all its rows, whatever their 'symbol'. If they tell of several"),
        ("WHERE venue <> 'dark'", {}, "KEY symbol"),
        ("WHERE slope = 0", {}, "KEY symbol"),
        ("", {"venue": 3}, "the 3 values of 'venue' share one model. Write KEY venue, or choose"),
        ("WHERE symbol = 'a' AND slope < 5", {}, None),
        ("WHERE 'a' = symbol", {}, None),
        ("", {"symbol": 1}, None),
        ("KEY symbol", {}, None),
    ],
)
def test_a_model_of_all_rows_is_remarked(
    where: str, distinct: dict[str, int], said: str | None, tmp_path: Path
) -> None:
    """At registration and in EXPLAIN, of texts that stand and of others."""
    text = f"SELECT starts, ends, price FROM ticks MODEL price {where} ERROR WITHIN 1"
    with DeskRun(tmp_path / "home", replace(TICKS, distinct=distinct)) as run:
        asked = run.desk.explain(text).notes
        stands = run.desk.subscribe(text, "stands")
        assert stands.receipt is not None
        for notes in (asked, stands.receipt.notes, run.desk.explain("stands").notes):
            assert len(notes) == int(said is not None)
            assert said is None or said in notes[0]


def test_small_columns_and_large_bounds_are_verified(tmp_path: Path) -> None:
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("n", pa.int16())])
    counts = Relation(name="counts", kind="stream", schema=schema, event_time="ts", lateness_us=0)
    text = "SELECT starts, ends, n FROM counts MODEL n = n WHERE n > 3 ERROR WITHIN"
    with DeskRun(tmp_path / "home", counts) as run:
        for name, bound in (("wide", "10000000000000.0"), ("share", "1 %")):
            run.desk.subscribe(f"{text} {bound}", name)
        for second, n in enumerate((32767, 5, -32768, 32767)):
            run.batch(counts=[{"ts": second * SECOND, "n": n}])
        assert len(verified(run)) == 2


def test_what_cannot_be_carried_is_refused(run: DeskRun) -> None:
    for text in (
        f"SELECT symbol, price * slope AS y FROM ticks {MODEL} ERROR WITHIN 1",
        f"SELECT venue, max(price) AS top FROM ticks {MODEL} ERROR WITHIN 1",
    ):
        with pytest.raises(PenstockError, match=r"MDL-0(13|15)"):
            run.desk.subscribe(text)


POSITIONS = Relation(
    name="positions", kind="stream", schema=harbour.POSITIONS, event_time="ts", lateness_us=0
)
SAILING = "MODEL x = x + vx * t MODEL y = y + vy * t KEY vessel"
APART = "(a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y)"
PAIRS = f"FROM positions a {SAILING} JOIN positions b {SAILING} ON a.vessel <> b.vessel"
MEAN = (
    "SELECT symbol, avg(price) AS mean FROM ticks [SIZE {} SECONDS ADVANCE 1 SECOND] {} "
    "GROUP BY symbol"
)
WIDE = {
    "close": f"SELECT a.vessel, b.vessel AS other, starts, ends, status {PAIRS} "
    f"AND {APART} < 1000000 ERROR WITHIN 20 HORIZON 60 SECONDS",
    "apart": f"SELECT a.vessel, b.vessel AS other, at, sqrt({APART}) AS apart {PAIRS} "
    f"AND {APART} < 4000000 ERROR WITHIN 40 SAMPLE EVERY 10 SECONDS",
    "highest": f"SELECT max(price) AS top, starts, ends FROM ticks {MODEL} ERROR WITHIN 0.5",
    "mean": MEAN.format(3, "MODEL price KEY symbol") + " ERROR WITHIN 0.5",
    "macd": f"SELECT f.symbol, f.mean AS fast, s.mean AS slow FROM ({MEAN.format(2, MODEL)}) f "
    f"JOIN ({MEAN.format(4, MODEL)}) s ON f.symbol = s.symbol AND f.mean > s.mean "
    "ERROR WITHIN 0.5 SAMPLE EVERY 1 SECOND",
    "several": "SELECT symbol, avg(price) AS mean, max(price) - min(price) AS spread "
    f"FROM ticks [SIZE 3 SECONDS ADVANCE 1 SECOND] {MODEL} GROUP BY symbol "
    "HAVING max(price) - min(price) > 0.05 ERROR WITHIN 0.5",
    "ends_of_all": f"SELECT min(price) AS low, max(price) AS top, starts, ends FROM ticks {MODEL} "
    "ERROR WITHIN 0.5",
}


def test_pairs_and_aggregates_are_what_their_models_say(tmp_path: Path, seed: int) -> None:
    with DeskRun(tmp_path / "home", TICKS, POSITIONS) as run:
        for name, text in WIDE.items():
            run.desk.subscribe(text, name)
        market = Market(seed)
        for turn in range(5):
            sailed = harbour.positions(turn * 300, turn * 300 + 300)
            run.batch(ticks=market.batch(), positions=pa.Table.from_batches([sailed]))
            if turn == 2:
                run.restart()
        found = verified(run)
        for name in WIDE:
            assert found[name].expected > 5, (name, found[name].expected, found[name].remarks)


def test_several_aggregates_are_what_each_is_alone(run: DeskRun, seed: int) -> None:
    window = f"FROM ticks [SIZE 3 SECONDS ADVANCE 1 SECOND] {MODEL} GROUP BY symbol ERROR WITHIN 1"
    for name, asked in (
        ("both", "avg(price) AS mean, max(price) AS top"), ("mean", "avg(price) AS mean"),
        ("top", "max(price) AS top"),
    ):  # fmt: skip
        run.desk.subscribe(f"SELECT symbol, at, {asked} {window}", name)
    market = Market(seed)
    for _ in range(4):
        run.batch(ticks=market.batch())

    def told(name: str, column: str) -> dict[Any, float]:
        table, found = run.desk.subscription(name).read(), dict[Any, float]()
        for row in table.to_pylist():
            key = row["symbol"], row["at"]
            found[key] = found.get(key, 0.0) + row["_sign"] * row[column]
        return found

    both = told("both", "mean")
    assert len(both) > 10
    for column in ("mean", "top"):
        assert told("both", column) == pytest.approx(told(column, column))


def test_too_many_aggregates_are_refused(run: DeskRun) -> None:
    several = ", ".join(f"max(price * {n}) AS m{n}" for n in range(1, 6))
    with pytest.raises(PenstockError, match="MDL-016"):
        run.desk.subscribe(f"SELECT {several} FROM ticks {MODEL} ERROR WITHIN 1")
    pair = f"ticks a {MODEL} JOIN ticks b {MODEL} ON a.symbol <> b.symbol"
    three = "min(a.price) AS m, max(a.price) AS n, max(b.price) AS o"
    with pytest.raises(PenstockError, match="MDL-016"):
        run.desk.subscribe(
            f"SELECT {three} FROM {pair} JOIN ticks c {MODEL} ON a.symbol = c.symbol ERROR WITHIN 1"
        )


def mistaken_values(patch: pytest.MonkeyPatch) -> None:
    """Tell values that are off by a little more than rounding."""
    right = RowMaker.pairs

    def wrong(self: RowMaker, *given: Any) -> Any:
        made = right(self, *given)
        made.rows.numbers[..., 0] += 0.01
        return made

    patch.setattr(RowMaker, "pairs", wrong)


def forgotten_retractions(patch: pytest.MonkeyPatch) -> None:
    """Never take back what was said of the time to come."""
    right = Answers.tell

    def wrong(self: Answers, begun: Any, said: Any, now: int) -> Any:
        return right(self, begun, said.take(said.sign > 0), now)

    patch.setattr(Answers, "tell", wrong)


def forgotten_beginnings(patch: pytest.MonkeyPatch) -> None:
    """Let new queries begin with nothing."""
    patch.setattr(StandingSegments, "take", lambda *_: 0)


def careless_sources(patch: pytest.MonkeyPatch) -> None:
    """Hold rows against five times what is allowed."""
    right = SegmentSource.__init__

    def wrong(self: SegmentSource, source: Any, tolerances: Any, **more: Any) -> None:
        wide = type(tolerances).absolute(*(5 * amount for amount in tolerances.equal))
        right(self, source, wide, **more)

    patch.setattr(SegmentSource, "__init__", wrong)


MISTAKES = (mistaken_values, forgotten_retractions, forgotten_beginnings, careless_sources)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_verify_finds_mistakes(mistake: Any, run: DeskRun, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    market = Market(11)
    run.desk.subscribe(TEXTS["above"], "above", EACH)
    for _ in range(3):
        run.batch(ticks=market.batch())
    run.desk.subscription("above").add([{"id": "more", "limit": 98.0}])
    run.batch(ticks=market.batch())
    (found,) = verify(run.desk.registry, run.desk.log)
    assert found.differs, (found.expected, found.found, found.remarks)
    assert found.examples


def told(run: DeskRun, name: str) -> list[tuple[Any, ...]]:
    return [
        (change.batch, change.id, change.sign, *change.row.values())
        for change in run.desk.subscription(name).changes(follow=False)
    ]


def ticks(*rows: tuple[float, float, float]) -> pa.Table:
    """Give rows of one symbol: seconds, price and slope."""
    return pa.table(
        {
            "ts": pa.array([int(at * SECOND) for at, _, _ in rows]).cast(TICKS.schema.types[0]),
            "symbol": pa.array(["a"] * len(rows)),
            "price": pa.array([price for _, price, _ in rows]),
            "slope": pa.array([slope for _, _, slope in rows]),
            "venue": pa.array(["lit"] * len(rows)),
        }
    )


def at(second: float) -> Any:
    return pa.scalar(int(second * SECOND), TICKS.schema.types[0]).as_py()


def test_a_crossing_is_expected_then_withdrawn_or_confirmed(run: DeskRun) -> None:
    """Of a line through 100 that rises by 1: above 105 from the fifth second on."""
    text = (
        f"SELECT starts, ends, status FROM ticks {MODEL} WHERE price > :limit "
        "ERROR WITHIN 0.5 HORIZON 20 SECONDS"
    )
    run.desk.subscribe(text, "alert", [{"id": "q", "limit": 105.0}])
    run.batch(ticks=ticks((0, 100.0, 1.0), (1, 101.2, 1.0)))
    run.batch(ticks=ticks((2, 103.0, 1.0)))
    run.batch(ticks=ticks((3.0, 104.0, 1.0), (6, 107.1, 1.0)))
    run.batch(ticks=ticks((8, 103.0, -1.0), (9, 102.0, -1.0)))
    assert told(run, "alert") == [
        (0, "q", 1, at(5), at(20), "expected"),
        # The next model crosses a second earlier.
        (2, "q", -1, at(5), at(20), "expected"), (2, "q", 1, at(4), at(22), "confirmed"),
        (3, "q", -1, at(8), at(22), "confirmed"),
    ]  # fmt: skip
    verified(run)
    figures = run.figures[run.desk.subscription("alert").group]
    assert figures.total(MODEL_ROWS) == 2 and figures.total(SEGMENTS) == 1
    assert figures.total(VALIDATED) == 1


def test_a_late_query_begins_with_what_models_say(run: DeskRun) -> None:
    text = f"SELECT starts, ends, price FROM ticks {MODEL} WHERE price > :limit ERROR WITHIN 0.5"
    run.desk.subscribe(text, "early", [{"id": "q", "limit": 105.0}])
    run.batch(ticks=ticks((0, 100.0, 1.0), (2, 102.0, 1.0)))
    run.desk.subscribe(text, "late", [{"id": "q", "limit": 101.0}])
    run.batch(ticks=ticks((3, 103.0, 1.0), (4, 104.0, 1.0)))
    assert told(run, "early") == [(0, "q", 1, at(5), at(10), [105.0, 1.0])]
    # Its streams had come to 1.5 seconds: half a second behind the newest row.
    assert told(run, "late") == [(1, "q", 1, at(1.5), at(10), [101.5, 1.0])]
    verified(run)


def test_samples_must_not_be_too_many(run: DeskRun) -> None:
    text = f"SELECT at, price FROM ticks {MODEL} HORIZON 2 MINUTES SAMPLE EVERY 1 MILLISECOND"
    with pytest.raises(PenstockError, match="MDL-060"):
        run.desk.subscribe(text, "many")
