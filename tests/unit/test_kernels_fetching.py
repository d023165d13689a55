"""Memory is asked for ahead, and what a kernel gives stays the same."""

from __future__ import annotations

import numpy as np

from penstock.kernels.compilation import tight
from penstock.kernels.fetching import line_fetch


@tight
def entry(words: np.ndarray, at: int) -> int:
    line_fetch(words, at)
    return int(words[at, 0])


def test_a_line_is_asked_for_and_nothing_else_happens() -> None:
    words = np.arange(40).reshape(10, 4)
    before = words.copy()
    assert [entry(words, at) for at in range(10)] == before[:, 0].tolist()
    assert np.array_equal(words, before)
    (code,) = entry.inspect_asm().values()  # type: ignore[attr-defined]
    assert "prefetch" in code or "prfm" in code
