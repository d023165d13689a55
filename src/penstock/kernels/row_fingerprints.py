"""Fingerprints of whole rows: all words of a row mixed into one 64-bit number at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.kernels.compilation import tight
from penstock.kernels.hash_tables import FINISHER, MULTIPLIER, word_hash

Ints = npt.NDArray[np.int64]
Table = npt.NDArray[np.int64]


@tight
def rows_mix(words: Table, prints: Ints) -> None:
    """Write the fingerprint of every row: that of its columns, one after the other."""
    for i in range(words.shape[0]):
        own = np.uint64(0)
        for column in range(words.shape[1]):
            mixed = (own ^ word_hash(np.uint64(words[i, column]))) * np.uint64(MULTIPLIER)
            own = word_hash(mixed + np.uint64(FINISHER))
        prints[i] = np.int64(own)
