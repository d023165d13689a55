"""Refusing: which rows of a registration are not accepted, and why."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from penstock.vocabulary.batches import Flags, Refusals

Positions = npt.NDArray[np.intp]


class Refusing:
    """Collects refusals; the first reason of a row stands.

    >>> refusing = Refusing(3)
    >>> refusing.refuse(np.array([False, True, False]), "REG-005", lambda rows: ["No."])
    >>> refusing.refusals().row.tolist(), refusing.refusals().reason
    ([1], ('No.',))
    """

    def __init__(self, rows: int) -> None:
        self.refused: Flags = np.zeros(rows, dtype=np.bool_)
        self._rows: list[Positions] = []
        self._codes: list[str] = []
        self._reasons: list[list[str]] = []

    def refuse(self, rows: Flags, code: str, reasons: Callable[[Positions], list[str]]) -> None:
        """Refuse the marked rows that are not refused yet; `reasons` makes their texts at once."""
        chosen = np.flatnonzero(rows & ~self.refused)
        if len(chosen) == 0:
            return
        self.refused[chosen] = True
        self._rows.append(chosen)
        self._codes += [code] * len(chosen)
        self._reasons.append(reasons(chosen))

    def refusals(self) -> Refusals:
        """Give all refusals in row order."""
        if not self._rows:
            return Refusals()
        rows = np.concatenate(self._rows)
        reasons = [reason for part in self._reasons for reason in part]
        order = np.argsort(rows, kind="stable")
        if len(self._rows) > 1:
            reasons = [reasons[i] for i in order]
            codes = tuple(self._codes[i] for i in order)
        else:
            codes = tuple(self._codes)
        return Refusals(row=rows[order].astype(np.int64), code=codes, reason=tuple(reasons))
