"""Answers of model queries keep their bound over rows as they should not be.

What is told is verified by DuckDB; of what is told of a whole model, rows are asked as well, by
plain arithmetic: the newest row in time of a key and an instant is within the bound of what stands.
"""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.engine.verification import verify
from tests.support.desk_runs import DeskRun
from tests.support.model_mishaps import SCHEMA, SECOND, STYLES, MishapRows, relation

BOTH = "MODEL x = x + v * t, y = y + w * t KEY k"
LINE = "MODEL x = x + v * t KEY k"
CURVE = "MODEL x = x + v * t + w * t * t KEY k"
APART = "sqrt(pow(a.x - b.x, 2) + pow(a.y - b.y, 2))"
PAIR = f"FROM s a {BOTH} JOIN s b {BOTH} ON a.k <> b.k"
MEAN = f"SELECT k, avg(x) AS m FROM s [SIZE {{}} SECONDS ADVANCE 1 SECOND] {LINE} GROUP BY k"
WHOLE = {
    "line": ("SELECT k, starts, ends, x FROM s {law} ERROR WITHIN {bound}", "xv"),
    "ahead": ("SELECT k, starts, ends, x, status FROM s {law} ERROR WITHIN {bound} "
              "HORIZON ADAPTIVE (1 SECOND, 8 SECONDS)", "xv"),
    "fitted": ("SELECT k, starts, ends, x FROM s MODEL x KEY k ERROR WITHIN {wide} "
               "FIT x USING {method} DEGREE {degree}", "x"),
}  # fmt: skip
"""Queries that are told all of a model, and the columns that must be numbers for it."""
FORMS = {
    "one": "SELECT k, starts, ends, x{status} FROM s {law} WHERE x {sign} {c} "
    "ERROR WITHIN {bound}{horizon}",
    "each": "SELECT k, starts, ends, x{status} FROM s {law} WHERE x {sign} :p "
    "ERROR WITHIN {bound}{horizon}",
    "two": f"SELECT k, starts, ends, x, y FROM s {BOTH} WHERE x > :p AND (y < {{c}} OR x * y > 2) "
    "ERROR WITHIN {bound}",
    "fit": "SELECT k, starts, ends, x FROM s MODEL x KEY k WHERE x {sign} :p ERROR WITHIN {wide} "
    "FIT x USING {method} DEGREE {degree}",
    "band": "SELECT k, starts, ends, x FROM s {law} WHERE x BETWEEN :p AND :q ERROR WITHIN {bound}",
    "sampled": "SELECT k, at, x FROM s {law} WHERE x {sign} :p ERROR WITHIN {bound} "
    "SAMPLE EVERY 700 MILLISECONDS",
    "carried": "SELECT k, u, starts, ends, x FROM s {law} WHERE x {sign} {c} ERROR WITHIN {bound}",
    "chosen": "SELECT k, starts, ends, x FROM s {law} WHERE x {sign} {c} AND u = 'lit' AND w > 0 "
    "ERROR WITHIN {bound}",
    "extremes": "SELECT min(x) AS low, max(x) AS high, starts, ends FROM s {law} "
    "ERROR WITHIN x {bound}",
    "mean": "SELECT k, avg(x) AS m, starts, ends FROM s [SIZE 3 SECONDS ADVANCE 1 SECOND] {law} "
    "GROUP BY k ERROR WITHIN x {bound}",
    "peak": "SELECT k, at, max(x) AS m FROM s [SIZE 3 SECONDS ADVANCE 1 SECOND] {law} GROUP BY k "
    "HAVING max(x) > {c} ERROR WITHIN x {bound}",
    "pairs": f"SELECT a.k, b.k AS k2, starts, ends, a.x AS x{{status}} FROM s a {LINE} "
    f"JOIN s b {LINE} ON a.k <> b.k AND a.x < b.x ERROR WITHIN x {{bound}}{{horizon}}",
    "near": f"SELECT a.k, b.k AS k2, starts, ends{{status}} {PAIR} AND {APART} < 5 "
    "ERROR WITHIN x {bound}, y {bound}{horizon}",
    "apart": f"SELECT a.k, b.k AS k2, at, {APART} AS d {PAIR} ERROR WITHIN 1 "
    "SAMPLE EVERY 500 MILLISECONDS",
    "product": f"SELECT k, starts, ends, x * y AS z FROM s {BOTH} WHERE x * y > {{c}} "
    "ERROR WITHIN x {bound}, y {bound}",
    "rising": f"SELECT f.k, starts, ends, f.m - g.m AS d FROM ({MEAN.format(1)}) f "
    f"JOIN ({MEAN.format(3)}) g ON f.k = g.k WHERE f.m > g.m ERROR WITHIN x {{bound}}",
}
NUMBERS = (0.0, 1.0, -1.0, 0.5, 100.0, 1e9, 1e15)
EACH = [{"id": str(p), "p": p, "q": p + n - 3} for n, p in enumerate(NUMBERS)]
Told = dict[Any, list[tuple[int, int, int, Any]]]


def words(chance: np.random.Generator) -> dict[str, Any]:
    """Draw what forms leave open."""
    horizon = str(chance.choice(["", " HORIZON 4 SECONDS"]))
    return {
        "law": str(chance.choice([LINE, BOTH, CURVE])),
        "bound": str(chance.choice(["0", "0.5", "0.001", "3", "1 %", "0.01 %", "20 %"])),
        "wide": str(chance.choice(["0.5", "0.001", "3", "1 %", "20 %"])),
        "sign": str(chance.choice([">", ">=", "<", "<=", "=", "<>"])),
        "c": float(chance.choice([0.0, 1.0, 100.0, -3.0])),
        "method": str(chance.choice(["SLIDING", "BOTTOMUP", "SWAB"])),
        "degree": int(chance.integers(4)), "horizon": horizon,
        "status": ", status" if horizon else "",
    }  # fmt: skip


def told(run: DeskRun, name: str) -> Told:
    """Give what a subscription was told, by query and key."""
    found: Told = defaultdict(list)
    for change in run.desk.subscription(name).changes(follow=False):
        row = change.row
        first = row["starts"] if "starts" in row else row["at"]
        span = [pa.scalar(each, pa.timestamp("us", "UTC")).value
                for each in (first, row.get("ends", first))]  # fmt: skip
        key = tuple(row[each] for each in ("k", "k2", "u") if each in row)
        found[change.id, key].append((*span, change.sign, row))
    return found


def assert_adds_up(of: Told, now: int) -> None:
    """At each instant there is one answer or none; what has come is expected no more."""
    for key, rows in of.items():
        left: dict[Any, int] = defaultdict(int)
        for first, last, sign, row in rows:
            left[first, last, row.get("status"), repr(row.get("x"))] += sign
        for (first, _, status, _), count in left.items():
            assert count == 0 or status is None or (status == "expected") == (first > now), key
        spans = np.array([(first, last, sign) for first, last, sign, _ in rows])
        for one, two in pairwise(np.unique(spans[:, :2])):
            at = (one + two) // 2
            here = (spans[:, 0] <= at) & (at < spans[:, 1])
            # Ends are rounded to microseconds.
            assert two - one <= 4 or spans[here, 2].sum() in (0, 1), (key, at)


def assert_near_rows(of: Told, rows: list[tuple[int, Any]], words: dict[str, Any], need: str,
                     bound: str, now: int) -> None:  # fmt: skip
    """The newest usable row of an instant is within the bound of the model that stands there."""
    share = float(bound.removesuffix(" %")) / 100 if "%" in bound else 0.0
    amount = 0.0 if "%" in bound else float(bound)
    need += {CURVE: "w", BOTH: "yw"}.get(words["law"], "") if "v" in need else ""
    newest: dict[tuple[int, str], float] = {}
    for at, row in rows:
        if all(row[name] is not None and math.isfinite(row[name]) for name in need):
            newest[at, row["k"]] = row["x"]
    by_key = {key[0]: own for (_, key), own in of.items()}
    for (at, key), x in newest.items():
        here = [own for own in by_key.get(key, []) if own[0] <= at < own[1]]
        count = sum(sign for _, _, sign, _ in here)
        if at > now or ("v" not in need and count == 0):
            continue  # A piece is told when it has ended, and not where it has no length.
        assert count == 1, (key, at, count)
        values = [sign * value(row["x"], at - first) for first, _, sign, row in here]
        allowed = max(amount, share * abs(sum(values)), 1e-9 if share else 0.0)
        rounding = 1e-9 * (1 + abs(x)) + 1e-12 * sum(map(abs, values))
        assert abs(sum(values) - x) <= allowed * (1 + 1e-6) + rounding, (key, at, x, values)


def value(model: list[float], since_us: int) -> float:
    return float(np.polynomial.polynomial.polyval(since_us / SECOND, np.array(model)))


def in_time(batches: list[pa.Table], lateness_us: int) -> tuple[list[tuple[int, Any]], int]:
    """Give rows that are not late, in their order, and the time that has come."""
    found, clock = [], -(1 << 62)
    for batch in batches:
        times = batch["ts"].cast(pa.int64()).to_pylist()
        for at, row in zip(times, batch.drop_columns("ts").to_pylist(), strict=True):
            if at is not None and at >= clock - lateness_us and row["k"] is not None:
                found.append((at, row))
        clock = max([clock, *(at for at in times if at is not None)])
    return found, clock - lateness_us


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("turn", range(3))
def test_answers_keep_their_bound(style: str, turn: int, seed: int, tmp_path: Path) -> None:
    chance = np.random.default_rng(seed + turn)
    lateness = int(chance.choice([0, SECOND // 2, 2 * SECOND]))
    whole = str(chance.choice(sorted(WHOLE)))
    open_, (text, need) = words(chance), WHOLE[whole]
    rows, batches = MishapRows(chance, style, lateness), list[pa.Table]()
    # A piece through a huge row crosses all numbers within the microsecond of the row before.
    forms = sorted(FORMS.keys() - {"fit"} if style == "huge" else FORMS)
    with DeskRun(tmp_path / "home", relation(lateness)) as run:
        run.desk.subscribe(text.format(**open_), "whole")
        names = ["whole"]
        for number in range(5):
            for name in chance.choice(forms, 2 if number in (0, 2) else 0, replace=False):
                asked = FORMS[name].format(**words(chance))
                given = [{key: each[key] for key in each if key == "id" or f":{key}" in asked}
                         for each in EACH] if ":p" in asked else None  # fmt: skip
                run.desk.subscribe(asked, f"{name}_{number}", given)
                names.append(f"{name}_{number}")
            batches.append(rows.batch(int(chance.integers(1, 50))))
            run.batch(s=batches[-1])
            if chance.random() < 0.3:
                run.restart()
        kept, now = in_time(batches, lateness)
        for each in verify(run.desk.registry, run.desk.log):
            assert each.equal, (each.subscription, each.examples, each.failures)
        for name in names:
            assert_adds_up(told(run, name), now)
        bound = open_["wide" if whole == "fitted" else "bound"]
        assert_near_rows(told(run, "whole"), kept, open_, need, bound, now)


def test_a_value_that_holds_for_a_moment_is_no_difference_of_a_mean(tmp_path: Path) -> None:
    """DuckDB looks at windows of three seconds every 23 ms; what answers, looks at models."""
    times = [number * SECOND for number in range(12)]
    glitch, end = [6 * SECOND - 2_000], [times[-1] + 500]
    with DeskRun(tmp_path / "home", relation(0)) as run:
        run.desk.subscribe(f"{MEAN.format(3)} ERROR WITHIN x 0", "mean")
        for own, x in ((times[:6], 1.0), (glitch, -1e12), (times[6:], 1.0), (end, 1e15)):
            rows = [{"ts": at, "k": "a", "x": x, "v": 0.5} for at in own]
            run.batch(s=pa.Table.from_pylist(rows, schema=SCHEMA))
        (outcome,) = verify(run.desk.registry, run.desk.log)
        assert outcome.equal, (outcome.examples, outcome.failures)
        assert outcome.expected > 20
