"""Advice from files: replays are what caches and the engine do, and bad files are told."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from penstock.algebra.catalog import Relation
from penstock.algebra.inputs import WindowLength
from penstock.algebra.memories import AUTO, Memory, PolicyName, StreamLaw
from penstock.cli.main import app
from penstock.kinds.traces import join_of, read_trace
from penstock.lab.caching.model_fitting import steered
from penstock.lab.caching.workload import alternating, temperatures
from penstock.operators.bounded.advice import advise
from penstock.operators.bounded.advice_replays import Replayed, join_replay
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.forecast_curves import Point
from penstock.operators.bounded.lookups import AutoLookup
from penstock.operators.bounded.lookups_caches import LookupCache
from penstock.operators.bounded.offline import lfd, opt_offline
from penstock.operators.bounded.policies_baselines import Lru, ProbPast, Rand
from penstock.operators.bounded_join.figures import RECALL_ALL
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.shared_figures import MADE
from tests.support.desk_runs import DeskRun
from tests.tidy.tree import ROOT

TIMED = pa.schema([("n", pa.int64()), ("k", pa.string()), ("ts", pa.timestamp("us"))])
GUIDE = ROOT / "docs" / "guides" / "memory.md"


def asked(*words: str | Path) -> dict[str, Any]:
    """Ask for advice; give what is told as JSON."""
    result = CliRunner().invoke(app, ["advise", *map(str, words), "--json"])
    assert result.exit_code == 0, result.output
    told: dict[str, Any] = json.loads(result.stdout)
    return told


def shares(told: dict[str, Any], policy: str) -> dict[int, float]:
    name = told["measure"].replace(" ", "_")
    return {point["rows"]: point[name] for point in told["curves"][policy]}


def trends(seed: int, count: int = 600) -> tuple[Ints, Ints]:
    """Draw two streams that grow by one per tick, with noise of at most 10 and 15."""
    rng = np.random.default_rng(seed)
    one, other = (np.arange(count) + rng.integers(-w, w + 1, count) for w in (10, 15))
    return one, other


@pytest.fixture
def orders(tmp_path: Path, seed: int) -> tuple[Path, Path]:
    paths = tmp_path / "orders.parquet", tmp_path / "ships.parquet"
    for path, keys in zip(paths, trends(seed), strict=True):
        pq.write_table(pa.table({"number": keys}), path)
    return paths


def test_curves_of_a_join_are_those_of_the_caches(orders: tuple[Path, Path], seed: int) -> None:
    told = asked(*orders, "--key", "number", "--memory", "10,25")
    keys = trends(seed)
    together = int((keys[0] == keys[1]).sum())
    everything = JoinCache(1200, Rand()).feed(*alternating(*keys))
    assert told["results"] == everything.found.sum()
    for budget in (10, 25):
        found = {
            "HEEB": int(steered(keys, budget)[0].sum()),
            "OPT": int(opt_offline(*keys, budget).values[budget]),
        }
        for name, policy in (("PROB", ProbPast(ordered=True)), ("LRU", Lru()), ("RAND", Rand())):
            found[name] = int(JoinCache(budget, policy).feed(*alternating(*keys)).made.sum())
        for name, made in found.items():
            expected = (made + together) / told["results"]
            assert shares(told, name)[budget] == pytest.approx(expected, abs=1e-4), name


def test_a_join_of_trends_is_advised_heeb_and_the_rows_it_needs(
    orders: tuple[Path, Path], tmp_path: Path
) -> None:
    drawing = tmp_path / "curves.svg"
    told = asked(*orders, "--key", "number", "--draw", drawing)
    assert told["policy"] == "HEEB"
    # A row is dead when the other stream has passed it: after 26 ticks, two rows each.
    assert told["rows"] < 40
    assert told["recall"] >= 0.95
    assert shares(told, "HEEB")[max(shares(told, "HEEB"))] >= 0.999
    assert shares(told, "OPT")[told["rows"]] >= told["recall"]
    assert [law["family"] for law in told["laws"].values()] == ["linear trend"] * 2
    assert told["laws"]["orders"]["parameters"]["slope"] == pytest.approx(1.0, abs=0.01)
    assert told["alpha"] > 0
    needs = {need["share"]: need["rows"] for need in told["needs"]}
    assert needs[0.95] <= told["rows"]
    assert needs[0.5] < needs[0.8] < needs[0.95]
    assert told["clause"] == (
        f"MEMORY {told['rows']} ROWS USING HEEB MODEL orders AS LINEAR TREND, ships AS LINEAR TREND"
    )
    assert all(name in drawing.read_text() for name in ("<svg", "RAND", "OPT", "advised"))


def timed(path: Path, seed: int, count: int = 300) -> pa.Table:
    """Write rows with times, in no order, some without a key."""
    rng = np.random.default_rng(seed)
    keys = [None if key == 0 else f"k{key}" for key in rng.integers(0, 25, count)]
    times = rng.permutation(rng.integers(0, 30_000_000, count))
    table = pa.table(
        {"n": np.arange(count), "k": keys, "ts": pa.array(times).cast(pa.timestamp("us"))}
    ).cast(TIMED)
    pq.write_table(table, path)
    return table


@pytest.mark.parametrize(
    ("within", "window"), [("3 seconds", "WITHIN 3 SECONDS"), ("40", "[ROWS 40]")]
)
def test_a_replay_is_what_the_engine_does(
    tmp_path: Path, seed: int, within: str, window: str
) -> None:
    paths = tmp_path / "r.parquet", tmp_path / "s.parquet"
    tables = [timed(path, seed + number) for number, path in enumerate(paths)]
    told = asked(*paths, "--key", "k", "--time", "ts", "--within", within, "--memory", "30")
    assert window in told["sql"]
    streams = [
        Relation(name=name, kind="stream", schema=TIMED, event_time="ts", lateness_us=0)
        for name in "rs"
    ]
    run = DeskRun(tmp_path / "home", *streams)
    assert "bounded_join" in run.desk.explain(told["sql"]).text()
    run.desk.subscribe(re.sub(r"MEMORY.*", "MEMORY 30 ROWS", told["sql"]), name="pairs")
    # The last rows come so late that all others go on; they join nothing.
    last = [
        pa.table({"n": [0], "k": [name], "ts": pa.array([10**9], pa.timestamp("us"))}).cast(TIMED)
        for name in "rs"
    ]
    tables = [
        pa.concat_tables([each.sort_by("ts"), end]) for each, end in zip(tables, last, strict=True)
    ]
    run.batch(r=tables[0], s=tables[1])
    assert run.figures.total(RECALL_ALL) == told["results"]
    assert run.figures.total(MADE) / told["results"] == pytest.approx(
        shares(told, "HEEB")[30], abs=1e-4
    )
    run.desk.close()


def test_several_columns_of_a_csv_file_join_as_duckdb_joins_them(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    one = pa.table({"a": rng.integers(0, 9, 200), "b": rng.choice(["x", "y z", ""], 200)})
    other = pa.table({"A": rng.integers(0, 9, 200), "c": rng.choice(["x", "y z", "w"], 200)})
    pa.csv.write_csv(one, tmp_path / "one.csv")
    pq.write_table(other, tmp_path / "the other.parquet")
    told = asked(tmp_path / "one.csv", tmp_path / "the other.parquet", "--key", "a", "--key", "b=c")
    count = duckdb.execute("SELECT count(*) FROM one, other WHERE one.a = other.A AND b = c")
    assert told["results"] == count.fetchall()[0][0]
    assert not told["numeric"]
    assert 'one.a = "the other".A AND one.b = "the other".c' in told["sql"]


def test_curves_of_lookups_are_those_of_the_caches(tmp_path: Path, seed: int) -> None:
    keys = temperatures(3000, seed)
    path = tmp_path / "days.parquet"
    pq.write_table(pa.table({"degrees": keys}), path)
    told = asked(path, "--key", "degrees", "--memory", "40,90")
    for budget in (40, 90):
        auto = AutoLookup(Memory(rows=budget, laws=(AUTO,)), numeric=True)
        expected = {
            "HEEB": auto.feed(keys).mean(),
            "LRU": LookupCache(budget, Lru()).feed(keys).mean(),
            "LFD": lfd(keys, budget).mean(),
        }
        for name, rate in expected.items():
            assert shares(told, name)[budget] == pytest.approx(rate, abs=1e-4)
    assert told["laws"]["days"]["family"] == "ar1"
    assert told["policy"] == "HEEB"
    assert told["most"] == pytest.approx(1 - len(np.unique(keys)) / len(keys), abs=1e-4)
    assert told["clause"].startswith(f"CACHE {told['rows']} ROWS USING HEEB MODEL A")
    assert told["sql"].endswith(f"KEY degrees {told['clause']}")


def test_people_are_told_in_words(orders: tuple[Path, Path]) -> None:
    words = ["advise", *map(str, orders), "--key", "NUMBER", "--memory", "8", "--rows", "300"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "(300 rows)" in result.stdout
    assert "linear trend (" in result.stdout
    assert "None of these budgets brings 95 %" in result.stdout
    assert "MEMORY 8 ROWS USING" in result.stdout


@pytest.mark.parametrize("files", [1, 2])
def test_where_nothing_comes_again_no_memory_is_advised(tmp_path: Path, files: int) -> None:
    paths = [tmp_path / f"{number}.parquet" for number in range(files)]
    for number, path in enumerate(paths):
        pq.write_table(pa.table({"k": np.arange(50) + 1000 * number}), path)
    told = asked(*paths, "--key", "k")
    assert told["advice"].endswith("no memory brings anything.")


BAD = {
    "ADV-001": ["there-is-none.parquet", "--key", "k"],
    "ADV-002": ["broken.parquet", "--key", "k"],
    "ADV-003": ["numbers.parquet", "--key", "kk"],
    "ADV-004": ["numbers.parquet", "texts.parquet", "--key", "k"],
    "ADV-005": ["empty.parquet", "--key", "k"],
    "ADV-006": ["numbers.parquet", "--key", "k", "--memory", "10,0"],
    "ADV-007": ["numbers.parquet", "numbers.parquet", "--key", "k", "--within", "2 seconds"],
    "ADV-008": ["numbers.parquet", "--key", "k", "--time", "k"],
    "ADV-009": ["numbers.parquet"] * 3 + ["--key", "k"],
    "ADV-010": ["numbers.parquet", "--key", "k", "--draw", "nowhere/curves.svg"],
}
MORE = {
    "ADV-002 neither": ["notes.txt", "--key", "k"],
    "ADV-004 no key": ["lists.parquet", "--key", "k"],
    "ADV-004 two keys": ["numbers.parquet", "--key", "k", "--key", "j"],
    "ADV-005 nulls": ["nulls.parquet", "--key", "k"],
    "ADV-005 times": ["nulls.parquet", "--key", "k", "--time", "ts"],
    "ADV-006 words": ["numbers.parquet", "--key", "k", "--memory", "many"],
    "ADV-006 none": ["numbers.parquet", "--key", "k", "--memory", ","],
    "ADV-006 most": ["numbers.parquet", "--key", "k", "--memory", "10000001"],
    "ADV-007 lookup": ["numbers.parquet", "--key", "k", "--within", "20"],
    "ADV-007 zero": ["numbers.parquet", "numbers.parquet", "--key", "k", "--within", "0"],
    "CAT-006": ["numbers.parquet", "--key", "k", "--within", "soon"],
}


@pytest.mark.parametrize("code", [*BAD, *MORE])
def test_bad_input_is_told_with_a_code(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"k": [1, 2, 1, 2], "j": [1, 2, 3, 4]}), "numbers.parquet")
    pq.write_table(pa.table({"k": ["1", "2"]}), "texts.parquet")
    pq.write_table(pa.table({"k": pa.array([], pa.int64())}), "empty.parquet")
    times = pa.array([None], pa.timestamp("us"))
    pq.write_table(pa.table({"k": pa.array([None], pa.int64()), "ts": times}), "nulls.parquet")
    pq.write_table(pa.table({"k": [[1], [2]]}), "lists.parquet")
    Path("broken.parquet").write_text("no parquet")
    Path("notes.txt").write_text("k")
    result = CliRunner().invoke(app, ["advise", *{**BAD, **MORE}[code]])
    assert result.exit_code == 2, result.output
    assert result.stderr.splitlines()[-1].startswith(code[:7])
    assert not result.stdout


class Made:
    """A trace of which it is laid down what policies bring."""

    bound, bound_limits, measure = "OPT", "", "recall"
    count, rows_max, most, streams = 1000, 1000, 1.0, 2
    policies: tuple[PolicyName, ...] = ("HEEB", "LRU")

    def __init__(self, **full: int) -> None:
        self.full = full

    def is_affordable(self, policy: PolicyName, budget: int) -> bool:
        return True

    def run(
        self, policy: PolicyName, budget: int, laws: tuple[StreamLaw, ...] | None = None
    ) -> Replayed:
        share = min(1.0, budget / self.full[policy])
        facts = {"policy": policy, "streams": [{"family": None}] * 2}
        return Replayed(point=Point(budget=budget, share=share, results=share), facts=facts)

    def optimum(self, budgets: Sequence[int]) -> tuple[Point, ...]:
        return ()


@pytest.mark.parametrize(
    ("full", "policy", "rows"),
    [
        ({"HEEB": 200, "LRU": 400}, "HEEB", 190),
        ({"HEEB": 400, "LRU": 200}, "LRU", 190),
        ({"HEEB": 200, "LRU": 196}, "LRU", 187),
        ({"HEEB": 200, "LRU": 200}, "HEEB", 190),
        ({"HEEB": 5000, "LRU": 4000}, "LRU", 1000),
    ],
)
def test_the_policy_that_needs_least_is_advised(
    full: dict[str, int], policy: str, rows: int
) -> None:
    found = advise(Made(**full))  # type: ignore[arg-type]
    assert found is not None
    assert (found.policy, found.reached) == (policy, rows < 1000)
    assert rows <= found.rows <= rows + 2


def best(first: Ints, second: Ints, window: int, budget: int) -> int:
    """Try all that may be held: the most results with rows of earlier ticks."""
    keys = (first.tolist(), second.tolist())

    @cache
    def after(tick: int, held: frozenset[tuple[int, int]]) -> int:
        if tick == len(first):
            return 0
        active = {(s, t) for s, t in held if tick - t < window}
        made = sum(keys[s][t] == keys[1 - s][tick] for s, t in active)
        rows = sorted(active | {(0, tick), (1, tick)})
        count = min(budget, len(rows))
        return made + max(after(tick + 1, frozenset(kept)) for kept in combinations(rows, count))

    return after(0, frozenset())


def test_the_optimum_knows_windows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    everywhere = np.ones(7, dtype=np.bool_)
    for window in (1, 2, 3, 5):
        keys = rng.integers(0, 3, 7), rng.integers(0, 3, 7)
        # Of the second stream's rows, the last has not come when the first's does.
        replay = join_replay(
            keys, (everywhere, everywhere), numeric=True,
            times=(np.arange(7), np.arange(7)), window=WindowLength(kind="range", size=window),
        )  # fmt: skip
        together = int((keys[0] == keys[1]).sum())
        for point in replay.optimum((1, 2, 3)) if replay.results else ():
            expected = best(*keys, window, point.budget) + together
            assert point.share * replay.results == pytest.approx(expected)


def test_the_optimum_bounds_what_comes_in_any_order(tmp_path: Path, seed: int) -> None:
    paths = tmp_path / "r.parquet", tmp_path / "s.parquet"
    for number, path in enumerate(paths):
        timed(path, seed + number, 100)
    for window in (None, WindowLength(kind="rows", size=20)):
        replay = join_of([read_trace(path, ["k"], "ts", 1000) for path in paths], window)
        assert not replay.is_even
        for point in replay.optimum((3, 10, 30)):
            for policy in replay.policies:
                assert replay.run(policy, point.budget).point.share <= point.share


def test_what_the_guide_shows_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    section = GUIDE.read_text().split("## From your own data")[1].split("\n## ")[0]
    (code,) = re.findall(r"^```python\n(.*?)^```", section, flags=re.MULTILINE | re.DOTALL)
    exec(compile(code, "memory.md", "exec"), {})
    commands = re.findall(r"^penstock (advise .*)$", section, flags=re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        result = CliRunner().invoke(app, command.split())
        assert result.exit_code == 0, result.output
        (clause,) = re.findall(r"(?:MEMORY|CACHE) \d+ ROWS USING \w+", result.stdout)
        # Better fits may move the budget a little; the guide need not follow.
        assert re.search(re.sub(r"\d+", r"\\d+", clause), section)


def recent_names(tmp_path: Path, seed: int, rows: int = 3_000) -> list[Path]:
    """Write two files of names that come for a while and never again."""
    rng = np.random.default_rng(seed)
    paths = [tmp_path / "taken.parquet", tmp_path / "landed.parquet"]
    for path in paths:
        numbers = np.arange(rows) // 40 * 11 + rng.integers(0, 30, rows)
        pq.write_table(pa.table({"plane": [f"N{n:05}" for n in numbers.tolist()]}), path)
    return paths


def accelerating_numbers(tmp_path: Path, seed: int, rows: int = 2_500) -> list[Path]:
    """Write two files of numbers that grow faster and faster."""
    rng = np.random.default_rng(seed)
    line = 0.1 * np.arange(rows) + 2.0 * np.arange(rows) ** 2 / rows
    paths = [tmp_path / "one.parquet", tmp_path / "other.parquet"]
    for path in paths:
        numbers = np.rint(line + rng.normal(0, 12, rows)).astype(np.int64)
        pq.write_table(pa.table({"plane": numbers}), path)
    return paths


@pytest.mark.parametrize("drawn", [recent_names, accelerating_numbers])
@pytest.mark.parametrize("budgets", [(), ("--memory", "10,40")])
def test_what_is_advised_is_what_the_table_calls_best(
    drawn: Any, budgets: tuple[str, ...], tmp_path: Path, seed: int
) -> None:
    told = asked(*drawn(tmp_path, seed), "--key", "plane", *budgets)
    at = {
        name: own[told["rows"]]
        for name in told["curves"]
        if name != "OPT" and told["rows"] in (own := shares(told, name))
    }
    assert at[told["policy"]] == max(at.values())
    assert at[told["policy"]] == pytest.approx(told["recall"], abs=1e-4)
    assert f"USING {told['policy']}" in told["clause"]
    if drawn is recent_names and budgets:
        # A join by names whose policy nobody chose begins with LRU too.
        assert told["policy"] in {"LRU", "HEEB"} and at["LRU"] > 0.9 * at[told["policy"]]
        assert told["advice"].startswith(f"{told['policy']} with {told['rows']} rows")


def test_lookups_are_advised_what_the_table_calls_best(tmp_path: Path, seed: int) -> None:
    trace = recent_names(tmp_path, seed)[0]
    told = asked(trace, "--key", "plane", "--memory", "20")
    at = {name: shares(told, name)[20] for name in told["curves"] if name != "LFD"}
    assert at[told["policy"]] == max(at.values())
