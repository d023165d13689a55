"""Texts of joins: drawn queries of every kind, each in Penstock's words and in DuckDB's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from penstock.algebra.memories import is_numeric
from penstock.lab.correctness.histories import SECOND_US, Histories, Text, Texts

AMPLE = 10_000
"""Rows of a budget that holds everything."""


def table_filter(drawing: Histories) -> Text:
    """Draw a filter on a table, which may begin with what stands already."""
    both = drawing.one("TRUE", "l.x > 0 OR l.s = 'a'") + drawing.condition("l")
    return _told_from(drawing, f"SELECT l.id, l.x, l.s FROM l WHERE {both}")


def range_aggregate(drawing: Histories) -> Text:
    """Draw aggregates over ranges of a table, which may begin with what stands already."""
    items = ["min(l.x) AS a, max(l.y) AS b", "count(*) AS n, sum(l.y) AS s",
             "sum(l.x) AS s, avg(l.y)", "count(l.x), count(DISTINCT l.y)",
             "min(l.x, 2) AS a, max(l.y, 3) AS b"]  # fmt: skip
    low, other = drawing.number(-2, 2), drawing.number(-2, 1)
    range_ = drawing.one(
        f"l.y BETWEEN {low} AND {low + drawing.number(0, 4)}", f"l.x < {low}", f"l.y >= {low}",
        "l.y BETWEEN :a AND :b AND l.x > :c", "l.y < :b AND l.x BETWEEN :c AND :d",
    )  # fmt: skip
    values = {"a": low, "b": low + drawing.number(1, 4), "c": other / 2, "d": other + 1.0}
    each = {name: value for name, value in values.items() if f":{name}" in range_}
    further = drawing.one(
        "", " AND l.s = 'a'", f" AND l.s LIKE 'a%' AND l.id > {low}", f" AND (l.y + 1) * 2 > {low}",
        f" AND l.y <> {low}",
    )  # fmt: skip
    text = f"SELECT {drawing.one(*items[: 3 if each else None])} FROM l WHERE {range_}{further}"
    twin = text
    for name, value in each.items():
        twin = twin.replace(f":{name}", f"({value})")
    return replace(_told_from(drawing, text, twin), each=each)


def select_join(drawing: Histories) -> Text:
    """Draw a join of two tables by key."""
    across = drawing.one("", "", " AND l.x + r.x > 0", " AND l.s <> r.s", " AND l.y < r.y")
    both = drawing.condition("l") + drawing.condition("r")
    text = f"SELECT l.id AS a, r.id AS b, r.x FROM l JOIN r ON l.k = r.k WHERE TRUE{both}{across}"
    return _told_from(drawing, text)


def band_join(drawing: Histories) -> Text:
    """Draw a join of two tables by a difference."""
    column, low = drawing.one("x", "y"), drawing.number(-2, 1)
    difference = f"r.{column} - l.{column}"
    band = drawing.one(
        f"{difference} BETWEEN {low} AND {low + drawing.number(0, 3)}",
        f"{difference} > {low} AND {difference} <= {low + 2}",
        f"{difference} > 0 AND {difference} < {drawing.number(1, 3)}",
        f"abs({difference}) <= {drawing.number(0, 2)}",
        f"{difference} = {low}",
        f"{difference} >= {low}",
    )
    both = drawing.condition("l") + drawing.condition("r")
    text = f"SELECT l.id AS a, r.id AS b, l.y FROM l, r WHERE {band}{both}"
    # Infinity minus infinity is NULL in a band.
    twin = text.replace(difference, f"nullif({difference}, 'nan'::DOUBLE)")
    return _told_from(drawing, text, twin)


def _told_from(drawing: Histories, text: str, twin: str = "") -> Text:
    """Let a query be told its changes from its registration on, or its first answer too."""
    return Text(text, twin or text, snapshot=drawing.number(0, 2) == 0)


def window_join(drawing: Histories) -> Text:
    """Draw a join of two streams within a window."""
    both = drawing.condition("l") + drawing.condition("r")
    across, seconds = drawing.one("", "", " AND l.x + r.x > 0"), drawing.number(1, 9)
    head, rest = (
        "SELECT l.id AS a, r.id AS b FROM l JOIN r ON l.k = r.k",
        f"WHERE TRUE{both}{across}",
    )
    apart = f"abs(epoch_us(l.ts) - epoch_us(r.ts)) < {seconds * SECOND_US}"
    return Text(f"{head} WITHIN {seconds} SECONDS {rest}", f"{head} {rest} AND {apart}")


def multi_join(drawing: Histories) -> Text:
    """Draw a join of two to four inputs in windows of rows or of seconds; some are one relation."""
    names = "abcd"[: drawing.number(2, 4)]
    inputs = tuple((name, drawing.one(*"lru")) for name in names)
    windows = [drawn_window(drawing, number, name) for number, name in enumerate(names)]
    listed = ", ".join(
        f"{relation} {name}{window.clause}"
        for (name, relation), window in zip(inputs, windows, strict=True)
    )
    columns = [drawing.one("k", "k", "y", "s") for _ in names[1:]]
    keys = " AND ".join(
        f"{one}.{column} = {other}.{column}"
        for one, other, column in zip(names, names[1:], columns, strict=False)
    )
    first, last = names[0], names[-1]
    rest = "".join(drawing.condition(name) for name in names)
    rest += drawing.one("", "", f" AND {first}.y <= {last}.y", f" AND {first}.x + {last}.x > 0.5")
    return Text(
        f"SELECT {_ids(names)} FROM {listed} WHERE {keys}{rest}",
        _in_order(names, keys + rest, windows),
        inputs=inputs,
    )


def model_query(drawing: Histories) -> Text:
    """Draw a model query in which every row is a key of its own: each makes a segment, or none.

    No two are likely to have one bound, so that each has a group of its own, which begins with it.
    """
    low = drawing.number(-3, 3) / 2
    holds = drawing.one(f"x > {low}", f"x <= {low}", f"x BETWEEN {low} AND {low + 1}")
    holds += drawing.one("", " AND s = 'a'", f" AND (y + 1) * 2 > {low}")
    bound = drawing.number(1, 1_000_000)
    return Text(
        f"SELECT id, starts, ends FROM l MODEL x = x KEY id WHERE {holds} ERROR WITHIN {bound}",
        f"SELECT id, ts, ts + INTERVAL 10 SECONDS FROM l WHERE isfinite(x) AND {holds}",
    )


def bounded_join(drawing: Histories) -> Text:
    """Draw a join of two inputs within a budget, ample or scarce, in windows or without."""
    other = drawing.one("r", "r", "l")
    rest = drawing.condition("a") + drawing.condition("b")
    rest += drawing.one("", "", " AND a.x + b.x > 0", " AND a.y = b.y")
    if drawing.number(0, 2) == 0:
        seconds = drawing.number(1, 9)
        windows = [DrawnWindow.of_seconds(name, seconds) for name in "ab"]
        listed = f"l a JOIN {other} b ON a.k = b.k WITHIN {seconds} SECONDS WHERE TRUE"
    else:
        windows = [drawn_window(drawing, number, name, "") for number, name in enumerate("ab")]
        listed = f"l a{windows[0].clause}, {other} b{windows[1].clause} WHERE a.k = b.k"
    rows, policy = _budget(drawing, "a", all(window.clause for window in windows))
    return Text(
        f"SELECT {_ids('ab')} FROM {listed}{rest} MEMORY {rows} ROWS USING {policy}",
        _in_order("ab", f"a.k = b.k{rest}", windows),
        may_miss=rows < AMPLE,
        counted=_is_counted(rest),
        inputs=(("a", "l"), ("b", other)),
    )


def shared_join(drawing: Histories) -> Texts:
    """Draw a memory of three streams; give what draws the joins that share it."""
    names = "lru"
    windows = [drawn_window(drawing, number, name, "") for number, name in enumerate(names)]
    by = ", ".join(
        f"{name} (k){window.clause}" for name, window in zip(names, windows, strict=True)
    )
    rows, policy = _budget(drawing, "l", has_windows=False)

    def text(drawing: Histories) -> Text:
        pair = drawing.one("lr", "ru", "lu", "ul")
        one, other = tuple(pair)
        rest = drawing.condition(one) + drawing.condition(other)
        rest += drawing.one("", "", f" AND {one}.x + {other}.x > 0", f" AND {one}.y = {other}.y")
        keys = f"{one}.k = {other}.k"
        return Text(
            f"SELECT {_ids(pair)} FROM {one} JOIN {other} ON {keys} WHERE TRUE{rest} "
            f"MEMORY {rows} ROWS SHARED BY {by} USING {policy}",
            _in_order(pair, keys + rest, [windows[names.index(name)] for name in pair]),
            may_miss=rows < AMPLE,
            counted=_is_counted(rest) and f"{one}.y = {other}.y" not in rest,
            inputs=tuple((name, name) for name in names),
        )

    return text


@dataclass(frozen=True, slots=True)
class DrawnWindow:
    """The window of an input: its clause, and what holds of the youngest row for a row inside."""

    clause: str
    holds: str

    @classmethod
    def of_seconds(cls, name: str, size: int) -> Self:
        """Give a window of so many seconds."""
        behind = f"epoch_us(youngest.ts) - epoch_us({name}.ts)"
        return cls(f" [RANGE {size} SECONDS]", f"{behind} < {size * SECOND_US}")


def drawn_window(drawing: Histories, number: int, name: str, *others: str) -> DrawnWindow:
    """Draw a window of rows or of seconds, or, where there is another way, none."""
    kind, size = drawing.one("rows", "range", *others), drawing.number(1, 8)
    if kind == "range":
        return DrawnWindow.of_seconds(name, size)
    if kind == "rows":
        since = f"youngest.count_{number} - {name}.count_{number}"
        return DrawnWindow(f" [ROWS {size}]", f"{since} < {size}")
    return DrawnWindow("", "TRUE")


def _budget(drawing: Histories, first: str, has_windows: bool) -> tuple[int, str]:
    """Draw a budget and a policy that such a join may have."""
    rows = drawing.number(2, 12) if drawing.number(0, 1) else AMPLE
    others = ("PROB", "LIFE") if has_windows else ("PROB",)
    if is_numeric(drawing.key):
        law = drawing.one("LINEAR TREND", "RANDOM WALK", "AR(1)", "HISTOGRAM")
        others = (*others, "HIST", f"HEEB MODEL {first} AS {law}")
    return rows, drawing.one("HEEB", "LRU", "LFU", "RAND", *others)


def _is_counted(rest: str) -> bool:
    """Say whether all that is asked of two rows is asked before they are counted as a pair."""
    return not any(word in rest for word in ("LIKE", "+", "<>"))


def _ids(names: str) -> str:
    return ", ".join(f"{name}.id AS id_{name}" for name in names)


def _in_order(names: str, condition: str, windows: Sequence[DrawnWindow]) -> str:
    """Ask DuckDB for rows that stand in their windows when the youngest of them comes."""
    last = ", ".join(f"{name}.place" for name in names)
    holds = " AND ".join(window.holds for window in windows)
    return (
        f"SELECT {_ids(names)} FROM {', '.join(names)}, placed youngest WHERE {condition} AND "
        f"youngest.place = greatest({last}) AND {holds}"
    )
