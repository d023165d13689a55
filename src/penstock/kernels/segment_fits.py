"""Sliding fits: pieces that grow row by row while a model stays near all their rows.

To the first degree a piece keeps no rows: a line through its first row stays near all others while
its slope lies in a cone that each of them narrows. Above, a piece keeps its rows: a model stands
while it is near every new one, else it is fitted again to all of them, and to all of them it must
be near. Either way no row is ever farther off than is allowed.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Floats, Ints
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.polynomials import polynomial_evaluate
from penstock.kernels.segment_regressions import (
    Fitting,
    error_allowed,
    piece_fit,
    share_off,
)
from penstock.kernels.segment_slots import (
    CHANGED,
    CHANGES,
    END,
    EXPIRES,
    EXPIRIES,
    HORIZON,
    NEWEST,
    NEXT_SERIAL,
    OPEN,
    REFERENCE,
    SEEN,
    SERIAL,
    VALIDATED,
    VIOLATIONS,
    SegmentSlots,
    slot_touch,
)
from penstock.kernels.segment_validation import (
    GROW,
    PASSED,
    ChangeArrays,
    Horizons,
    RowArrays,
    carried_keep,
    change_write,
    is_other,
    row_slot,
    seconds_after,
    span_end,
)

# Numbers of a cone, for every attribute.
ANCHOR, LEAST, GREATEST = 0, 1, 2
CONE = 3

MARGIN = 2.0**-48
"""The share of a value within which its evaluation is rounded."""

FITS, FULL, FAILS, OTHER, EXPIRED = 0, 1, 2, 3, 4


@inlined
def cone_begin(numbers: Floats, values: Floats, row: int, attributes: int) -> None:
    """Begin a cone at a row."""
    for a in range(attributes):
        numbers[CONE * a + ANCHOR] = values[row, a]
        numbers[CONE * a + LEAST] = -np.inf
        numbers[CONE * a + GREATEST] = np.inf


@inlined
def half_width(allowed: float, size: float) -> float:
    """Give what is left of what a row may be off when rounding has had its share."""
    return float(max(allowed - MARGIN * (size + allowed), 0.0))


@inlined
def cone_narrow(numbers: Floats, fitting: Fitting, values: Floats, row: int, since: float) -> bool:
    """Narrow a cone by a row; False, and nothing is changed, if none is left.

    To degree 0 it is a range of values, and holds the anchor's own.
    """
    for narrow in range(2):
        for a in range(len(fitting.degrees)):
            value, anchor = values[row, a], numbers[CONE * a + ANCHOR]
            allowed = error_allowed(fitting.limits, a, value)
            if fitting.degrees[a] == 0:
                start = anchor
                own = half_width(error_allowed(fitting.limits, a, start), abs(start))
                half = half_width(allowed, abs(value))
                low = max(numbers[CONE * a + LEAST], start - own, value - half)
                high = min(numbers[CONE * a + GREATEST], start + own, value + half)
            elif since == 0.0:
                if not abs(value - anchor) <= allowed:
                    return False
                continue
            else:
                half = half_width(allowed, abs(value) + abs(anchor))
                steepness = (value - anchor) / since
                low, high = (value - half - anchor) / since, (value + half - anchor) / since
                if half == 0.0:
                    low = high = steepness
                    if not abs(steepness * since + anchor - value) <= allowed:
                        return False
                low = max(numbers[CONE * a + LEAST], low)
                high = min(numbers[CONE * a + GREATEST], high)
            if not (low <= high and high - low < np.inf):
                return False
            if narrow == 1:
                numbers[CONE * a + LEAST], numbers[CONE * a + GREATEST] = low, high
    return True


@inlined
def cone_model(numbers: Floats, fitting: Fitting, models: Floats) -> None:
    """Write the models in the middle of a cone."""
    for a in range(len(fitting.degrees)):
        for k in range(models.shape[1]):
            models[a, k] = 0.0
        models[a, 0] = numbers[CONE * a + ANCHOR]
        low, high = numbers[CONE * a + LEAST], numbers[CONE * a + GREATEST]
        if low > -np.inf:
            models[a, min(fitting.degrees[a], 1)] = low + 0.5 * (high - low)


@tight
def kept_accepts(slots: SegmentSlots, slot: int, fitting: Fitting, rows: RowArrays, i: int) -> int:
    """Say whether a piece that keeps its rows takes one more; fit it again if it must be."""
    words, models = slots.words, slots.models
    count = words[slot, OPEN]
    at, values = fitting.kept_at[slot], fitting.kept_values[slot]
    if count == len(at):
        return FULL
    at[count] = rows.at[i]
    near = True
    since = seconds_after(rows.at[i], words[slot, REFERENCE])
    top = models.shape[2] - 2
    for a in range(len(fitting.degrees)):
        values[count, a] = rows.observed[i, a]
        modelled = polynomial_evaluate(models[slot, a], top, since)
        near = near and share_off(fitting.limits, a, values[count, a], modelled) <= 1.0
    if not near:
        made = fitting.room.models
        off = piece_fit(
            at, values, 0, count + 1, fitting.degrees, fitting.limits, 1.0, fitting.room, made
        )
        if not off <= 1.0:
            return FAILS
        for a in range(len(fitting.degrees)):
            for k in range(top + 1):
                models[slot, a, k] = made[a, k]
    return FITS


@inlined
def piece_accepts(
    slots: SegmentSlots, slot: int, fitting: Fitting, rows: RowArrays, i: int, cones: bool
) -> int:
    """Say whether the piece of a slot takes a row; if so, it has."""
    words = slots.words
    if rows.at[i] >= words[slot, END]:
        return EXPIRED
    if is_other(slots, slot, rows, i):
        return OTHER
    found = FITS
    if cones:
        since = seconds_after(rows.at[i], words[slot, REFERENCE])
        if not cone_narrow(fitting.numbers[slot], fitting, rows.observed, i, since):
            found = FAILS
    else:
        found = kept_accepts(slots, slot, fitting, rows, i)
    if found == FITS:
        words[slot, OPEN] += 1
        words[slot, NEWEST] = rows.at[i]
    return found


@tight
def piece_close(
    slots: SegmentSlots, slot: int, fitting: Fitting, cones: bool,
    changes: ChangeArrays, count: int,
) -> int:  # fmt: skip
    """Write the piece of a slot, up to its end, as a change; count all changes.

    One that ends as it begins holds never: another row of its instant has its place.
    """
    if cones:
        width = slots.models.shape[2] - 1
        cone_model(fitting.numbers[slot], fitting, slots.models[slot, :, :width])
    words = slots.words
    words[slot, OPEN] = 0
    slots.meta[EXPIRES] = min(slots.meta[EXPIRES], words[slot, END])
    slot_touch(slots, slot, CHANGED)
    if words[slot, END] == words[slot, REFERENCE]:
        return count
    words[slot, SERIAL] = slots.meta[NEXT_SERIAL]
    slots.meta[NEXT_SERIAL] += 1
    change_write(slots, slot, words[slot, REFERENCE], 1, changes, count)
    return count + 1


@tight
def piece_begin(
    slots: SegmentSlots, slot: int, fitting: Fitting, rows: RowArrays, i: int, cones: bool
) -> None:
    """Begin a piece at a row."""
    words, models, at = slots.words, slots.models, rows.at[i]
    words[slot, SERIAL] = 0
    words[slot, REFERENCE] = at
    words[slot, NEWEST] = at
    words[slot, END] = span_end(at, words[slot, HORIZON])
    words[slot, OPEN] = 1
    slots.meta[EXPIRES] = min(slots.meta[EXPIRES], words[slot, END])
    carried_keep(slots, slot, rows, i)
    if cones:
        cone_begin(fitting.numbers[slot], rows.observed, i, len(fitting.degrees))
        return
    fitting.kept_at[slot, 0] = at
    for a in range(len(fitting.degrees)):
        fitting.kept_values[slot, 0, a] = rows.observed[i, a]
        for k in range(models.shape[2]):
            models[slot, a, k] = 0.0
        models[slot, a, 0] = rows.observed[i, a]


@tight
def pieces_slide(
    slots: SegmentSlots, rows: RowArrays, first: int, horizons: Horizons, slots_max: int,
    fitting: Fitting, cones: bool, changes: ChangeArrays, made: Ints,
) -> int:  # fmt: skip
    """Let pieces grow by rows, from `first` on; write those that end. Compare `rows_validate`."""
    words, meta = slots.words, slots.meta
    count = 0
    i = first
    while i < len(rows.at):
        at = rows.at[i]
        if count + 1 > len(changes.sign):
            break
        slot = row_slot(slots, rows, i, horizons, slots_max)
        if slot == GROW:
            break
        if slot == PASSED:
            i += 1
            continue
        if words[slot, OPEN] > 0:
            found = piece_accepts(slots, slot, fitting, rows, i, cones)
            if found == FITS:
                meta[VALIDATED] += 1
                i += 1
                continue
            meta[VIOLATIONS] += int(found == FAILS)
            meta[CHANGES] += int(found == OTHER)
            meta[EXPIRIES] += int(found in (EXPIRED, FULL))
            words[slot, END] = min(at, words[slot, END])
            count = piece_close(slots, slot, fitting, cones, changes, count)
        piece_begin(slots, slot, fitting, rows, i, cones)
        i += 1
    meta[SEEN] += i - first
    made[0] = count
    return i


@tight
def pieces_close(
    slots: SegmentSlots, fitting: Fitting, cones: bool, due: Ints,
    changes: ChangeArrays,
) -> None:  # fmt: skip
    """Write the pieces of some slots, which have ended."""
    for k in range(len(due)):
        # It has ended by its horizon, so it has a length.
        piece_close(slots, due[k], fitting, cones, changes, k)
        slots.meta[EXPIRIES] += 1
