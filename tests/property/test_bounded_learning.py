"""HIST beside a twin in plain Python: what it learns of rows that leave, and whom it discards."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from penstock.kernels.bounded_histograms import HITS, INVERSES
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.policies_hist import Hist

LENGTH, BUDGET, BUCKETS = 400, 8, 6
RANGE, LEARN, EVERY, DECAY = (10, 60), 100, 50, 0.8


@dataclass
class Row:
    """A row held: where it stood when it came, and what it has brought since."""

    stream: int
    key: int
    born: int
    offset: float
    hits: int = 0


@dataclass
class Twin:
    """The definition: lists of all that was seen and learnt, with weights that fade."""

    form: str
    held: dict[int, Row] = field(default_factory=dict)
    seen: list[list[tuple[int, int]]] = field(default_factory=lambda: [[], []])
    learnt: list[tuple[int, int, float, float, float]] = field(default_factory=list)
    """Partner, bucket, weight, results and inverse stay of every row that left."""
    ranges: list[list[float]] = field(default_factory=lambda: [[np.inf, -np.inf] for _ in "rs"])

    def line(self, stream: int) -> tuple[float, float]:
        """Give the line of least squares through a stream's keys: its slope, and where it is."""
        ticks, keys = np.array(self.seen[stream], dtype=float).T
        middle = ticks - ticks.mean()
        spread = float(middle @ middle)
        slope = float(middle @ keys) / spread if spread else 0.0
        return slope, float(keys.mean() - slope * ticks.mean())

    def offset(self, stream: int, key: int, now: int) -> float:
        """Say how far a key of a stream lies above where its partner is."""
        seen = self.seen[1 - stream]
        if self.form == "walk":
            return float(key - (seen[-1][1] if seen else 0))
        slope, start = self.line(1 - stream) if seen else (0.0, 0.0)
        return key - start - slope * now

    def bucket(self, partner: int, offset: float) -> int | None:
        """Give the bucket of an offset; None where the partner has passed it."""
        low, high = self.ranges[partner]
        if low > high:
            return None
        rising = self.line(partner)[0] >= 0.0
        if offset < low and (self.form == "walk" or rising):
            return None
        if offset > high and (self.form == "walk" or not rising):
            return None
        return min(max(int((offset - low) / max(high - low, 1e-9) * BUCKETS), 0), BUCKETS - 1)

    def totals(self, partner: int, bucket: int) -> tuple[float, float, float]:
        """Give what a bucket has learnt: its weight, mean results and mean inverse stay."""
        own = [each[2:] for each in self.learnt if each[:2] == (partner, bucket)]
        if not own:
            return 0.0, 0.0, 0.0
        weights, hits, inverses = np.array(own).T
        means = (float(weights @ each / weights.sum()) for each in (hits, inverses))
        return float(weights.sum()), next(means), next(means)

    def score(self, row: Row, now: int) -> float:
        """Give a row's score; beside a walk, keys beyond the range are worth less the farther."""
        partner, offset = 1 - row.stream, self.offset(row.stream, row.key, now)
        bucket = self.bucket(partner, offset)
        low, high = self.ranges[partner]
        if bucket is not None:
            _, hits, inverse = self.totals(partner, bucket)
            return hits * inverse
        return -max(low - offset, offset - high) if self.form == "walk" and low <= high else 0.0

    def arrive(self, stream: int, key: int, now: int) -> int:
        """Take an arrival, the only one of its tick; give its results."""
        joined = [row for row in self.held.values() if (row.stream, row.key) == (1 - stream, key)]
        for row in joined:
            row.hits += 1
        self.seen[stream].append((now, key))
        offset = self.offset(stream, key, now)
        if RANGE[0] <= now < RANGE[1]:
            ends = self.ranges[1 - stream]
            ends[:] = min(ends[0], offset), max(ends[1], offset)
        self.held[now] = Row(stream, key, now, offset)
        return len(joined)

    def leave(self, number: int, now: int) -> None:
        """Learn from a row that stayed a tick or more."""
        row = self.held.pop(number)
        bucket = self.bucket(1 - row.stream, row.offset)
        if now > row.born and bucket is not None:
            learnt = (1 - row.stream, bucket, 1.0, float(row.hits), 1.0 / (now - row.born))
            self.learnt.append(learnt)

    def fade(self, now: int) -> None:
        """Let what was learnt weigh less, once a period."""
        if (now + 1) % EVERY == 0:
            self.learnt = [(p, b, w * DECAY, h, i) for p, b, w, h, i in self.learnt]


def keys_of(form: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    streams = rng.integers(0, 2, LENGTH)
    if form == "walk":
        steps = rng.integers(-1, 2, (2, LENGTH)).cumsum(axis=1)
        return streams, steps[streams, np.arange(LENGTH)]
    slope = 0.5 if form == "rising" else -0.5
    noise = rng.normal(0, 2, LENGTH).round()
    return streams, (slope * np.arange(LENGTH) + noise).round().astype(np.int64)


@pytest.mark.parametrize("form", ["rising", "falling", "walk"])
@pytest.mark.parametrize("seed", range(3))
def test_hist_learns_from_rows_that_leave_and_discards_the_lowest(form: str, seed: int) -> None:
    streams, keys = keys_of(form, seed)
    shape = "walk" if form == "walk" else "trend"
    policy = Hist(
        form=shape, seed=seed, buckets=BUCKETS, range_ticks=RANGE, learn_ticks=LEARN,
        decay=DECAY, decay_every=EVERY,
    )  # fmt: skip
    cache, twin, decided = JoinCache(BUDGET, policy), Twin(shape), 0
    for now in range(LENGTH):
        one = slice(now, now + 1)
        done = cache.feed(streams[one], keys[one], np.array([now]))
        assert done.found.tolist() == [twin.arrive(int(streams[now]), int(keys[now]), now)]
        went = set(twin.held) - set(cache.rows.numbers.tolist())
        if went and now >= LEARN:
            scores = {number: twin.score(row, now) for number, row in twin.held.items()}
            (victim,) = went
            assert scores[victim] <= min(scores.values()) + 1e-9
            decided += scores[victim] < max(scores.values()) - 1e-9
        for number in went:
            twin.leave(number, now)
        twin.fade(now)
    assert decided > 100
    buckets = cache.arrays()["learning_buckets"]
    np.testing.assert_allclose(cache.arrays()["learning_ranges"], twin.ranges, atol=1e-9)
    for partner in range(2):
        for bucket in range(BUCKETS):
            here = buckets[partner, bucket]
            found = (here[HITS], here[HITS + 1], here[INVERSES + 1])
            assert found == pytest.approx(twin.totals(partner, bucket), abs=1e-9)
            assert here[INVERSES] == here[HITS]
    assert (buckets[:, :, HITS] > 0.0).sum() > BUCKETS
