"""The core of window joins: which standing windows an arriving tuple meets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.operators.join.options import Options
from penstock.operators.join.runs import own
from penstock.operators.join.window.book import Pairs, WindowBook
from penstock.operators.join.window.box_probes import WindowJoinStrategy
from penstock.operators.join.window.costs import DEFAULTS, WindowConstants, WindowSizes, costs
from penstock.operators.join.window.rows import LOWEST, TimedRows
from penstock.operators.join.window.selection import WindowSelectionStrategy
from penstock.operators.join.window.ssi import Stabbing
from penstock.operators.shared.threads import default_threads
from penstock.vocabulary.batches import Ints, Rows, added

CHOICES = ("join", "selection", "ssi", "hot")
STRATEGIES = (*CHOICES, "dynamic")
SAMPLE = 256
"""Tuples that a choice looks at."""
NOTHING: Pairs = (np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32))


class WindowCore:
    """Standing window joins of one direction: equal keys, a range on each side, times near.

    A query accepts an arriving tuple with al <= a <= ah, and is affected if the probed side has a
    row of the same key with cl <= c <= ch whose time is less than `w` away, to either side. (A
    closed window, <=, is one microsecond wider.) Rows must have arrived since the query's number.

    Parameters
    ----------
    strategy
        join, selection, ssi, hot or dynamic; all give the same pairs.

    >>> core, rows = WindowCore("selection"), TimedRows()
    >>> rows.change([0], [7], [1_000], [0], [True])
    >>> core.add([5], [0], [9], [5], [8], [100])
    >>> core.identify([3, 3], [0, 0], [1_099, 1_100], rows)
    (array([0], dtype=int32), array([5], dtype=int32))
    """

    def __init__(
        self,
        strategy: str,
        options: Options | None = None,
        *,
        constants: WindowConstants = DEFAULTS,
        threads: int | None = None,
    ) -> None:
        assert strategy in STRATEGIES
        options = options or Options()
        threads = threads or default_threads()
        self._strategy, self._constants = strategy, constants
        self._book = WindowBook()
        makers: dict[str, Callable[[], Any]] = {
            "join": lambda: WindowJoinStrategy(self._book, threads),
            "selection": lambda: WindowSelectionStrategy(self._book, threads),
            "ssi": lambda: Stabbing(self._book, threads, options, hot=False),
            "hot": lambda: Stabbing(self._book, threads, options, hot=True),
        }
        names = CHOICES if strategy == "dynamic" else (strategy,)
        self.strategies: dict[str, Any] = {name: makers[name]() for name in names}
        self._tuples = dict.fromkeys(names, 0)
        self._changes = 0
        self._ends: tuple[Ints, Ints] = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))

    def __len__(self) -> int:
        """Count the queries."""
        return self._book.count

    @property
    def widest(self) -> int:
        """The widest window that stands: rows that are older than that meet nothing new."""
        return self._book.widest

    def add(
        self, slots: npt.ArrayLike, al: npt.ArrayLike, ah: npt.ArrayLike,
        cl: npt.ArrayLike, ch: npt.ArrayLike, w: npt.ArrayLike, since: npt.ArrayLike | None = None,
    ) -> None:  # fmt: skip
        """Register queries; `since` are arrival numbers of the probed rows, `rows.arrivals` now."""
        mine = own(slots, np.int32)
        if len(mine) == 0:
            return
        sinces = np.full(len(mine), LOWEST) if since is None else own(since, np.int64)
        accepts = np.stack([own(al, np.int64), own(ah, np.int64)], axis=1)
        asks = np.stack([own(column, np.int64) for column in (cl, ch, w)] + [sinces], axis=1)
        self._book.add(mine, accepts, asks)
        self._changes += len(mine)
        able = mine[self._book.able(mine)]
        for strategy in self.strategies.values():
            strategy.add(able)

    def drop(self, slots: npt.ArrayLike) -> None:
        """Forget queries."""
        gone = own(slots, np.int32)
        if len(gone) == 0:
            return
        self._changes += len(gone)
        able = gone[self._book.able(gone)]
        for strategy in self.strategies.values():
            strategy.drop(able)
        self._book.drop(gone)

    def identify(
        self, a: npt.ArrayLike, codes: npt.ArrayLike, t: npt.ArrayLike, rows: TimedRows
    ) -> Pairs:
        """Give all pairs (place of the tuple, slot of a query that it affects), each once."""
        found = list(self.pieces(a, codes, t, rows))
        if len(found) <= 1:
            return found[0] if found else NOTHING
        return np.concatenate([one for one, _ in found]), np.concatenate([two for _, two in found])

    def pieces(
        self, a: npt.ArrayLike, codes: npt.ArrayLike, t: npt.ArrayLike, rows: TimedRows
    ) -> Iterator[Pairs]:
        """Give the pairs as they are found."""
        keys, codes_, moments = own(a, np.int64), own(codes, np.int32), own(t, np.int64)
        if len(keys) == 0 or len(rows) == 0 or self._book.count == 0:
            return
        choice = self.choose(keys, codes_, rows)
        self._tuples[choice] += len(keys)
        yield from self.strategies[choice].pieces(keys, codes_, moments, rows)

    def choose(self, a: Ints, codes: Rows, rows: TimedRows) -> str:
        """Say which strategy serves a batch."""
        found = self.estimate(a, codes, rows)
        return min(found, key=found.__getitem__) if found else self._strategy

    def estimate(self, a: Ints, codes: Rows, rows: TimedRows) -> dict[str, float]:
        """Give the cost of each strategy for a batch; nothing if there is no choice."""
        if self._strategy != "dynamic":
            return {}
        return costs(self._constants, self._sizes(a, codes, rows))

    def _sizes(self, a: Ints, codes: Rows, rows: TimedRows) -> WindowSizes:
        """Estimate what a choice depends on, from some of the tuples."""
        step = max(1, len(a) // SAMPLE)
        known = codes[(codes >= 0) & (codes < len(rows.runs.length))]
        lengths = rows.runs.length[known[::step]]
        ssi, hot = self.strategies["ssi"], self.strategies["hot"]
        for one in (ssi, hot):
            one.refresh(rows)
        return WindowSizes(
            queries=self._book.count,
            accepting=self._accepting(a[::step]),
            rows=float(lengths.mean()) if len(lengths) else 0.0,
            shared=len(codes) / max(len(np.unique(codes)), 1),
            groups=ssi.groups,
            hot_groups=hot.groups,
            hot=hot.boxed,
        )

    def _accepting(self, a: Ints) -> float:
        """Estimate how many queries accept a tuple; ends are sorted anew after many changes."""
        if self._changes * 8 > len(self._ends[0]):
            accepts = self._book.accepts[: len(self._book.live)][self._book.live]
            self._ends = np.sort(accepts[:, 0]), np.sort(accepts[:, 1])
            self._changes = 0
        lows, highs = self._ends
        begun = np.searchsorted(lows, a, side="right")
        return float((begun - np.searchsorted(highs, a, side="left")).mean())

    def counts(self) -> dict[str, int]:
        """Say what all batches so far have cost."""
        return added(one.counts() for one in self.strategies.values())

    def plans(self) -> dict[str, int]:
        """Say how many tuples went to each strategy."""
        return dict(self._tuples)
