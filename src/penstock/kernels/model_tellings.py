"""Tellings of model queries: what queries are told of a batch, and what they expect after it.

Every group tells a little in every batch, so a telling is one call for all of its steps: what is
done between two calls would cost more than the work in them.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Flags, Floats, Ints, Rows, Signs
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.hash_tables import EMPTY, FINISHER, MULTIPLIER, word_hash
from penstock.kernels.place_orders import places_sort
from penstock.kernels.polynomials import polynomial_degree, polynomial_shift

SECOND_US = 1e6
FARTHEST_US = float(1 << 62)


@inlined
def instant_us(reference: int, seconds: float) -> int:
    """Give an instant, which is seconds after a reference, in whole microseconds."""
    ahead = min(max(np.rint(seconds * SECOND_US), -FARTHEST_US), FARTHEST_US)
    return int(min(max(float(reference) + ahead, -FARTHEST_US), FARTHEST_US))


@inlined
def word_mix(own: np.uint64, word: int) -> np.uint64:
    """Mix a further word into a fingerprint."""
    mixed = (own ^ word_hash(np.uint64(word))) * np.uint64(MULTIPLIER)
    return word_hash(mixed + np.uint64(FINISHER))


@tight
def rows_rank(words: Ints, desk: Ints, ranks: Ints) -> None:
    """Write a number for every row of words: equal for equal rows, in order of fingerprints.

    `desk` is room for three numbers per row.
    """
    count, width = words.shape
    prints, order, spare = desk[0], desk[1], desk[2]
    for i in range(count):
        own = np.uint64(0)
        for column in range(width):
            own = word_mix(own, words[i, column])
        prints[i] = np.int64(own)
        order[i] = i
    places_sort(prints, order, spare, ranks, count)
    rank = -1
    for at in range(count):
        differs = at == 0
        if at:
            for column in range(width):
                if words[order[at], column] != words[order[at - 1], column]:
                    differs = True
                    break
        rank += differs
        ranks[order[at]] = rank


@tight
def pieces_place(
    reference: Ints, births: Ints, piece_slot: Rows, piece_index: Ints, low: Floats, high: Floats,
    slot: Rows, index: Ints, starts: Ints, ends: Ints, first: Ints, row: Ints, sizes: Ints,
) -> None:  # fmt: skip
    """Give pieces of segments in whole microseconds, each from the birth of its query on.

    Pieces that end before, or become nothing, are left out. `births` are by slot, or none. Equal
    pieces of a segment are one row: `first` is the place of the first of them. `sizes` becomes the
    number of pieces, and that of rows; -1: the pieces are not in order.
    """
    count, rows = 0, 0
    born = len(births) > 0
    for i in range(len(piece_index)):
        of = piece_index[i]
        begin, end = instant_us(reference[of], low[i]), instant_us(reference[of], high[i])
        is_point = low[i] == high[i]
        if born and begin < births[piece_slot[i], 0]:
            birth = births[piece_slot[i], 0]
            if end <= birth:
                continue
            later = float(birth - reference[of]) / SECOND_US
            begin, is_point = instant_us(reference[of], later), later == high[i]
        if begin >= end and not is_point:
            continue
        slot[count], index[count], starts[count], ends[count] = piece_slot[i], of, begin, end
        new = True
        if count and rows >= 0:
            before = count - 1
            new = index[before] != of or starts[before] != begin or ends[before] != end
            if new and (
                index[before] > of
                or (index[before] == of and starts[before] > begin)
                or (index[before] == of and starts[before] == begin and ends[before] > end)
            ):
                rows = -1
        if new and rows >= 0:
            first[rows] = count
            rows += 1
        row[count] = rows - 1
        count += 1
    sizes[0], sizes[1] = count, rows


@tight
def contents_write(
    key: Ints, reference: Ints, models: Floats, index: Ints, starts: Ints, ends: Ints,
    first: Ints, words: Ints, numbers: Floats,
) -> None:  # fmt: skip
    """Write what rows say: key, start, end, and the models after the start.

    `first` are the places of the rows' pieces, `numbers` is the memory of `words`.
    """
    keys, width = key.shape[1], models.shape[2]
    for i in range(len(first)):
        at = first[i]
        of = index[at]
        for column in range(keys):
            words[i, column] = key[of, column]
        words[i, keys], words[i, keys + 1] = starts[at], ends[at]
        later = float(starts[at] - reference[of]) / SECOND_US
        for a in range(models.shape[1]):
            begin = keys + 2 + a * width
            out = numbers[i, begin : begin + width]
            degree = polynomial_degree(models[of, a], width - 1)
            polynomial_shift(models[of, a], degree, later, out)
            for k in range(width):
                # Adding makes one of the two zeros.
                out[k] = out[k] + 0.0 if k <= degree else 0.0


@tight
def lists_write(numbers: Floats, begin: int, width: int, offsets: Rows, values: Floats) -> int:
    """Write coefficients as lists, without the zeros behind the highest power; count them."""
    count = 0
    offsets[0] = 0
    for i in range(numbers.shape[0]):
        size = width
        while size > 1 and numbers[i, begin + size - 1] == 0.0:
            size -= 1
        for k in range(size):
            values[count + k] = numbers[i, begin + k]
        count += size
        offsets[i + 1] = count
    return count


@inlined
def pairs_net(keys: Ints, order: Ints, spare: Ints, sign: Ints, count: int, totals: Ints) -> int:
    """Add up the signs of pairs with equal keys; give how many different ones there are.

    `order` then has the first pair of each, and `totals` what the signs add up to.
    """
    places_sort(keys, order, spare, totals, count)
    found = 0
    for at in range(count):
        own = order[at]
        if found and keys[order[found - 1]] == keys[own]:
            totals[found - 1] += sign[own]
        else:
            order[found], totals[found] = own, sign[own]
            found += 1
    return found


# What is written of a telling, in `sizes`.
TOLD, EVENTS, LEFT, USED, CONFIRMED = range(5)


@tight
def expectations_turn(
    words: Ints, starts: Ints, now: int, told_rows: int,
    told_slot: Rows, told_row: Ints, told_sign: Signs,
    held_slot: Rows, held_row: Ints, held_sign: Signs,
    row_desk: Ints, marks: Ints, pair_desk: Ints,
    slot: Rows, event: Rows, event_row: Ints, event_sign: Signs, event_ahead: Flags,
    left_slot: Rows, left_row: Ints, left_sign: Signs, used: Ints, sizes: Ints,
) -> None:  # fmt: skip
    """Turn what is told and what was expected into results and what is expected now.

    Rows are those of what is told, then those of what was expected; whose time comes is told for
    good, and taken back as an expectation. What adds up to nothing is left out. `event` numbers
    results: what is taken back comes first, then by row and status. `used` are the rows of what is
    expected now: those of before, then those that were told.
    """
    rows, told, held = words.shape[0], len(told_slot), len(held_slot)
    ranks = row_desk[3]
    rows_rank(words, row_desk, ranks)
    order, spare, keys, sign, totals, row = (
        pair_desk[0], pair_desk[1], pair_desk[2], pair_desk[3], pair_desk[4], pair_desk[5],
    )  # fmt: skip
    own_slot, ahead = pair_desk[6], pair_desk[7]
    # What is told: now for good, or expected of the time to come.
    count = 0
    for i in range(told):
        row[count], own_slot[count], sign[count] = told_row[i], told_slot[i], told_sign[i]
        ahead[count] = starts[told_row[i]] > now
        count += 1
    for withdrawn in range(2):
        for i in range(held):
            at = told_rows + held_row[i]
            if starts[at] <= now:
                row[count], own_slot[count], ahead[count] = at, held_slot[i], withdrawn
                sign[count] = -held_sign[i] if withdrawn else held_sign[i]
                count += 1
    sizes[CONFIRMED] = (count - told) // 2
    for i in range(count):
        keys[i] = own_slot[i] * (2 * rows) + 2 * ranks[row[i]] + ahead[i]
        order[i] = i
    found = pairs_net(keys, order, spare, sign, count, totals)
    for mark in range(4 * rows):
        marks[mark] = 0
    for at in range(found):
        if totals[at]:
            own = order[at]
            marks[((totals[at] > 0) * rows + row[own]) * 2 + ahead[own]] = 1
    events = 0
    for mark in range(4 * rows):
        if marks[mark]:
            event_row[events] = (mark // 2) % rows
            event_sign[events] = 1 if mark >= 2 * rows else -1
            event_ahead[events] = mark % 2 == 1
            marks[mark] = events
            events += 1
    count = 0
    for side in (-1, 1):
        for at in range(found):
            if totals[at] * side > 0:
                own = order[at]
                number = marks[((side > 0) * rows + row[own]) * 2 + ahead[own]]
                for _ in range(totals[at] * side):
                    slot[count], event[count] = own_slot[own], number
                    count += 1
    sizes[TOLD], sizes[EVENTS] = count, events
    # What is expected now: what was, and what is told of the time to come.
    count = 0
    for i in range(held):
        at = told_rows + held_row[i]
        if starts[at] > now:
            row[count], own_slot[count], sign[count] = at, held_slot[i], held_sign[i]
            count += 1
    for i in range(told):
        if starts[told_row[i]] > now:
            row[count], own_slot[count], sign[count] = told_row[i], told_slot[i], told_sign[i]
            count += 1
    for i in range(count):
        keys[i] = own_slot[i] * rows + ranks[row[i]]
        order[i] = i
    found = pairs_net(keys, order, spare, sign, count, totals)
    for mark in range(rows):
        marks[mark] = 0
    for at in range(found):
        if totals[at]:
            marks[row[order[at]]] = 1
    count = 0
    for nth in range(rows):
        at = told_rows + nth
        if at >= rows:
            at -= rows
        if marks[at]:
            used[count], marks[at] = at, count
            count += 1
    sizes[USED] = count
    count = 0
    for at in range(found):
        own = order[at]
        for _ in range(abs(totals[at])):
            left_slot[count], left_row[count] = own_slot[own], marks[row[own]]
            left_sign[count] = 1 if totals[at] > 0 else -1
            count += 1
    sizes[LEFT] = count


@inlined
def segments_equal(
    key: Ints, reference: Ints, ends: Ints, models: Ints, serial: Ints, one: int, other: int
) -> bool:
    """Say whether two segments have one serial, one model and one end."""
    if serial[one] != serial[other] or reference[one] != reference[other]:
        return False
    if ends[one] != ends[other]:
        return False
    for column in range(key.shape[1]):
        if key[one, column] != key[other, column]:
            return False
    for column in range(models.shape[1]):
        if models[one, column] != models[other, column]:
            return False
    return True


@tight
def segments_stay(
    key: Ints, reference: Ints, low: Floats, high: Floats, ends: Ints, models: Ints, sign: Signs,
    serial: Ints, now: int, cells: Ints, desk: Ints, stays: Flags,
) -> int:  # fmt: skip
    """Say which segments speak of the time to come, and count them.

    One that was taken back, and what took it back, have one serial, one model and one end; where
    both have begun, nothing is left of them. `cells` is a hash table for the serials of what takes
    back, a power of two and at most half full, or nothing if no segment does; `ends` and
    `models` are the bits of highs and coefficients.
    """
    count, begun = 0, 0
    for i in range(len(serial)):
        end = instant_us(reference[i], high[i])
        stays[i] = end > now or (low[i] == high[i] and end >= now)
        count += stays[i]
    if len(cells) == 0:
        return count
    mask = np.uint64(len(cells) - 1)
    for at in range(len(cells)):
        cells[at] = EMPTY
    for i in range(len(serial)):
        if stays[i] and sign[i] < 0:
            cell = word_hash(np.uint64(serial[i])) & mask
            while cells[cell] != EMPTY and serial[cells[cell]] != serial[i]:
                cell = (cell + np.uint64(1)) & mask
            cells[cell] = i
    prints, order, spare = desk[0], desk[1], desk[2]
    for i in range(len(serial)):
        if not stays[i] or instant_us(reference[i], low[i]) > now:
            continue
        cell = word_hash(np.uint64(serial[i])) & mask
        while cells[cell] != EMPTY and serial[cells[cell]] != serial[i]:
            cell = (cell + np.uint64(1)) & mask
        if cells[cell] == EMPTY:
            continue
        own = word_mix(word_mix(np.uint64(serial[i]), reference[i]), ends[i])
        for column in range(key.shape[1]):
            own = word_mix(own, key[i, column])
        for column in range(models.shape[1]):
            own = word_mix(own, models[i, column])
        prints[i] = np.int64(own)
        order[begun] = i
        begun += 1
    places_sort(prints, order, spare, desk[3], begun)
    first = 0
    while first < begun:
        one, last, net = order[first], first, 0
        while last < begun and segments_equal(
            key, reference, ends, models, serial, one, order[last]
        ):
            net += sign[order[last]]
            last += 1
        if net == 0:
            for at in range(first, last):
                stays[order[at]] = False
            count -= last - first
        first = last
    return count
