"""Warming: every kernel of joins once, with the types of production."""

from __future__ import annotations

from functools import cache, partial
from itertools import product
from typing import get_args

import numpy as np
import pyarrow as pa

from penstock.algebra.inputs import InputShape
from penstock.algebra.joins import JoinKind, JoinStep, Mode
from penstock.algebra.physical import BranchShape
from penstock.kernels.routes import rows_restore, tuples_cut
from penstock.kernels.skylines import picks_pack
from penstock.operators.join.band import STRATEGIES as BAND
from penstock.operators.join.entries import entry_schema
from penstock.operators.join.operator import JoinOperator
from penstock.operators.join.select.core import STRATEGIES as SELECT
from penstock.operators.join.window import STRATEGIES as WINDOW
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.readers import band_difference
from penstock.operators.shared.rehearsal import NO_CHANGES, rehearse
from penstock.vocabulary.batches import QueryChanges
from penstock.vocabulary.types import ColumnKind, kind_of

ROWS = 60
COLUMNS = (
    ("number", pa.int64()), ("text", pa.string()), ("x", pa.float64()), ("at", pa.timestamp("us")),
)  # fmt: skip
STRATEGIES: dict[JoinKind, tuple[str, ...]] = {
    "select_join": tuple(SELECT),
    "band_join": tuple(BAND),
    "window_join": tuple(WINDOW),
}
DYNAMIC = "dynamic"
MODES: tuple[Mode, ...] = get_args(Mode)
NO_WORDS, NO_ROWS = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)


def warm_up(step: JoinStep | None) -> None:
    """Run small groups of a step's kind through everything that it may need, once per process.

    The router may choose any strategy. Without a step, all kinds in both modes.
    """
    _rare()
    if step is None:
        for kind, mode in product(STRATEGIES, MODES):
            for band in ("x", "number") if kind == "band_join" else (None,):
                for strategy in (*STRATEGIES[kind], DYNAMIC):
                    _run(kind, strategy, band, mode)
        return
    band = None
    if (difference := band_difference(step)) is not None:
        band = "x" if kind_of(difference) is ColumnKind.FLOAT else "number"
    routed = (*STRATEGIES[step.kind], DYNAMIC)
    for strategy in dict.fromkeys(routed if step.strategy == DYNAMIC else (step.strategy,)):
        _run(step.kind, strategy, band, step.mode)


@cache
def _rare() -> None:
    """Call what small groups do not come to: they cut no batch, and pack no skylines."""
    picks_pack(NO_WORDS, NO_WORDS, NO_WORDS, NO_ROWS, NO_ROWS)
    choices = np.empty(0, dtype=np.uint8)
    tuples_cut(NO_WORDS, NO_ROWS, choices, NO_WORDS, NO_WORDS, NO_ROWS, NO_ROWS)
    rows_restore(NO_ROWS, NO_ROWS)


@cache
def _run(kind: JoinKind, strategy: str, band: str | None = None, mode: Mode = "full") -> None:
    """Let queries and rows come and go once."""
    window = kind == "window_join"
    ranges = BranchShape(ranges=(("x", pa.float64()),))
    inputs = tuple(
        InputShape(
            relation=name, columns=COLUMNS, branch=ranges,
            change_column=None if window else "change", event_time="at" if window else None,
        )
        for name in ("left", "right")
    )  # fmt: skip
    step = JoinStep(
        kind=kind, inputs=inputs, strategy=strategy, mode=mode,
        keys=() if band else (("number", "number"), ("text", "text")),
        band=(band, band) if band else None, window=("at", "at") if window else None,
    )  # fmt: skip
    changes = [
        QueryChanges(adds={PORT: _entries(step, turn * ROWS)}, drops=np.arange(turn * 20))
        for turn in range(2)
    ]
    turns = zip((*changes, NO_CHANGES), ("+", "+", "-"), strict=True)
    rehearse(
        partial(JoinOperator, step),
        [(change, {"left": _rows(sign), "right": _rows(sign)}) for change, sign in turns],
    )


def _entries(step: JoinStep, first: int) -> pa.Table:
    numbers = np.arange(ROWS)
    columns = {}
    for field in entry_schema(step):
        values = first + numbers if field.name == "query" else numbers % 7 - 7
        if field.name[-1] == "h" or field.name in ("w", "i0_h0", "i1_h0"):
            values = numbers % 5 + (1 << 62)
        columns[field.name] = pa.array(values).cast(field.type, safe=False)
    return pa.table(columns)


def _rows(sign: str) -> pa.Table:
    numbers = np.arange(ROWS) % 9
    return pa.table(
        {
            "number": numbers, "text": ["a"] * ROWS, "x": numbers.astype(np.float64),
            "at": pa.array(numbers).cast(pa.timestamp("us")), "change": [sign] * ROWS,
        }
    )  # fmt: skip
