"""Fingerprints: the values of a row's columns mixed into one 64-bit number, column by column."""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Bytes, Flags, Ints
from penstock.kernels.compilation import kernel
from penstock.kernels.hash_tables import FINISHER, MULTIPLIER, text_hash, word_hash

ABSENT = 0x5851F42D4C957F2D
"""What a NULL counts as."""


@kernel
def prints_mix(prints: Ints, words: Ints, valid: Flags) -> None:
    """Mix a column of numbers into the fingerprints; what is not valid is NULL."""
    for i in range(len(prints)):
        word = word_hash(np.uint64(words[i])) if valid[i] else np.uint64(ABSENT)
        mixed = (np.uint64(prints[i]) ^ word) * np.uint64(MULTIPLIER)
        prints[i] = np.int64(word_hash(mixed + np.uint64(FINISHER)))


@kernel
def texts_hash(data: Bytes, offsets: Ints, hashes: Ints) -> None:
    """Write the hash of every text."""
    for i in range(len(hashes)):
        hashes[i] = np.int64(text_hash(data, offsets[i], offsets[i + 1]))
