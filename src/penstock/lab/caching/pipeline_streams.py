"""Streams of the end-to-end experiment: two with one trend, as arrays and as files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.algebra.memories import StreamLaw
from penstock.lab.draws import generator
from penstock.lab.file_streams import put_batch
from penstock.lab.report import sized
from penstock.operators.bounded.laws_independent import LinearTrend
from penstock.operators.bounded.laws_noise import BoundedNormal
from penstock.vocabulary.batches import Ints

TICK_US = 1_000
FAR_US = 3_600_000_000
TIME = pa.timestamp("us", "UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedEffort:
    """How many ticks, the window in ticks, and into how many files rows are cut."""

    ticks: int
    window: int
    files: int


EFFORTS = sized(
    BoundedEffort(ticks=1_500, window=200, files=3),
    BoundedEffort(ticks=10_000, window=500, files=6),
    BoundedEffort(ticks=40_000, window=1_000, files=10),
)


class BoundedStreams:
    """Both streams: a row of each per tick, keys that follow the tick with noise."""

    def __init__(self, effort: BoundedEffort, seed: int = 5) -> None:
        self.effort = effort
        half = effort.window // 2
        self.sigma, self.half_width = half / 2.0, half
        noise = BoundedNormal(sigma=self.sigma, half_width=half)
        self.laws = (
            LinearTrend(slope=1.0, intercept=0.0, noise=noise),
            LinearTrend(slope=1.0, intercept=0.0, noise=noise),
        )
        self.keys = [
            law.draw(effort.ticks, generator(seed, stream)) for stream, law in enumerate(self.laws)
        ]
        ticks = np.arange(effort.ticks, dtype=np.int64)
        self.times = [TICK_US * ticks, TICK_US * ticks + TICK_US // 2]

    @property
    def window_us(self) -> int:
        """The window of both streams, in microseconds."""
        return self.effort.window * TICK_US

    @property
    def window_rows(self) -> int:
        """The rows that both windows hold."""
        return 2 * self.effort.window

    def budget(self, share: float) -> int:
        """Give a budget that is a share of the window's rows."""
        return max(2, round(share * self.window_rows))

    def law(self) -> StreamLaw:
        """Give what a user would declare."""
        parameters = {
            "slope": 1.0,
            "intercept": 0.0,
            "noise": "bounded normal",
            "sigma": self.sigma,
            "bound": self.half_width,
        }
        return StreamLaw(family="linear trend", parameters=parameters)

    def arrivals(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Give streams, keys, ticks and times of all rows in their order."""
        ticks = np.repeat(np.arange(self.effort.ticks), 2)
        streams = np.tile(np.arange(2), self.effort.ticks)
        return (
            streams,
            np.column_stack(self.keys).ravel(),
            ticks,
            np.column_stack(self.times).ravel(),
        )

    def write(self, root: Path) -> None:
        """Write a directory per stream, and one row far ahead that joins with nothing."""
        cuts = np.linspace(0, self.effort.ticks, self.effort.files + 1).astype(int)
        for stream, name in enumerate("rs"):
            for number, (first, last) in enumerate(zip(cuts, [*cuts[1:], None], strict=True)):
                keys, times = self.keys[stream][first:last], self.times[stream][first:last]
                if last is None:
                    keys = np.array([-1 - stream])
                    times = np.array([self.times[stream][-1] + FAR_US])
                    first = self.effort.ticks  # noqa: PLW2901
                table = pa.table(
                    {
                        "n": pa.array(np.arange(first, first + len(keys), dtype=np.int64)),
                        "k": pa.array(keys),
                        "ts": pa.array(times, TIME),
                    }
                )
                put_batch(root / name, number, table)
