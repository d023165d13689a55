"""Validation: rows of a source are held against the models of their keys.

A row that is near enough to its key's model costs one evaluation per attribute, and is done with.
Any other begins a new model: what the old one still said of the time from then on is taken back.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.kernels.arrays import Floats, Ints, Signs
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.hash_tables import EMPTY
from penstock.kernels.polynomials import polynomial_evaluate
from penstock.kernels.segment_regressions import Fitting, ring_fit, ring_keep
from penstock.kernels.segment_slots import (
    BEGINNINGS,
    CHANGED,
    CHANGES,
    EARLIEST,
    END,
    EXPIRES,
    EXPIRIES,
    FORGOTTEN,
    HELD,
    HOMELESS,
    HORIZON,
    KEPT,
    KEY,
    LATE,
    LATEST,
    MOVED,
    NEWEST,
    NEXT_SERIAL,
    OPEN,
    REFERENCE,
    SEEN,
    SERIAL,
    SLACKS,
    UNUSABLE,
    VALIDATED,
    VIOLATIONS,
    SegmentSlots,
    slot_find,
    slot_place,
    slot_take,
    slot_touch,
)
from penstock.kernels.segment_tolerances import (
    Allowances,
    SlackSearch,
    TurnRoom,
    slack_apply,
    tolerances_fill,
)

SECOND = 1e6
INSIDE, EXPIRED, OTHER, OFF = 0, 1, 2, 3

GROW, PASSED = -1, -2
"""In place of a slot: the arrays must grow first; the row is counted and done with."""


class RowArrays(NamedTuple):
    """Rows of a source, in event-time order."""

    key: Ints
    at: Ints
    observed: Floats
    coefficients: Floats
    carried: Ints


class ChangeArrays(NamedTuple):
    """Room for changes: what is taken back, and what holds from now on."""

    key: Ints
    reference: Ints
    low: Floats
    high: Floats
    coefficients: Floats
    sign: Signs
    serial: Ints


class Horizons(NamedTuple):
    """How long models hold, in microseconds; they adapt where the two differ."""

    least: int
    most: int


@inlined
def span_end(at: int, horizon: int) -> int:
    """Give the end of a model that begins at an event time."""
    return at + horizon if at <= LATEST - horizon else LATEST


@inlined
def seconds_after(at: int, reference: int) -> float:
    """Give the seconds from one event time to a later one."""
    return float((at - reference) / SECOND)


@inlined
def is_other(slots: SegmentSlots, slot: int, rows: RowArrays, i: int) -> bool:
    """Say whether the carried codes of a row are not those of a slot."""
    first = KEY + rows.key.shape[1]
    for c in range(rows.carried.shape[1]):
        if slots.words[slot, first + c] != rows.carried[i, c]:
            return True
    return False


@inlined
def carried_keep(slots: SegmentSlots, slot: int, rows: RowArrays, i: int) -> None:
    """Put the carried codes of a row into a slot."""
    first = KEY + rows.key.shape[1]
    for c in range(rows.carried.shape[1]):
        slots.words[slot, first + c] = rows.carried[i, c]


@inlined
def row_judge(slots: SegmentSlots, slot: int, rows: RowArrays, i: int) -> int:
    """Say what a row is to the model of its key."""
    words, models = slots.words, slots.models
    at = rows.at[i]
    if at >= words[slot, END]:
        return EXPIRED
    if is_other(slots, slot, rows, i):
        return OTHER
    since = seconds_after(at, words[slot, REFERENCE])
    top = models.shape[2] - 2
    for a in range(models.shape[1]):
        off = rows.observed[i, a] - polynomial_evaluate(models[slot, a], top, since)
        # Whatever is no number is not inside.
        if not abs(off) <= models[slot, a, top + 1]:
            return OFF
    return INSIDE


@inlined
def row_usable(rows: RowArrays, i: int, width: int) -> bool:
    """Say whether all values and coefficients of a row are finite."""
    spoilt = 0.0
    for a in range(rows.observed.shape[1]):
        spoilt += rows.observed[i, a] * 0.0
    for a in range(rows.coefficients.shape[1]):
        for k in range(width):
            spoilt += rows.coefficients[i, a, k] * 0.0
    return bool(spoilt == 0.0)


@tight
def change_write(
    slots: SegmentSlots, slot: int, since: int, sign: int,
    changes: ChangeArrays, count: int,
) -> None:  # fmt: skip
    """Write what the model of a slot says from an event time on, with a sign.

    Its key has behind it what is carried, as the words of slots have.
    """
    words, models = slots.words, slots.models
    reference = words[slot, REFERENCE]
    for k in range(changes.key.shape[1]):
        changes.key[count, k] = words[slot, KEY + k]
    changes.reference[count] = reference
    changes.low[count] = seconds_after(since, reference)
    changes.high[count] = seconds_after(words[slot, END], reference)
    width = models.shape[2] - 1
    for a in range(models.shape[1]):
        for k in range(changes.coefficients.shape[2]):
            changes.coefficients[count, a, k] = models[slot, a, k] if k < width else 0.0
    changes.sign[count] = sign
    changes.serial[count] = words[slot, SERIAL]


@inlined
def horizon_adapt(slots: SegmentSlots, slot: int, at: int, judged: int, horizons: Horizons) -> None:
    """Lengthen a horizon that has passed, cut one that a row has ended to what it was."""
    words = slots.words
    if horizons.least == horizons.most:
        return
    if judged == EXPIRED:
        longer = words[slot, HORIZON] + words[slot, HORIZON] // 2
        words[slot, HORIZON] = min(longer, horizons.most)
    elif judged == OFF:
        life = at - words[slot, REFERENCE]
        words[slot, HORIZON] = min(max(life, horizons.least), horizons.most)


@tight
def slot_begin(
    slots: SegmentSlots, slot: int, rows: RowArrays, i: int,
    allowances: Allowances, room: TurnRoom, search: SlackSearch,
) -> None:  # fmt: skip
    """Put the model that a row begins, and whose coefficients stand there, into a slot."""
    words, models, meta = slots.words, slots.models, slots.meta
    at = rows.at[i]
    words[slot, REFERENCE] = at
    words[slot, END] = span_end(at, words[slot, HORIZON])
    words[slot, SERIAL] = meta[NEXT_SERIAL]
    words[slot, NEWEST] = at
    meta[NEXT_SERIAL] += 1
    meta[EXPIRES] = min(meta[EXPIRES], words[slot, END])
    carried_keep(slots, slot, rows, i)
    high = seconds_after(words[slot, END], at)
    tolerances_fill(allowances, models[slot], 0.0, high, room)
    meta[SLACKS] += int(slack_apply(search, models[slot], 0.0, high))


@inlined
def models_take(slots: SegmentSlots, slot: int, rows: RowArrays, i: int) -> None:
    """Put the coefficients that a row brings into a slot."""
    for a in range(rows.coefficients.shape[1]):
        for k in range(slots.models.shape[2] - 1):
            slots.models[slot, a, k] = rows.coefficients[i, a, k]


@tight
def models_predict(
    slots: SegmentSlots, slot: int, rows: RowArrays, i: int, fitting: Fitting
) -> None:
    """Fit models to the newest rows of a slot's key, and to the one that comes."""
    words = slots.words
    ring_keep(fitting, slot, words[slot, KEPT], rows.at[i], rows.observed, i)
    words[slot, KEPT] += 1
    ring_fit(fitting, slot, words[slot, KEPT], slots.models[slot])


@tight
def slot_open(
    slots: SegmentSlots, rows: RowArrays, i: int, horizons: Horizons, slots_max: int
) -> int:
    """Give a free slot to the key of a row, or GROW; PASSED if there is none."""
    columns = rows.key.shape[1]
    slot = slot_take(slots, rows.at[i], columns, slots_max)
    if slot < 0:
        slots.meta[HOMELESS] += int(slot == PASSED)
        return slot
    for k in range(columns):
        slots.words[slot, KEY + k] = rows.key[i, k]
    slots.words[slot, NEWEST] = EARLIEST
    slots.words[slot, HORIZON] = horizons.most
    slots.words[slot, KEPT] = 0
    slots.words[slot, OPEN] = 0
    slots.meta[HELD] += 1
    slot_place(slots, slot, columns)
    slots.meta[BEGINNINGS] += 1
    return slot


@inlined
def row_slot(
    slots: SegmentSlots, rows: RowArrays, i: int, horizons: Horizons, slots_max: int
) -> int:
    """Give the slot of a row's key, which is touched, or GROW; PASSED if the row is of no use."""
    slot = slot_find(slots, rows.key, i)
    if rows.at[i] < (slots.words[slot, NEWEST] if slot != EMPTY else slots.meta[FORGOTTEN]):
        slots.meta[LATE] += 1
        return PASSED
    if not row_usable(rows, i, 0):
        slots.meta[UNUSABLE] += 1
        return PASSED
    if slot == EMPTY:
        slot = slot_open(slots, rows, i, horizons, slots_max)
    if slot >= 0:
        slot_touch(slots, slot, CHANGED)
    return slot


@tight
def rows_validate(
    slots: SegmentSlots, rows: RowArrays, first: int, horizons: Horizons, slots_max: int,
    allowances: Allowances, room: TurnRoom, search: SlackSearch, fitting: Fitting,
    changes: ChangeArrays, made: Ints,
) -> int:  # fmt: skip
    """Hold rows, from `first` on, against the models of their keys; write what changes.

    A new model has the coefficients of its row; where slots keep rows, it is fitted to them.
    `made[0]` counts the changes that were written.

    Returns
    -------
    int
        The row to go on with: behind the last, or one for which slots or changes have no room.
    """
    words, meta = slots.words, slots.meta
    width = slots.models.shape[2] - 1
    predicts = fitting.kept_at.shape[1] > 0
    count, validated = 0, 0
    i = first
    while i < len(rows.at):
        at = rows.at[i]
        slot = slot_find(slots, rows.key, i)
        judged = EXPIRED
        if slot != EMPTY:
            if at < words[slot, NEWEST]:
                meta[LATE] += 1
                i += 1
                continue
            judged = row_judge(slots, slot, rows, i)
            if judged == INSIDE:
                words[slot, NEWEST] = at
                if predicts:
                    ring_keep(fitting, slot, words[slot, KEPT], at, rows.observed, i)
                    words[slot, KEPT] += 1
                slot_touch(slots, slot, CHANGED if predicts else MOVED)
                validated += 1
                i += 1
                continue
        if slot == EMPTY and at < meta[FORGOTTEN]:
            meta[LATE] += 1
            i += 1
            continue
        if not row_usable(rows, i, width):
            meta[UNUSABLE] += 1
            i += 1
            continue
        if count + 2 > len(changes.sign):
            break
        if slot == EMPTY:
            slot = slot_open(slots, rows, i, horizons, slots_max)
            if slot == GROW:
                break
            if slot == PASSED:
                i += 1
                continue
        else:
            meta[EXPIRIES] += int(judged == EXPIRED)
            meta[CHANGES] += int(judged == OTHER)
            meta[VIOLATIONS] += int(judged == OFF)
            if judged != EXPIRED:
                change_write(slots, slot, at, -1, changes, count)
                count += 1
            horizon_adapt(slots, slot, at, judged, horizons)
            if judged == OTHER:
                words[slot, KEPT] = 0
        slot_touch(slots, slot, CHANGED)
        if predicts:
            models_predict(slots, slot, rows, i, fitting)
        else:
            models_take(slots, slot, rows, i)
        slot_begin(slots, slot, rows, i, allowances, room, search)
        change_write(slots, slot, at, 1, changes, count)
        count += 1
        i += 1
    meta[SEEN] += i - first
    meta[VALIDATED] += validated
    made[0] = count
    return i
