"""The slow twin of sources: one row after the other, one dictionary, nothing clever."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

Change = tuple[int, tuple[int, ...], int, float, float, tuple[tuple[float, ...], ...]]


@dataclass
class SlowModel:
    """What is known of a key."""

    reference: int
    end: int
    horizon: int
    newest: int
    models: tuple[tuple[float, ...], ...]
    allowed: tuple[float, ...]
    carried: tuple[int, ...]


@dataclass
class SlowSource:
    """Holds rows against models whose coefficients rows bring, of degree 2 at most."""

    horizon: int
    horizon_min: int | None = None
    pools: tuple[tuple[str, tuple[float, ...]], ...] = ()
    gradient: bool = False
    min_share: float = 0.1
    floor: float = 1e-9
    keys_max: int = 1 << 20
    forgotten: int | None = None
    known: dict[tuple[int, ...], SlowModel] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def count(self, name: str) -> None:
        """Count."""
        self.counts[name] = self.counts.get(name, 0) + 1

    def row(
        self, key: tuple[int, ...], at: int, observed: tuple[float, ...],
        models: tuple[tuple[float, ...], ...], carried: tuple[int, ...],
    ) -> None:  # fmt: skip
        """Take a row."""
        self.count("rows")
        old = self.known.get(key)
        newest = self.forgotten if old is None else old.newest
        if newest is not None and at < newest:
            self.count("rows_late")
            return
        why = "beginnings" if old is None else self.judge(old, at, observed, carried)
        if why == "inside":
            assert old is not None
            old.newest = at
            self.count("validated")
            return
        if not all(math.isfinite(x) for each in (observed, *models) for x in each):
            self.count("rows_unusable")
            return
        if old is None and len(self.known) == self.keys_max:
            ended = [model.end for model in self.known.values() if model.end <= at]
            if ended:
                self.forgotten = at if self.forgotten is None else max(self.forgotten, at)
            for other in [k for k, model in self.known.items() if model.end <= at]:
                del self.known[other]
                self.count("keys_evicted")
            if len(self.known) == self.keys_max:
                self.count("rows_without_room")
                return
        self.count(why)
        horizon = self.horizon
        if old is not None:
            horizon = self.adapted(old, at, why)
            if why != "expiries":
                self.say(-1, key, old, at)
        end = at + horizon
        allowed = self.tolerances(models, horizon / 1e6)
        new = SlowModel(at, end, horizon, at, models, allowed, carried)
        self.known[key] = new
        self.say(1, key, new, at)

    def judge(
        self, old: SlowModel, at: int, observed: tuple[float, ...], carried: tuple[int, ...]
    ) -> str:
        """Say what a row is to a model."""
        if at >= old.end:
            return "expiries"
        if carried != old.carried:
            return "carried_changes"
        since = (at - old.reference) / 1e6
        for value, model, allowed in zip(observed, old.models, old.allowed, strict=True):
            off = abs(value - float(np.polyval(model[::-1], since)))
            if not off <= allowed or math.isinf(off):
                return "violations"
        return "inside"

    def adapted(self, old: SlowModel, at: int, why: str) -> int:
        """Give the new horizon."""
        if self.horizon_min is None:
            return self.horizon
        if why == "expiries":
            return min(old.horizon + old.horizon // 2, self.horizon)
        if why == "violations":
            return min(max(at - old.reference, self.horizon_min), self.horizon)
        return old.horizon

    def say(self, sign: int, key: tuple[int, ...], model: SlowModel, since: int) -> None:
        """Note a change."""
        low, high = (since - model.reference) / 1e6, (model.end - model.reference) / 1e6
        self.changes.append(
            (sign, (*key, *model.carried), model.reference, low, high, model.models)
        )

    def tolerances(
        self, models: tuple[tuple[float, ...], ...], seconds: float
    ) -> tuple[float, ...]:
        """Say what bounds allow."""
        allowed = [math.inf] * len(models)
        stops = [turning(model, seconds) for model in models]
        values = [
            [float(np.polyval(model[::-1], t)) for t in times]
            for model, times in zip(models, stops, strict=True)
        ]
        least = [0.0 if min(each) <= 0.0 <= max(each) else min(map(abs, each)) for each in values]
        slopes = [float(np.abs(np.diff(each)).sum()) / seconds for each in values]
        for form, amounts in self.pools:
            members = [a for a, amount in enumerate(amounts) if amount < math.inf]
            total = sum(slopes[a] for a in members)
            for a in members:
                share = 1.0 / len(members)
                if self.gradient and total > 0.0:
                    own = slopes[a] / total
                    share = (1.0 - self.min_share) * own + self.min_share / len(members)
                amount = amounts[a] * len(members) * share
                if form == "relative":
                    amount = max(self.floor, amount * least[a])
                allowed[a] = min(allowed[a], amount)
        return tuple(allowed)


def turning(model: tuple[float, ...], seconds: float) -> list[float]:
    """Give the ends of a range and where a parabola turns between them."""
    turn = -model[1] / (2.0 * model[2]) if len(model) > 2 and model[2] != 0.0 else -1.0
    return [0.0, turn, seconds] if 0.0 < turn < seconds else [0.0, seconds]
