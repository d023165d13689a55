"""Conditions over models of time: when they hold, for many segments at once.

A condition is a program. Its *rows* are polynomials over attributes: sums of terms, each a factor
and the attributes that it is multiplied with. Its *tests* compare a row, less a number of the
segment's own where there is one, with 0. Its *words* are the tree behind its terms: a test's
number, AND, OR, TRUE or FALSE. A NOT stands nowhere: it is in what the tests below it allow.

The roots of all rows cut a segment's range into instants and open stretches between them. A row
has one sign in each of them, so the tree is answered once for each: sets of time are combined
exactly, single instants included. An instant that `<>` takes out divides an interval.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.kernels.comparisons import (
    LEFT_OUT,
    UNEQUAL,
    comparison_prepare,
    comparison_solve,
    sign_allowed,
    signs_find,
)
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.polynomials import (
    NEGLIGIBLE,
    polynomial_degree,
    polynomial_evaluate,
    polynomial_multiply,
    polynomial_size,
)

DIFFERENCE_BITS = 16
DIFFERENCE_MASK = (1 << DIFFERENCE_BITS) - 1

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]
Flags = npt.NDArray[np.bool_]

AND, OR, TRUE, FALSE = -1, -2, -3, -4
STRETCH, INSTANT, UNDIVIDED = 0, 1, 2
"""What is asked of a cut: the stretch behind it, the instant, or the instant as if `<>` held."""


class Program(NamedTuple):
    """A condition as arrays."""

    row_terms: Ints
    """(rows + 1): where the terms of a row begin."""
    term_factors: Floats
    term_attributes: Ints
    """(terms + 1): where the attributes of a term begin."""
    attributes: Ints
    """What terms are multiplied with: an attribute, or what `difference_code` says of two."""
    test_rows: Ints
    test_allows: Ints
    test_numbers: Ints
    """(tests): the column of numbers that is subtracted, or -1."""
    words: Ints


class Room(NamedTuple):
    """What solving writes into, made once per call."""

    rows: Floats
    """(tests, width): the polynomials of a segment."""
    degrees: Ints
    """(tests): -1 for a polynomial that is no number everywhere."""
    roots: Floats
    """(tests + 1, width), the last for what is found on the way."""
    signs: Signs
    counts: Ints
    passed: Ints
    chain: Floats
    turns: Floats
    product: Floats
    cuts: Floats
    stack: Flags
    values: Floats


def difference_code(one: int, other: int) -> int:
    """Say in a number below 0 that a term is multiplied with one attribute less another.

    >>> difference_code(0, 0), difference_code(1, 2)
    (-1, -65539)
    """
    return -1 - (one << DIFFERENCE_BITS | other)


@inlined
def difference_write(models: Floats, code: int, out: Floats) -> None:
    """Write the difference of two attributes that a code speaks of; of an attribute nothing."""
    if code < 0:
        pair = -1 - code
        one, other = models[pair >> DIFFERENCE_BITS], models[pair & DIFFERENCE_MASK]
        for k in range(models.shape[1]):
            out[k] = one[k] - other[k]


@inlined
def row_build(
    program: Program, row: int, models: Floats, out: Floats, product: Floats
) -> int:  # fmt: skip
    """Write the polynomial of a row over the models (attributes, width) of a segment.

    Give its highest power. `product` is (4, width of out).
    """
    top = 0
    width = models.shape[1]
    out[0] = 0.0
    for term in range(program.row_terms[row], program.row_terms[row + 1]):
        factor = program.term_factors[term]
        begin, end = program.term_attributes[term], program.term_attributes[term + 1]
        if begin == end:
            out[0] += factor
            continue
        code = program.attributes[begin]
        difference_write(models, code, product[2])
        first = product[2] if code < 0 else models[code]
        degree = polynomial_degree(first, width - 1)
        if end - begin == 1:
            while top < degree:
                top += 1
                out[top] = 0.0
            for k in range(degree + 1):
                out[k] += factor * first[k]
            continue
        source = 0
        for k in range(degree + 1):
            product[0, k] = first[k]
        for place in range(begin + 1, end):
            code = program.attributes[place]
            difference_write(models, code, product[3])
            other = product[3] if code < 0 else models[code]
            other_degree = polynomial_degree(other, width - 1)
            degree = polynomial_multiply(
                product[source], degree, other, other_degree, product[1 - source]
            )
            source = 1 - source
        while top < degree:
            top += 1
            out[top] = 0.0
        for k in range(degree + 1):
            out[k] += factor * product[source, k]
    return top


@inlined
def tests_prepare(
    program: Program, room: Room, models: Floats, numbers: Floats, low: float, high: float
) -> None:
    """Write the polynomial of every test, its degree, its roots and signs in [low, high)."""
    for test in range(len(program.test_rows)):
        row = room.rows[test]
        top = row_build(program, program.test_rows[test], models, row, room.product)
        column = program.test_numbers[test]
        number = numbers[column] if column >= 0 else 0.0
        degree = comparison_prepare(row, top, number, low, high)
        room.degrees[test] = degree
        room.passed[test] = 0
        room.counts[test] = 0
        signs = room.signs[test]
        room.counts[test] = signs_find(
            row, degree, low, high, room.roots[test], signs, room.chain, room.turns
        )


@inlined
def cuts_merge(room: Room, tests: int, low: float) -> int:
    """Write the instants where a sign changes, each once, from `low` on; count them.

    Roots of different rows that rounding alone keeps apart are one instant: the earlier.
    """
    cuts = room.cuts
    cuts[0] = low
    count = 1
    while True:
        next_test = -1
        root = 0.0
        for test in range(tests):
            place = room.passed[test]
            if place < room.counts[test] and (next_test < 0 or room.roots[test, place] < root):
                next_test = test
                root = room.roots[test, place]
        if next_test < 0:
            break
        place = room.passed[next_test]
        room.passed[next_test] += 1
        last = cuts[count - 1]
        if root == last:
            continue
        is_same = False
        if tests > 1 and (place == 0 or room.roots[next_test, place - 1] < last):
            row, degree = room.rows[next_test], room.degrees[next_test]
            near = NEGLIGIBLE * polynomial_size(row, degree, last)
            is_same = abs(polynomial_evaluate(row, degree, last)) <= near
        if is_same:
            room.roots[next_test, place] = last
        else:
            cuts[count] = root
            count += 1
    for test in range(tests):
        room.passed[test] = 0
    return count


@inlined
def cell_holds(program: Program, room: Room, cut: float, cell: int) -> bool:
    """Say whether the tree holds at a cut, or in the stretch behind it; cuts come in order."""
    stack = room.stack
    depth = 0
    for word in program.words:
        if word >= 0:
            passed = room.passed[word]
            sign = int(room.signs[word, passed])
            if cell != STRETCH and passed < room.counts[word] and room.roots[word, passed] == cut:
                sign = 1 if cell == UNDIVIDED and program.test_allows[word] == UNEQUAL else 0
            is_number = room.degrees[word] >= 0
            stack[depth] = is_number and sign_allowed(program.test_allows[word], sign)
            depth += 1
        elif word == AND:
            depth -= 1
            stack[depth - 1] = stack[depth - 1] and stack[depth]
        elif word == OR:
            depth -= 1
            stack[depth - 1] = stack[depth - 1] or stack[depth]
        else:
            stack[depth] = word == TRUE
            depth += 1
    return bool(stack[0])


@inlined
def cuts_pass(room: Room, tests: int, cut: float) -> None:
    """Go on to the stretch behind a cut."""
    for test in range(tests):
        while room.passed[test] < room.counts[test] and room.roots[test, room.passed[test]] <= cut:
            room.passed[test] += 1


@inlined
def comparisons_solve(
    program: Program, room: Room, models: Floats, numbers: Floats, lows: Floats, highs: Floats,
    first: int, out_index: Ints, out_low: Floats, out_high: Floats, state: Ints,
) -> int:  # fmt: skip
    """Do what `conditions_solve` does where there is one comparison: no sets are to be combined."""
    row, roots, signs = room.rows[0], room.roots[0], room.signs[0]
    column, allows = program.test_numbers[0], program.test_allows[0]
    count = 0
    for i in range(first, len(lows)):
        top = row_build(program, program.test_rows[0], models[i], row, room.product)
        number = numbers[i, column] if column >= 0 else 0.0
        degree = comparison_prepare(row, top, number, lows[i], highs[i])
        if count + degree + 2 > len(out_index):
            state[0] = i
            return count
        begin = count
        count = comparison_solve(
            row, degree, allows, lows[i], highs[i], roots, signs, room.chain, room.turns,
            out_low, out_high, count,
        )  # fmt: skip
        for k in range(begin, count):
            out_index[k] = i
    state[0] = len(lows)
    return count


@tight
def conditions_solve(
    program: Program, room: Room, models: Floats, numbers: Floats, lows: Floats, highs: Floats,
    first: int, out_index: Ints, out_low: Floats, out_high: Floats, state: Ints,
) -> int:  # fmt: skip
    """Write when the condition holds, segment by segment from `first` on, until there is no room.

    An instant that `<>` takes out divides an interval, with LEFT_OUT on both sides; other single
    instants that it lacks do not. An instant that holds by itself is an interval whose ends are
    equal. `state[0]` is the segment to go on with.

    Returns
    -------
    int
        How many intervals and instants were written.
    """
    tests = len(program.test_rows)
    if tests == 1 and len(program.words) == 1:
        return comparisons_solve(
            program, room, models, numbers, lows, highs, first, out_index, out_low, out_high, state
        )
    divisible = False
    for test in range(tests):
        divisible = divisible or program.test_allows[test] == UNEQUAL
    count = 0
    for i in range(first, len(lows)):
        low, high = lows[i], highs[i]
        tests_prepare(program, room, models[i], numbers[i], low, high)
        cut_count = cuts_merge(room, tests, low)
        if count + cut_count > len(out_index):
            state[0] = i
            return count
        held = False  # In the stretch before the cut.
        for k in range(cut_count):
            cut = room.cuts[k]
            at = cell_holds(program, room, cut, INSTANT)
            divides = divisible and not at and cell_holds(program, room, cut, UNDIVIDED)
            left_out = LEFT_OUT if divides else 0.0
            cuts_pass(room, tests, cut)
            behind = low < high and cell_holds(program, room, cut, STRETCH)
            if held and (divides or not behind):
                out_high[count] = cut - left_out
                count += int(out_low[count] < out_high[count])
            elif at and not behind:
                out_index[count], out_low[count], out_high[count] = i, cut, cut
                count += 1
            if behind and (divides or not held):
                out_index[count], out_low[count] = i, cut + left_out
            held = behind
        if held:
            out_high[count] = high
            count += int(out_low[count] < high)
    state[0] = len(lows)
    return count


@tight
def rows_build(program: Program, room: Room, models: Floats, out: Floats) -> int:
    """Write the polynomials (n, rows, width) of all segments; count those that do not fit."""
    width = out.shape[2]
    lost = 0
    for i in range(models.shape[0]):
        for row in range(out.shape[1]):
            top = row_build(program, row, models[i], room.rows[0], room.product)
            top = polynomial_degree(room.rows[0], top)
            lost += int(top >= width)
            for k in range(width):
                out[i, row, k] = room.rows[0, k] if k <= top else 0.0
    return lost
