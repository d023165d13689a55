"""Fitting while a stream runs: its family, its parameters, and when it became another stream.

At every refit all families foretell the last keys one by one, from several beginnings; the best
score decides. A later beginning than the present one must win by a margin: then the stream has
changed its nature, and what came before is forgotten. Parameters are fitted to all keys since the
beginning, up to a limit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.algebra.memories import StreamLaw
from penstock.kernels.law_fits import (
    AR1,
    BURN,
    COUNTS,
    FAMILY_COUNT,
    HISTOGRAM,
    LEVEL,
    STUDENT,
    TREND,
    families_score,
    keys_unit,
)
from penstock.operators.bounded.fitted_laws import (
    Arrays,
    FittedLaw,
    LawFit,
    is_material,
    law_facts,
    law_logs,
    law_of,
)
from penstock.operators.bounded.law_families import ALLOWED, declared_law, fit_law, strangers
from penstock.operators.bounded.law_misfits import misfit
from penstock.vocabulary.batches import Floats, Ints

__all__ = ["Fitter", "LawFit"]

KEYS_LEAST = 12
"""Keys before which nothing is said."""
JUDGED = 256
"""The last keys, on which families are compared."""
JUDGED_COUNTS = 1024
"""The same where nothing but counts can be said of keys."""
LENGTHS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 384, 512, 768)
"""How long ago a change of nature may be, in keys."""
LENGTHS_FEW = (32, 96, 384)
"""The same where judgements are rarer."""
PRICE = 1.0
"""What every parameter of a family costs it, in nats."""
PARAMETERS: Floats = np.array([2.0, 3.0, 2.0, 3.0, 1.0, 3.0])
"""How many parameters the families have, in the order of their numbers."""
HOLD = 3.0
"""What the score of another family must be above that of the present one, in nats."""
CHANGE = 8.0
"""What a change of nature must have brought since, in nats: by chance it rarely does."""
CHANGE_COUNTS = 16.0
"""The same where keys are counted: counts are a law that no stream really has."""
YOUNG = 32
"""Keys after a change of nature from which its law is trusted."""
COARSE = 0.5
"""What a histogram must be better by, in nats per key."""
FRESH = 1.1
"""Parameters are fitted again when there are so many times as many keys."""
RENEWED = 4096
"""They are fitted again after so many new keys, too."""
SPAN_MAX = 1 << 60
"""Keys farther apart are names, not numbers."""

COUNTERS = ("_since", "_seen", "_fitted", "_fitted_at", "_judged_at")
"""What a fitter counts."""
STEADY = {COUNTS, LEVEL, HISTOGRAM}
"""Families without movement."""


class Fitter:
    """What is known of one stream, from what was declared and what came.

    Parameters
    ----------
    law
        What is declared.
    numeric
        Whether keys can be counted with; else only how often each came is known.
    limit
        Keys that are remembered.
    scans
        Whether AUTO may find autoregressions, beside which every row must be scored at every
        decision; of large budgets they are taken for the still streams that they nearly are.
    """

    def __init__(
        self, law: StreamLaw, *, numeric: bool, limit: int = 4096, scans: bool = True
    ) -> None:
        assert limit >= KEYS_LEAST
        self._declared = law
        self.numeric = numeric
        self._limit = limit
        self._kinds = ALLOWED[law.family] if numeric else (COUNTS,)
        if law.family == "auto" and not scans:
            self._kinds = tuple(kind for kind in self._kinds if kind != AR1)
        barred = [kind not in self._kinds for kind in range(FAMILY_COUNT)]
        self._price: Floats = np.where(barred, math.inf, PRICE * PARAMETERS)
        self._ticks = np.zeros(2 * limit, dtype=np.int64)
        self._keys = np.zeros(2 * limit, dtype=np.int64)
        self._used = 0
        self._since = 0
        self._seen = 0
        self._fitted = 0
        self._fitted_at = 0
        self._judged_at = 0
        self._rate = 1.0
        self._scores: Floats = np.full(FAMILY_COUNT, -math.inf)
        self._law = declared_law(law)
        self.fit: LawFit | None = None
        if self._law is not None:
            self._kinds = ()
            self._put_in_force()

    def observe(self, ticks: Ints, keys: Ints) -> None:
        """See keys of this stream in their order, with their ticks."""
        self._seen += len(keys)
        ticks, keys = ticks[-self._limit :], keys[-self._limit :]
        if self._used + len(keys) > len(self._keys):
            kept = slice(max(self._used - self._limit, 0), self._used)
            count = kept.stop - kept.start
            self._ticks[:count] = self._ticks[kept].copy()
            self._keys[:count] = self._keys[kept].copy()
            self._used = count
        self._ticks[self._used : self._used + len(keys)] = ticks
        self._keys[self._used : self._used + len(keys)] = keys
        self._used += len(keys)

    def refit(self, now: int, *, rung: bool = False) -> bool:
        """Look at what came before a tick; say whether the law in force changed enough.

        If it `rung`, something happened of late: the last keys are looked at closely.
        """
        ticks, keys = self._remembered()
        if len(keys) < KEYS_LEAST:
            return False
        rate = len(keys) / max(now - int(ticks[0]), 1)
        changed = False
        if self._kinds:
            changed = self._judge(ticks, keys, rung)
            ticks, keys = self._remembered()
            if changed or self._is_due(len(keys)):
                changed = self._refit(ticks, keys, rate, now) or changed
        if self.fit is not None and abs(rate - self.fit.rate) > 0.05 * self.fit.rate:
            changed = True
        if changed:
            self._rate = rate
            self._put_in_force()
        return changed

    @property
    def since(self) -> int:
        """The tick since which the stream is what it is."""
        return self._since

    @property
    def begun(self) -> tuple[int, int] | None:
        """Since when the stream is what it is, and its family; None: nothing of it can change."""
        if self._law is None or not self._kinds or self.fit is None:
            return None
        return self._since, self._law.kind

    @property
    def first(self) -> int:
        """The tick of the first key that was seen of the stream as it is."""
        ticks = self._remembered()[0]
        return self._since if len(ticks) in (0, self._limit) else int(ticks[0])

    @property
    def last(self) -> int:
        """The last key."""
        return int(self._keys[self._used - 1])

    def recent(self, since: int = 0) -> Ints:
        """Give the keys since then, or since a later tick, as far as they are remembered."""
        ticks, keys = self._remembered()
        return keys[int(np.searchsorted(ticks, since)) :]

    @property
    def is_young(self) -> bool:
        """Whether the stream changed so lately that any law may be its own: none leads clearly."""
        count = len(self._remembered()[1])
        if self._since == 0 or self._law is None or count >= YOUNG:
            return False
        # The first keys of a law of many look like any still stream; a movement shows at once.
        lead = self._scores[self._law.kind] - max(self._scores[kind] for kind in STEADY)
        return bool(lead * (count - BURN) < CHANGE)

    def _remembered(self) -> tuple[Ints, Ints]:
        begin = max(self._used - self._limit, 0)
        ticks = self._ticks[begin : self._used]
        first = int(np.searchsorted(ticks, self._since))
        return ticks[first:], self._keys[begin + first : self._used]

    def _is_due(self, count: int) -> bool:
        if self._law is None:
            return False
        return self._has_grown(count) or self._seen - self._fitted_at >= RENEWED

    def _has_grown(self, count: int) -> bool:
        return count >= FRESH * self._fitted + 2

    def _judge(self, ticks: Ints, keys: Ints, rung: bool) -> bool:
        """Compare families and beginnings; say whether family or beginning changed."""
        last = JUDGED if self.numeric else JUDGED_COUNTS
        lengths = [min(len(keys), last)]
        # Where much came since, what came when matters less.
        is_rare = self._seen - self._judged_at >= last // 2 and not rung
        asked = LENGTHS_FEW if is_rare else LENGTHS
        lengths += [length for length in asked if length <= lengths[0] - KEYS_LEAST]
        self._judged_at = self._seen
        scores, wholes = self._scored(ticks[-last:], keys[-last:], lengths)
        held = scores[0].copy()
        present = -1 if self._law is None else self._law.kind
        if present >= 0:
            held[present] += HOLD if len(keys) <= last else CHANGE
        kind = int(np.argmax(held))
        if not math.isfinite(held[kind]):
            # Keys that cannot be counted with have no such law.
            return False
        # What is better from a later beginning must be better than itself from the first, too:
        # else the family was another all the time. And so than what was learnt from more keys;
        # of a still stream, than all that still streams may be.
        rivals = list(STEADY) if kind in STEADY else [kind]
        least = np.maximum(wholes, wholes[:, rivals].max(axis=1, keepdims=True))
        foreseen = self._foreseen(ticks, keys, lengths)
        gains = scores - np.maximum(least, foreseen[:, None])
        # The longer a stream is what it is, the more often chance has tried.
        margin = CHANGE + math.log(max((int(ticks[-1]) - self._since) / last, 1.0))
        margin += CHANGE_COUNTS - CHANGE if kind == COUNTS else 0.0
        which, fresh = divmod(int(np.argmax(gains)), FAMILY_COUNT)
        if gains[which, fresh] > margin:
            self._begin_anew(ticks, keys, lengths[which], fresh)
            self._scores = scores[which] / (lengths[which] - BURN)
            return True
        self._scores = scores[0] / (lengths[0] - BURN)
        if kind != present and foreseen[0] > scores[0, kind] - margin:
            # What was learnt from more keys may foresee the last ones as well.
            kind = present
        is_free = kind == present and not self._declared.parameters
        if is_rare and is_free and len(keys) > last and scores[0, kind] - foreseen[0] > margin:
            # A change may lie before the last keys, all of which are of the new nature then.
            if self._is_slow_trend(ticks, keys, last, float(scores[0, kind])):
                self._force(TREND)
            else:
                self._begin_anew(ticks, keys, last, kind)
            return True
        if len(keys) > last and (kind == present or {kind, present} <= STEADY):
            # The last keys do not show slow trends, and laws of many keys are learnt late.
            kind = self._best_of_all(ticks, keys) if self._has_grown(len(keys)) else present
        elif len(keys) > last and present >= 0:
            # A family that fits the last keys only must not be fitted to those before them.
            which = int(np.argmax(scores[:, kind] - wholes[:, kind]))
            self._begin_anew(ticks, keys, lengths[which], kind)
            return True
        if kind == present:
            return False
        self._force(kind)
        return True

    def _foreseen(self, ticks: Ints, keys: Ints, lengths: list[int]) -> Floats:
        """Score the law in force on as many last keys, if it was learnt from more than those."""
        if self._law is None or self._fitted == 0 or len(keys) <= lengths[0]:
            return np.full(len(lengths), -math.inf)
        logs = self._law_logs(self._law, ticks[-lengths[0] :], keys[-lengths[0] :])
        sums: Floats = np.cumsum(logs[::-1])[np.array(lengths) - BURN - 1]
        return sums

    def _law_logs(self, fitted: FittedLaw, ticks: Ints, keys: Ints) -> Floats:
        return law_logs(fitted, ticks, keys, self._is_counted_with(keys))

    def _is_counted_with(self, keys: Ints) -> bool:
        return self.numeric and len(keys) > 0 and int(keys.max()) - int(keys.min()) < SPAN_MAX

    def _scored(self, ticks: Ints, keys: Ints, lengths: list[int]) -> tuple[Floats, Floats]:
        """Score families on keys; those that are not asked for score nothing at all."""
        numeric = self._is_counted_with(keys)
        if numeric:
            keys = (keys - keys[-1]) // max(keys_unit(keys), 1)
        scores, wholes = families_score(
            ticks.astype(np.float64), keys, np.array(lengths), numeric, STUDENT
        )
        # A bucket's keys are taken as one: that must pay.
        scores[:, HISTOGRAM] -= COARSE * (np.array(lengths) - BURN)
        scores -= self._price
        return scores, wholes

    def _best_of_all(self, ticks: Ints, keys: Ints) -> int:
        """Compare families on all keys that are remembered."""
        scores, _ = self._scored(ticks, keys, [len(keys)])
        assert self._law is not None
        scores[0, self._law.kind] += HOLD
        return int(np.argmax(scores[0]))

    def _is_slow_trend(self, ticks: Ints, keys: Ints, last: int, score: float) -> bool:
        """Say whether a line through all keys explains the last as well as a level of their own."""
        if self._law is None or self._law.kind not in STEADY or TREND not in self._kinds:
            return False
        fitted = self._law_of(TREND, ticks, keys, self._rate)
        return float(self._law_logs(fitted, ticks[-last:], keys[-last:]).sum()) > score - HOLD

    def _begin_anew(self, ticks: Ints, keys: Ints, length: int, kind: int) -> None:
        """Forget what came before the last keys, of another nature."""
        begin = len(keys) - length
        if kind in (LEVEL, TREND):
            begin += strangers(ticks[begin:], keys[begin:], kind)
        self._since = int(ticks[begin])
        self._fitted = 0
        self._force(kind)

    def _force(self, kind: int) -> None:
        """Let a family be the one whose parameters are fitted next."""
        if self._law is None or self._law.kind != kind:
            self._law = FittedLaw(kind=kind)
            self._fitted = 0

    def _refit(self, ticks: Ints, keys: Ints, rate: float, now: int) -> bool:
        """Fit the parameters of the family; say whether the law moved."""
        assert self._law is not None
        old = self._law
        fitted = self._law_of(old.kind, ticks, keys, rate)
        was, self._fitted, self._fitted_at = self._fitted, len(keys), self._seen
        if was and not is_material(old, fitted, now, 0.25 * len(keys)):
            return False
        self._law = fitted
        return True

    def _law_of(self, kind: int, ticks: Ints, keys: Ints, rate: float) -> FittedLaw:
        """Fit the law of a family to keys, in their unit."""
        unit, base = 1, 0
        if self.numeric:
            unit = max(keys_unit(keys), 1)
            base = int(keys[-1]) % unit
        steps = (keys - base) // unit
        return fit_law(kind, ticks, steps, rate, unit, base, self._declared.parameters)

    def _put_in_force(self) -> None:
        fitted, rate = self._law, self._rate
        assert fitted is not None
        law, facts = fitted.law(), self.facts()
        self.fit = LawFit(family=fitted.family, fitted=fitted, law=law, rate=rate, facts=facts)

    def facts(self) -> dict[str, Any]:
        """Tell the fit as it is now."""
        if self._law is None:
            return {"family": None}
        since = self._since if self._kinds else None
        return law_facts(self._law, self._rate, self._kinds, self._scores, since)

    def misfit(self) -> str | None:
        """Say so if a law that was declared does not fit; found when it is asked for."""
        # Also of those before the stream became what it is said to be.
        last = slice(max(self._used - JUDGED, 0), self._used)
        ticks, keys = self._ticks[last], self._keys[last]
        if self._declared.family == "auto" or self._law is None or self.fit is None:
            return None
        return misfit(self._law, ticks, keys) if self._is_counted_with(keys) else None

    def arrays(self) -> Arrays:
        """Give everything that decides what comes next."""
        begin = max(self._used - self._limit, 0)
        found: Arrays = {
            "ticks": self._ticks[begin : self._used].copy(),
            "keys": self._keys[begin : self._used].copy(),
            "counters": np.array([getattr(self, name) for name in COUNTERS], dtype=np.int64),
            "known": np.array([self._law is not None, self.fit is not None]),
            "scores": self._scores.copy(),
            "rate": np.array([self._rate]),
        }
        return found | (self._law.arrays() if self._law is not None else {})

    def restore(self, arrays: Arrays) -> None:
        """Go on from what `arrays` gave."""
        self._used = len(arrays["keys"])
        self._ticks[: self._used] = arrays["ticks"]
        self._keys[: self._used] = arrays["keys"]
        for name, count in zip(COUNTERS, arrays["counters"].tolist(), strict=True):
            setattr(self, name, count)
        has_law, in_force = arrays["known"].tolist()
        self._scores = np.asarray(arrays["scores"], dtype=np.float64).copy()
        self._rate = float(arrays["rate"][0])
        self._law = law_of(arrays) if has_law else None
        self.fit = None
        if in_force:
            self._put_in_force()
