"""Select-joins by brute force: every tuple, every query, every row of the tuple's run."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from penstock.vocabulary.batches import Ints, Rows

Rectangle = tuple[int, int, int, int]
"""(al, ah, cl, ch): closed ranges on the arriving and on the probed side."""


def affected(
    a: npt.ArrayLike, codes: npt.ArrayLike, rows: Iterable[tuple[int, int]],
    queries: dict[int, Rectangle],
) -> set[tuple[int, int]]:  # fmt: skip
    """Give (tuple, slot) of all affected queries; `rows` are (code, value) of the probed side."""
    keys: Ints = np.asarray(a, dtype=np.int64)
    numbers: Rows = np.asarray(codes, dtype=np.int32)
    held = np.array(sorted(rows), dtype=np.int64).reshape(-1, 2)
    joins = (numbers[:, None] == held[None, :, 0]) & (numbers[:, None] >= 0)
    pairs = set()
    for slot, (al, ah, cl, ch) in queries.items():
        accepted = (held[:, 1] >= cl) & (held[:, 1] <= ch)
        hit = (keys >= al) & (keys <= ah) & (joins & accepted[None]).any(axis=1)
        pairs |= {(int(i), slot) for i in np.flatnonzero(hit)}
    return pairs
