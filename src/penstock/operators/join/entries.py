"""Entries of joins: rows of parameters become ranges of keys, bands and windows, all at once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.algebra.joins import Band, JoinStep, StandingJoin, Window
from penstock.algebra.predicates import Range
from penstock.operators.shared.bounds import floats_of, floors, scaled_floors
from penstock.operators.shared.common_keys import bound_type
from penstock.operators.shared.entries import EntryColumns
from penstock.operators.shared.input_entries import entry_columns
from penstock.operators.shared.keys import (
    HIGHEST,
    LOWEST,
    float_keys,
    ordered_keys,
    unit_of,
    validity,
)
from penstock.operators.shared.ranges import closed_range
from penstock.operators.shared.readers import band_difference
from penstock.operators.shared.terms import PRIMARY, side_terms
from penstock.vocabulary.batches import Flags, Ints, Registration
from penstock.vocabulary.types import ColumnKind, kind_of

WINDOW_US_MAX = 1 << 61
BAND_MAX = HIGHEST - 2
"""The ends of an int64 mean that a band has none there; an open end is one above or below."""


def register(
    logical: StandingJoin, step: JoinStep, parameters: pa.Table, first: int
) -> Registration:
    """Turn rows of parameters into entries; row i becomes query number `first + i`.

    Bad rows are refused, one by one; rows that can never match are accepted and marked silent.
    There is one entry per query on the port `queries`: `al, ah, cl, ch` (the ranges that the index
    knows), `bl, bh` (band), `w` (window), `i0_e0…`, `i0_l0`, `i0_h0…`, `i1_…` (further terms),
    `i0_r0…`, `i1_r0…`, `x_r0…` (parameters of residuals).
    """
    entries = EntryColumns(logical, parameters)
    for side, node in enumerate(logical.inputs):
        terms = side_terms(step, side)
        entries.put_terms(node.branch, terms.terms)
        if step.band is None and terms.primary is None:
            for name, end in zip(PRIMARY[side], (LOWEST, HIGHEST), strict=True):
                entries.put(name, [end])
    if logical.band is not None:
        _put_band(entries, logical.band, step)
    if logical.window is not None:
        _put_window(entries, logical.window)
    entries.put_residuals(logical, step)
    return entries.registration(first)


def _put_band(entries: EntryColumns, band: Band, step: JoinStep) -> None:
    (one, other), difference = step.inputs, band_difference(step)
    assert difference is not None
    name = f"{other.relation}.{band.right} - {one.relation}.{band.left}"
    term = Range(column=name, lows=band.lows, highs=band.highs)
    left, right = one.types[band.left], other.types[band.right]
    # A bound is of the difference's type: a 32-bit float beside 32-bit floats.
    type_ = left if left == right == pa.float32() else bound_type(difference)
    if kind_of(difference) is ColumnKind.INTEGER:
        _refuse_ends(entries, term)
    low, high, alive = closed_range(term, type_, entries.values, entries.rows)
    if kind_of(difference) is ColumnKind.FLOAT:
        lows, highs, some = float_ends(low, high)
        entries.put("bl", lows, alive & some)
        entries.put("bh", highs)
    else:
        entries.put("bl", low, alive)
        entries.put("bh", high)


def _refuse_ends(entries: EntryColumns, term: Range) -> None:
    """Refuse bounds at the ends of a BIGINT: differences are counted no further, and stop there."""
    for bound in (*term.lows, *term.highs):
        place = floors(entries.values.end(bound, pa.int64()), pa.int64())
        far = (place.side != 0) | (place.key > BAND_MAX) | (place.key < -BAND_MAX)
        bad = np.broadcast_to(place.valid & far, (entries.rows,))
        reason = (
            f"The bound {bound.parameter} of {term.column} lies beyond the differences that are "
            f"told apart. Give one between {-BAND_MAX} and {BAND_MAX}, or leave it out."
        )
        entries.values.refusing.refuse(bad, "REG-005", lambda rows, r=reason: [r] * len(rows))  # type: ignore[misc]


def float_ends(low: Ints, high: Ints) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Flags]:
    """Give a closed range of keys as floats, and where a float lies in it at all.

    No float has the key below zero's, where -0.0 would be if it were not zero; and none lies
    beyond the infinities, at which open ends are.

    >>> low, high, some = float_ends(np.array([LOWEST, 1]), np.array([-1, HIGHEST]))
    >>> low.tolist(), high.tolist(), some.tolist()
    ([-inf, 5e-324], [-5e-324, inf], [True, True])
    """
    least, most = float_keys(np.array([-np.inf, np.inf]))[0]
    some: Flags = (low <= most) & (high >= least)
    low, high = np.clip(low, least, most), np.clip(high, least, most)
    return floats_of(low), floats_of(np.where(high == -1, -2, high)), some


def _put_window(entries: EntryColumns, window: Window) -> None:
    """Put the window in whole microseconds, as `|difference| < w`."""
    values = entries.values.end(window.within, pa.int64())
    floor, exact, valid = _microseconds(values, window.unit_us)
    width = np.where(exact & (not window.within.closed), floor, floor + 1)
    bad = np.broadcast_to(valid & (width <= 0), (entries.rows,))

    def reasons(chosen: npt.NDArray[np.intp]) -> list[str]:
        shown = [values[0 if len(values) == 1 else i].as_py() for i in chosen.tolist()]
        return [
            f"Window {value} of parameter {window.within.parameter} holds no two rows. "
            "Give a window above zero."
            for value in shown
        ]

    entries.values.refusing.refuse(bad, "REG-021", reasons)
    entries.put("w", width, np.broadcast_to(valid, (entries.rows,)))


def _microseconds(values: pa.Array, unit_us: int) -> tuple[Ints, Flags, Flags]:
    """Give value * unit_us, floored; where that is exact; where there is a value."""
    if pa.types.is_duration(values.type):
        values, unit_us = values.cast(pa.duration("us"), safe=False).cast(pa.int64()), 1
    valid = validity(values)
    if kind_of(values.type) is ColumnKind.FLOAT:
        floats = np.asarray(values.cast(pa.float64()).fill_null(np.nan).to_numpy())
        valid = valid & ~np.isnan(floats)
        floats = np.clip(np.where(valid, floats, 0.0), -WINDOW_US_MAX, WINDOW_US_MAX)
        floor, exact, beyond = scaled_floors(floats, Fraction(1, unit_us))
        floor = np.where(beyond == 0, floor, np.where(beyond > 0, WINDOW_US_MAX, -1))
    else:
        keys, valid = ordered_keys(values, values.type)
        ratio = unit_us * unit_of(values.type)
        most = (1 << 62) // ratio.numerator
        numbers = np.clip(np.where(valid, keys, 0), -most, most) * ratio.numerator
        floor, rest = np.divmod(numbers, ratio.denominator)
        exact = rest == 0
    return np.clip(floor, -WINDOW_US_MAX, WINDOW_US_MAX), exact, valid


def entry_schema(step: JoinStep) -> pa.Schema:
    """Give the columns of the step's entries."""
    further: dict[str, pa.DataType] = {}
    if step.band is None:
        further = {name: pa.int64() for own in PRIMARY for name in own}
    elif (difference := band_difference(step)) is not None:
        is_float = kind_of(difference) is ColumnKind.FLOAT
        further = dict.fromkeys(("bl", "bh"), pa.float64() if is_float else pa.int64())
    if step.window is not None:
        further["w"] = pa.int64()
    terms = [term for side in range(2) for term in side_terms(step, side).terms]
    return entry_columns(step, terms, further)
