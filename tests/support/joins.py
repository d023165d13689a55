"""Joins for tests: shapes of every class, and drawn queries and changes for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.inputs import JoinInput
from penstock.algebra.joins import Band, StandingJoin, Window
from penstock.algebra.predicates import Bound, Branch, Equality, Range, Residual

Row = dict[str, Any]

COLUMNS = {
    "left": {
        "k": pa.int32(), "s": pa.string(), "x": pa.float64(), "y": pa.int32(),
        "t": pa.timestamp("us"),
    },
    "right": {
        "k": pa.int64(), "s": pa.large_string(), "x": pa.float64(), "y": pa.int64(),
        "t": pa.timestamp("us"),
    },
}  # fmt: skip
CHANGE = "change"
PARAMETERS = {
    "s": pa.string(), "n": pa.int64(), "xl": pa.float64(), "xh": pa.float64(), "yl": pa.int32(),
    "yh": pa.int32(), "bl": pa.int64(), "bh": pa.int64(), "w": pa.float64(), "z": pa.float64(),
}  # fmt: skip
CLOSED = {name: Bound(parameter=name, closed=True) for name in PARAMETERS}
OPEN = {name: Bound(parameter=name, closed=False) for name in PARAMETERS}
X = Range(column="x", lows=(CLOSED["xl"],), highs=(OPEN["xh"],))
Y = Range(column="y", lows=(CLOSED["yl"],), highs=(CLOSED["yh"],))
ABOVE = Range(column="y", lows=(OPEN["yl"],), highs=())
S = Equality(column="s", parameters=("s",))
N = Equality(column="y", parameters=("n",))
UNLIKE = Residual(sql="c0 <> r0", columns=("s",), parameters=("s",))
ACROSS = Residual(sql="c0 + r0 > c1", columns=("i0.x", "i1.x"), parameters=("z",))
NOTHING = Branch()
KEYS = {"number": (("k", "k"),), "text": (("s", "s"),), "both": (("k", "k"), ("s", "s"))}
LOCALS: dict[str, tuple[Branch, Branch, Residual | None]] = {
    "ranges": (Branch(ranges=(X,)), Branch(ranges=(Y,)), None),
    "plain": (NOTHING, NOTHING, None),
    "further": (Branch(ranges=(X, Y)), Branch(ranges=(X, ABOVE)), None),
    "points": (Branch(equalities=(N,)), Branch(equalities=(N,), ranges=(X,)), None),
    "texts": (Branch(equalities=(S,)), Branch(equalities=(S,), ranges=(ABOVE,)), None),
    "residual": (Branch(ranges=(X,), residual=UNLIKE), Branch(residual=UNLIKE), None),
    "across": (Branch(ranges=(X,)), Branch(ranges=(Y,)), ACROSS),
}
BANDS = {
    "whole": Band(left="y", right="y", lows=(CLOSED["bl"],), highs=(OPEN["bh"],)),
    "float": Band(left="x", right="x", lows=(CLOSED["xl"],), highs=(CLOSED["xh"],)),
    "mixed": Band(left="y", right="x", lows=(OPEN["bl"],), highs=()),
}
WINDOW = Window(left="t", right="t", within=OPEN["w"])
LATENESS_US = 3_000_000


def standing_join(
    kind: str, form: str, local: str, mode: str = "full", strategy: str = "scan",
    selfish: bool = False, **tuning: Any,
) -> StandingJoin:  # fmt: skip
    """Make a join: `form` names keys (or a band), `local` what is asked of the sides."""
    stream = kind == "window_join"
    left, right, across = LOCALS[local]
    inputs = tuple(
        JoinInput(
            relation="left" if selfish else name,
            columns=tuple(COLUMNS["left" if selfish else name].items()),
            branch=branch,
            change_column=None if stream else CHANGE,
            event_time="t" if stream else None,
            lateness_us=LATENESS_US if stream else 0,
        )
        for name, branch in (("left", left), ("right", right))
    )
    return StandingJoin(
        inputs=inputs,
        keys=KEYS[form] if kind != "band_join" else (),
        band=BANDS[form] if kind == "band_join" else None,
        window=WINDOW if stream else None,
        outputs=(),
        residual=across,
        parameters=PARAMETERS,
        mode=mode,  # type: ignore[arg-type]
        strategy=strategy,
        tuning=tuning,
    )


def forms(kind: str) -> list[str]:
    """Name the forms of a kind."""
    return sorted(BANDS if kind == "band_join" else KEYS)


def parameter_rows(chance: np.random.Generator, size: int) -> list[Row]:
    """Draw rows of parameters; some are NULL or NaN, none has a range that is reversed."""
    rows = []
    for _ in range(size):
        low, wide = int(chance.integers(-3, 7)), int(chance.integers(0, 10))
        row: Row = {
            "s": str(chance.choice(["a", "b", ""])), "n": int(chance.integers(0, 6)),
            "xl": low / 2, "xh": (low + wide + 1) / 2, "yl": low, "yh": low + wide,
            "bl": low - 4, "bh": low - 3 + wide, "w": float(chance.integers(1, 9)) / 2,
            "z": float(chance.integers(-3, 4)),
        }  # fmt: skip
        if chance.random() < 0.05:
            row[str(chance.choice(["s", "xl", "yh", "z"]))] = None
        if chance.random() < 0.03:
            row["xl"] = float("nan")
        rows.append(row)
    return rows


def data_row(chance: np.random.Generator, clock_us: int = 0) -> Row:
    """Draw a row of a side; some values are NULL or NaN."""
    row: Row = {
        "k": int(chance.integers(0, 3)), "s": str(chance.choice(["a", "b", ""])),
        "x": float(chance.integers(0, 12)) / 2, "y": int(chance.integers(0, 6)), "t": clock_us,
    }  # fmt: skip
    if chance.random() < 0.1:
        row[str(chance.choice(["k", "s", "x", "y"]))] = None
    if chance.random() < 0.05:
        row["x"] = float("nan")
    return row


def data_table(relation: str, rows: list[Row]) -> pa.Table:
    """Make an Arrow table of rows; a change column if they have one."""
    types = dict(COLUMNS[relation])
    if rows and CHANGE in rows[0]:
        types[CHANGE] = pa.string()
    return pa.table(
        {name: pa.array([r[name] for r in rows], type_) for name, type_ in types.items()}
    )


def parameter_table(rows: list[Row]) -> pa.Table:
    """Make an Arrow table of parameters."""
    return pa.Table.from_pylist(rows, schema=pa.schema(list(PARAMETERS.items())))


def changed_rows(
    chance: np.random.Generator, held: list[Row], size: int, unknown: float = 0.1
) -> list[Row]:
    """Draw changes to a table and follow them in `held`; some delete what is not there."""
    changes = []
    for _ in range(size):
        if held and chance.random() < 0.4:
            row = held.pop(int(chance.integers(len(held))))
            changes.append({**row, CHANGE: str(chance.choice(["delete", "update_before", "-"]))})
        elif chance.random() < unknown:
            changes.append({**data_row(chance), CHANGE: "delete"})
        else:
            row = data_row(chance)
            held.append(row)
            changes.append({**row, CHANGE: str(chance.choice(["insert", "update_after", "+"]))})
    return changes


def stream_rows(
    chance: np.random.Generator, clock: int, size: int, lateness: float = 0.1
) -> tuple[list[Row], int]:
    """Draw rows of a stream in nearly ascending order, some late; give them and the new clock.

    Within a batch no row is late by the batch's own: a late one is late however a batch is cut.
    """
    rows, now = [], clock
    for _ in range(size):
        now += int(chance.integers(0, 1_500_000)) if chance.random() < 0.7 else 0
        late = clock > 0 and chance.random() < lateness
        back = LATENESS_US + int(chance.integers(1, 10**6))
        jitter = int(chance.integers(0, LATENESS_US)) if chance.random() < 0.6 else LATENESS_US
        time = clock - back if late else now - jitter
        rows.append(data_row(chance, time))
    return rows, max([clock, *(row["t"] for row in rows)])
