"""Arranging: entries sorted by (code, low) become the runs of a level (see `stabbing`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.kernels.arrays import Ints, Rows
from penstock.kernels.compilation import kernel
from penstock.kernels.stabs import BLOCK_BITS, LOWEST, PAGE_BITS

RUN_COST = 24.0
"""Scanned entries that cost as much as visiting one more run."""
SMALL = 16
"""Entries of one code that are not worth more than one run."""
SAMPLES = 24
CLASSES = 65
"""Bit lengths of a width: 0 to 64."""


@kernel
def width_class(low: int, high: int) -> int:
    """Count the bits of high - low."""
    width = np.uint64(high) - np.uint64(low)
    bits = 0
    for half in (32, 16, 8, 4, 2, 1):
        above = width >> np.uint64(half)
        if above > np.uint64(0):
            width = above
            bits += half
    return bits + int(np.int64(width))


@kernel
def width_stored(width: np.uint64) -> int:
    """Give a width as a run keeps it: -1 stands for all that an int64 cannot hold."""
    return -1 if width >> np.uint64(63) > np.uint64(0) else int(np.int64(width))


@kernel
def window_estimate(lows: Ints, start: int, end: int, width: np.uint64) -> float:
    """Estimate how many of the entries [start, end) lie in a key's window of the given width.

    Keys are assumed where the entries are: the estimate is a mean over sampled lows.
    """
    n = end - start
    found = 0
    for sample in range(SAMPLES):
        position = start + (2 * sample + 1) * n // (2 * SAMPLES)
        key = lows[position]
        above = np.uint64(key) - np.uint64(LOWEST)
        if above <= width:
            found += position - start
            continue
        least = np.int64(np.uint64(key) - width)
        low, high = start, position
        while low < high:
            middle = (low + high) >> 1
            if lows[middle] < least:
                low = middle + 1
            else:
                high = middle
        found += position - low
    return found / SAMPLES


@kernel
def runs_arrange(codes: Rows, lows: Ints, highs: Ints) -> Any:
    """Split the entries of every code into runs of like widths.

    Widths are joined into one run while the longer windows cost less than visiting another run.

    Parameters
    ----------
    codes, lows, highs
        Entries sorted by (code, low).

    Returns
    -------
    tuple
        `(placed, codes, starts, widths)`: the entries in their final order, and for every run its
        code, its start (with one more for the end) and its largest width (-1: 2^63 or more).
    """
    n = len(lows)
    classes = np.empty(n, dtype=np.uint8)
    placed = np.empty(n, dtype=np.int32)
    run_codes = np.empty(n, dtype=np.int32)
    run_starts = np.empty(n + 1, dtype=np.int32)
    run_widths = np.empty(n, dtype=np.int64)
    counts = np.empty(CLASSES, dtype=np.int64)
    widest = np.empty(CLASSES, dtype=np.uint64)
    run_of = np.empty(CLASSES, dtype=np.int64)
    cursor = np.empty(CLASSES, dtype=np.int64)
    runs = 0
    start = 0
    while start < n:
        code = codes[start]
        end = start + 1
        while end < n and codes[end] == code:
            end += 1
        first_run = runs
        if end - start <= SMALL:
            largest = np.uint64(0)
            for i in range(start, end):
                largest = max(largest, np.uint64(highs[i]) - np.uint64(lows[i]))
                placed[i] = i
            run_codes[runs] = code
            run_starts[runs] = start
            run_widths[runs] = width_stored(largest)
            runs += 1
            start = end
            continue
        counts[:] = 0
        widest[:] = np.uint64(0)
        for i in range(start, end):
            bits = width_class(lows[i], highs[i])
            classes[i] = bits
            counts[bits] += 1
            widest[bits] = max(widest[bits], np.uint64(highs[i]) - np.uint64(lows[i]))
        left = end - start
        current = np.uint64(0)
        estimate = 0.0
        for bits in range(CLASSES - 1, -1, -1):
            if counts[bits] == 0:
                continue
            fresh = runs == first_run
            if not fresh and left > RUN_COST:
                narrow = window_estimate(lows, start, end, widest[bits])
                share = left / (end - start)
                if (estimate - narrow) * share > RUN_COST:
                    fresh = True
                    estimate = narrow
            elif fresh:
                estimate = window_estimate(lows, start, end, widest[bits])
            if fresh:
                current = widest[bits]
                run_codes[runs] = code
                run_widths[runs] = width_stored(current)
                cursor[runs - first_run] = 0
                runs += 1
            run_of[bits] = runs - 1 - first_run
            cursor[runs - 1 - first_run] += counts[bits]
            left -= counts[bits]
        position = start
        for run in range(first_run, runs):
            size = cursor[run - first_run]
            run_starts[run] = position
            cursor[run - first_run] = position
            position += size
        if runs == first_run + 1:
            for i in range(start, end):
                placed[i] = i
        else:
            for i in range(start, end):
                run = run_of[classes[i]]
                placed[cursor[run]] = i
                cursor[run] += 1
        start = end
    run_starts[runs] = n
    return placed, run_codes[:runs].copy(), run_starts[: runs + 1].copy(), run_widths[:runs].copy()


@kernel
def highs_summarise(highs: Ints) -> Any:
    """Give the largest high of every block and of every page of entries."""
    n = len(highs)
    blocks = np.full((n >> BLOCK_BITS) + 1, LOWEST, dtype=np.int64)
    pages = np.full((n >> PAGE_BITS) + 1, LOWEST, dtype=np.int64)
    for i in range(n):
        block = i >> BLOCK_BITS
        blocks[block] = max(blocks[block], highs[i])
    for block in range(len(blocks)):
        page = block >> (PAGE_BITS - BLOCK_BITS)
        pages[page] = max(pages[page], blocks[block])
    return blocks, pages
