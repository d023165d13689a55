"""Netting: what is left of a batch's changes says the same of every instant."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.models.netting import netted
from penstock.models.segments import WIDTH, Segments

INSTANTS = np.arange(0, 40) + 0.5


def drawn(seed: int) -> Segments:
    """Draw models that are replaced at random: some are of before, some taken back in parts."""
    chance = np.random.default_rng(seed)
    rows: list[tuple[int, int, float, float, int, int]] = []
    serial = 0
    for key in range(3):
        at, standing = 0, (key - 10, -5, 20.0)
        for _ in range(int(chance.integers(0, 6))):
            at += int(chance.integers(0, 5))
            old, began, high = standing
            cuts = sorted(chance.integers(at, at + 4, int(chance.integers(0, 2))).tolist())
            parts = list(zip([at, *cuts], [*cuts, began + high], strict=True))
            for start, end in parts[: int(chance.integers(1, 3))]:
                rows.append((key, began, float(start - began), float(end - began), -1, old))
            rows.append((key, at, 0.0, 20.0, 1, serial))
            standing, serial = (serial, at, 20.0), serial + 1
    whole = np.array([(own[0], own[1], own[4], own[5]) for own in rows], np.int64).reshape(-1, 4)
    ends = np.array([own[2:4] for own in rows], np.float64).reshape(-1, 2)
    coefficients = np.zeros((len(rows), 1, WIDTH))
    coefficients[:, 0, 0] = whole[:, 3]
    return Segments(
        whole[:, :1].copy(), whole[:, 1] * 1_000_000, ends[:, 0].copy(), ends[:, 1].copy(),
        coefficients, whole[:, 2].astype(np.int8), whole[:, 3].copy(),
    )  # fmt: skip


def said(segments: Segments) -> dict[tuple[int, int], np.ndarray]:
    """Add up what is said of every key by every model, instant by instant."""
    found: dict[tuple[int, int], np.ndarray] = {}
    for place in range(len(segments)):
        since = INSTANTS - segments.reference[place] / 1e6
        inside = (since >= segments.low[place]) & (since < segments.high[place])
        own = int(segments.key[place, 0]), int(segments.coefficients[place, 0, 0])
        total = found.setdefault(own, np.zeros(len(INSTANTS)))
        total += int(segments.sign[place]) * inside
    return {own: total for own, total in found.items() if total.any()}


@given(seed=st.integers(0, 2**32 - 1))
def test_the_sum_at_every_instant_stays(seed: int) -> None:
    changes = drawn(seed)
    left = netted(changes)
    before, after = said(changes), said(left)
    assert before.keys() == after.keys()
    assert all((before[own] == after[own]).all() for own in before)
    assert len(left) <= len(changes)


def test_a_model_that_lasted_one_batch_is_one_short_segment() -> None:
    changes = drawn(1)
    left = netted(changes)
    assert len(left) < len(changes)
    assert (left.low < left.high).all()
