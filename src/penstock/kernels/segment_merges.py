"""Merged fits: pieces of kept rows, of which the cheapest neighbours become one.

BOTTOMUP merges all rows of a full buffer. SWAB merges them, lets the first pieces go until half a
buffer is left, and reads on until a line through what is new would break: no piece that goes is cut
by the end of a buffer.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Ints
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.segment_fits import CONE, cone_begin, cone_narrow
from penstock.kernels.segment_regressions import Fitting, piece_fit
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


@inlined
def merge_cost(fitting: Fitting, slot: int, piece: int, pieces: int, count: int) -> float:
    """Give how far the worst row is off if a piece is merged with the next; without one, never."""
    starts = fitting.room.starts
    if piece < 0 or piece + 1 >= pieces:
        return np.inf
    last = starts[piece + 2] if piece + 2 < pieces else count
    return piece_fit(
        fitting.kept_at[slot], fitting.kept_values[slot], starts[piece], last, fitting.degrees,
        fitting.limits, 1.0, fitting.room, fitting.room.models,
    )  # fmt: skip


@tight
def pieces_merge(fitting: Fitting, slot: int, count: int) -> int:
    """Write where the pieces of a slot's first rows start; count them."""
    starts, costs = fitting.room.starts, fitting.room.costs
    pieces = 0
    row = 0
    while row < count:
        starts[pieces] = row
        pieces += 1
        pair = np.inf
        if row + 1 < count:
            pair = piece_fit(
                fitting.kept_at[slot], fitting.kept_values[slot], row, row + 2, fitting.degrees,
                fitting.limits, 1.0, fitting.room, fitting.room.models,
            )  # fmt: skip
        row += 2 if pair <= 1.0 else 1
    for piece in range(pieces):
        costs[piece] = merge_cost(fitting, slot, piece, pieces, count)
    while pieces > 1:
        best = 0
        for piece in range(1, pieces - 1):
            if costs[piece] < costs[best]:
                best = piece
        if not costs[best] <= 1.0:
            break
        for piece in range(best + 1, pieces - 1):
            starts[piece] = starts[piece + 1]
            costs[piece] = costs[piece + 1]
        pieces -= 1
        costs[best] = merge_cost(fitting, slot, best, pieces, count)
        if best > 0:
            costs[best - 1] = merge_cost(fitting, slot, best - 1, pieces, count)
    return pieces


@tight
def kept_write(
    slots: SegmentSlots, slot: int, fitting: Fitting, first: int, last: int,
    end: int, changes: ChangeArrays, count: int,
) -> int:  # fmt: skip
    """Write the piece of a slot's rows [first, last), until an event time; count all changes."""
    if end == fitting.kept_at[slot, first]:
        return count
    words, models = slots.words, slots.models
    made = fitting.room.models
    piece_fit(
        fitting.kept_at[slot], fitting.kept_values[slot], first, last, fitting.degrees,
        fitting.limits, np.inf, fitting.room, made,
    )  # fmt: skip
    for a in range(len(fitting.degrees)):
        for k in range(models.shape[2] - 1):
            models[slot, a, k] = made[a, k]
    words[slot, SERIAL] = slots.meta[NEXT_SERIAL]
    slots.meta[NEXT_SERIAL] += 1
    words[slot, REFERENCE] = fitting.kept_at[slot, first]
    deadline = words[slot, END]
    words[slot, END] = end
    change_write(slots, slot, words[slot, REFERENCE], 1, changes, count)
    words[slot, END] = deadline
    return count + 1


@tight
def kept_flush(
    slots: SegmentSlots, slot: int, fitting: Fitting, end: int,
    changes: ChangeArrays, count: int,
) -> int:  # fmt: skip
    """Write all pieces of a slot's rows, the last one up to an event time; count all changes."""
    rows = slots.words[slot, OPEN]
    pieces = pieces_merge(fitting, slot, rows)
    starts = fitting.room.starts
    for piece in range(pieces):
        is_last = piece + 1 == pieces
        last = rows if is_last else starts[piece + 1]
        until = end if is_last else fitting.kept_at[slot, starts[piece + 1]]
        count = kept_write(slots, slot, fitting, starts[piece], last, until, changes, count)
    slots.words[slot, OPEN] = 0
    slots.meta[EXPIRES] = min(slots.meta[EXPIRES], slots.words[slot, END])
    return count


@tight
def kept_release(
    slots: SegmentSlots, slot: int, fitting: Fitting, at: int, half: int,
    changes: ChangeArrays, count: int,
) -> int:  # fmt: skip
    """Write the first pieces of a slot's rows, let them go; count all changes.

    One goes in any case, and others while at least half a buffer stays behind them. If there is but
    one piece, all rows go.
    """
    words, starts = slots.words, fitting.room.starts
    rows = words[slot, OPEN]
    pieces = pieces_merge(fitting, slot, rows)
    gone = 0
    for piece in range(pieces):
        is_last = piece + 1 == pieces
        last = rows if is_last else starts[piece + 1]
        if piece > 0 and (is_last or rows - last < half):
            break
        until = min(at, words[slot, END]) if is_last else fitting.kept_at[slot, last]
        count = kept_write(slots, slot, fitting, gone, last, until, changes, count)
        gone = last
    for row in range(gone, rows):
        fitting.kept_at[slot, row - gone] = fitting.kept_at[slot, row]
        for a in range(len(fitting.degrees)):
            fitting.kept_values[slot, row - gone, a] = fitting.kept_values[slot, row, a]
    words[slot, OPEN] = rows - gone
    if gone < rows:
        words[slot, REFERENCE] = fitting.kept_at[slot, 0]
        words[slot, END] = span_end(fitting.kept_at[slot, 0], words[slot, HORIZON])
    return count


@tight
def kept_append(slots: SegmentSlots, slot: int, fitting: Fitting, rows: RowArrays, i: int) -> None:
    """Keep a row."""
    words, place = slots.words, slots.words[slot, OPEN]
    at = rows.at[i]
    if place == 0:
        words[slot, SERIAL] = 0
        words[slot, REFERENCE] = at
        words[slot, END] = span_end(at, words[slot, HORIZON])
        slots.meta[EXPIRES] = min(slots.meta[EXPIRES], words[slot, END])
        carried_keep(slots, slot, rows, i)
    fitting.kept_at[slot, place] = at
    for a in range(len(fitting.degrees)):
        fitting.kept_values[slot, place, a] = rows.observed[i, a]
    words[slot, OPEN] = place + 1
    words[slot, NEWEST] = at


@inlined
def chunk_ends(slots: SegmentSlots, slot: int, fitting: Fitting, rows: RowArrays, i: int) -> bool:
    """Say whether a row breaks the line through what was read last; then a new one begins."""
    numbers = fitting.numbers[slot]
    began = CONE * len(fitting.degrees)
    if slots.words[slot, OPEN] > 0:
        since = seconds_after(rows.at[i], int(numbers[began]))
        if cone_narrow(numbers, fitting, rows.observed, i, since):
            return False
    cone_begin(numbers, rows.observed, i, len(fitting.degrees))
    numbers[began] = rows.at[i]
    return True


@tight
def pieces_gather(
    slots: SegmentSlots, rows: RowArrays, first: int, horizons: Horizons, slots_max: int,
    fitting: Fitting, buffer: int, swab: bool, changes: ChangeArrays, made: Ints,
) -> int:  # fmt: skip
    """Keep rows, from `first` on; write the pieces that end. Compare `rows_validate`.

    SWAB has room for twice its buffer.
    """
    words, meta = slots.words, slots.meta
    full = fitting.kept_at.shape[1]
    needed = CONE * len(fitting.degrees) + 1
    count = 0
    i = first
    while i < len(rows.at):
        at = rows.at[i]
        if count + full + 1 > len(changes.sign):
            break
        slot = row_slot(slots, rows, i, horizons, slots_max)
        if slot == GROW:
            break
        if slot == PASSED:
            i += 1
            continue
        if words[slot, OPEN] > 0:
            expired, other = at >= words[slot, END], is_other(slots, slot, rows, i)
            if expired or other or (not swab and words[slot, OPEN] == full):
                meta[EXPIRIES] += int(not other)
                meta[CHANGES] += int(other)
                until = min(at, words[slot, END])
                count = kept_flush(slots, slot, fitting, until, changes, count)
        elif swab:
            fitting.numbers[slot, needed] = buffer
        if swab:
            ended = chunk_ends(slots, slot, fitting, rows, i)
            kept = words[slot, OPEN]
            if kept == full or (ended and kept >= fitting.numbers[slot, needed]):
                half = (buffer + 1) // 2
                count = kept_release(slots, slot, fitting, at, half, changes, count)
                meta[VIOLATIONS] += 1
        kept_append(slots, slot, fitting, rows, i)
        meta[VALIDATED] += 1
        i += 1
    meta[SEEN] += i - first
    made[0] = count
    return i


@tight
def kept_close(
    slots: SegmentSlots, fitting: Fitting, due: Ints, first: int,
    changes: ChangeArrays, made: Ints,
) -> int:  # fmt: skip
    """Write all pieces of slots that are due, from `first` on; give the one to go on with."""
    count = 0
    k = first
    while k < len(due):
        slot = due[k]
        if count + fitting.kept_at.shape[1] > len(changes.sign):
            break
        count = kept_flush(slots, slot, fitting, slots.words[slot, END], changes, count)
        slot_touch(slots, slot, CHANGED)
        slots.meta[EXPIRIES] += 1
        k += 1
    made[0] = count
    return k
