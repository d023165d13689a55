"""Memory is asked for ahead, and what a kernel gives stays the same."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from penstock.kernels.compilation import tight
from penstock.kernels.prefetch import line_fetch


@tight
def entry(words: np.ndarray, at: int) -> int:
    line_fetch(words, at)
    return int(words[at, 0])


def compiled_anew(function: Any, words: np.ndarray) -> Any:
    options = {
        name: value
        for name, value in function.targetoptions.items()
        if name not in {"cache", "nopython"}
    }
    fresh = numba.njit(**options)(function.py_func)
    fresh(words, 0)
    return fresh


def test_a_line_is_asked_for_and_nothing_else_happens() -> None:
    words = np.arange(40).reshape(10, 4)
    before = words.copy()
    assert [entry(words, at) for at in range(10)] == before[:, 0].tolist()
    assert np.array_equal(words, before)
    # Compiled here: code from numba's cache cannot be looked into.
    (code,) = compiled_anew(entry, words).inspect_asm().values()
    assert "prefetch" in code or "prfm" in code
