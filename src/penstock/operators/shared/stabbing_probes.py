"""Probing: a batch of events against the levels of one branch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.kernels.radix_sorts import (
    DIGIT_BITS,
    DIGITS,
    WORD_BITS,
    events_pack,
    words_sort,
    words_unpack,
)
from penstock.kernels.stabs import events_stab
from penstock.operators.shared.keys import HIGHEST, LOWEST
from penstock.operators.shared.stabbing_level import Level
from penstock.vocabulary.batches import Flags, Ints, Rows

NO_CODES: Rows = np.empty(0, dtype=np.int32)
SAMPLE = 1024
SCANNED, SKIMMED = 4, 5
"""Where the kernel's state counts the entries and the blocks that it looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """What a branch sees of a batch: codes (none without equalities), keys, who may match.

    `keys[k]` are the keys of range column k (a branch without ranges has one column of zeros).
    """

    codes: Rows
    keys: Ints
    valid: Flags
    code_count: int

    def __len__(self) -> int:
        """Count the events."""
        return int(self.keys.shape[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Arranged:
    """Events that can match, grouped by code and nearly sorted by key."""

    codes: Rows
    keys: Ints
    rows: Rows
    other_keys: Ints


def arrange(events: Events, indexed: int, start: int, stop: int) -> Arranged:
    """Sort the events [start, stop) by code, and by the leading bits of the indexed key."""
    keys = events.keys[indexed, start:stop]
    codes = events.codes[start:stop]
    code_bits = (events.code_count - 1).bit_length() if len(events.codes) else 0
    low, high = _spread(keys, events.valid[start:stop])
    span_bits = (high - low).bit_length()
    wanted = 2 * DIGIT_BITS - code_bits if code_bits <= DIGIT_BITS else WORD_BITS - code_bits
    key_bits = min(span_bits, max(wanted, 0))
    passes = -(-(code_bits + key_bits) // DIGIT_BITS)
    words = np.empty(len(keys), dtype=np.uint64)
    spare = np.empty(len(keys), dtype=np.uint64)
    counts = np.zeros((3, DIGITS), dtype=np.int64)
    count = events_pack(
        codes, keys, events.valid[start:stop], start, low, high, span_bits - key_bits, key_bits,
        words, counts,
    )  # fmt: skip
    words_sort(words, spare, counts, count, passes)
    if passes % 2:
        words, spare = spare, words
    rows = np.empty(count, dtype=np.int32)
    sorted_codes = np.empty(count if len(codes) else 0, dtype=np.int32)
    sorted_keys = spare.view(np.int64)[:count]
    words_unpack(words, count, keys, start, key_bits, rows, sorted_codes, sorted_keys)
    others = [k for k in range(len(events.keys)) if k != indexed]
    other_keys = events.keys[others] if others else np.empty((0, 0), dtype=np.int64)
    return Arranged(codes=sorted_codes, keys=sorted_keys, rows=rows, other_keys=other_keys)


def _spread(keys: Ints, valid: Flags) -> tuple[int, int]:
    """Give a key range that holds nearly all keys: outliers must not spoil the leading bits."""
    stride = max(1, len(keys) // SAMPLE)
    sample = keys[::stride][valid[::stride]] if len(valid) else keys[::stride]
    if len(sample) == 0:
        return 0, 0
    sample = np.sort(sample)
    cut = len(sample) // 512
    low, high = int(sample[cut]), int(sample[-1 - cut])
    margin = (high - low) // 8
    return max(low - margin, LOWEST), min(high + margin, HIGHEST)


@dataclass(slots=True, kw_only=True)
class Work:
    """What probing cost: entries compared and blocks passed over."""

    scanned: int = 0
    skimmed: int = 0


def stab(level: Level, events: Arranged, capacity: int, work: Work) -> Iterator[tuple[Rows, Ints]]:
    """Give all (event row, payload) pairs of a level, at most `capacity` at a time."""
    state = np.array([0, -1, 0, -1, 0, 0], dtype=np.int64)
    coded: Rows = events.codes if len(events.codes) else NO_CODES
    while state[0] < len(events.rows):
        out_rows = np.empty(capacity, dtype=np.int32)
        out_payloads = np.empty(capacity, dtype=np.int64)
        count = events_stab(
            state, coded, events.keys, events.rows,
            level.run_codes, level.run_starts, level.run_widths, level.run_mirrored,
            level.lows, level.highs, level.payloads, level.blocks, level.pages,
            level.other_lows, level.other_highs, events.other_keys,
            out_rows, out_payloads,
        )  # fmt: skip
        if count:
            yield out_rows[:count], out_payloads[:count]
    work.scanned += int(state[SCANNED])
    work.skimmed += int(state[SKIMMED])


Pair = tuple[Rows, npt.NDArray[np.int64]]
