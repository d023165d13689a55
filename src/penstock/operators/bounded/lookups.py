"""Lookup caches that choose their policy: HEEB where a law of the keys pays, else a general one.

Policies are candidates of a contest. Whoever takes over, rows and what is remembered of keys stay.
All is a function of the references' order alone, however they are batched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.algebra.memories import FAMILIES, Memory
from penstock.kernels.bounded_victims import COUNTED
from penstock.kernels.law_fits import COUNTS
from penstock.kernels.lookup_caches import FADING
from penstock.operators.bounded.contests import Arrays, Contest, part_of
from penstock.operators.bounded.law_fits import Fitter, LawFit
from penstock.operators.bounded.law_policies import FittedHeeb
from penstock.operators.bounded.laws_independent import LinearTrend
from penstock.operators.bounded.lookups_caches import FadingLfu, LookupCache
from penstock.operators.bounded.policies import CompiledPolicy, SteppedPolicy
from penstock.operators.bounded.policies_baselines import Lfu, Lru
from penstock.operators.bounded.policies_named import policy_of
from penstock.operators.bounded.policies_plain import SteppedLookup
from penstock.operators.bounded.spaced_laws import Spaced
from penstock.operators.bounded.weightings import Exponential, alpha_of
from penstock.vocabulary.batches import Flags, Ints

GENERAL: dict[str, CompiledPolicy] = {
    each.name: each for each in (Lfu(), Lru(), FadingLfu())
}  # fmt: skip
"""Candidates beside HEEB; the first is in force until something is known."""
COUNTING = frozenset({COUNTED, FADING})
HEEB = "HEEB"
MOVING = frozenset({"linear trend", "random walk", "ar1"})

MINIATURE_ROWS = 512
"""A miniature holds no more."""
REMEMBERED_LEAST, REMEMBERED_MOST = 1 << 16, 1 << 20
"""Keys that are counted beyond those held: fifteen per row, but within these bounds."""
HALF_LIFE_BUDGETS = 3
"""Of the frequency that fades, in references per row of the budget."""
SCANNED_MAX = 20_000
"""Rows of which all may be scored at a miss, if the law asks for it: a fetch takes longer."""
PERIOD_FIRST, PERIOD_LEAST, PERIOD_FIRST_UNTIL = 64, 256, 1024
"""References from choice to choice: half the budget, but no fewer; to begin with, more often."""
MEMORY_BUDGETS, MEMORY_LEAST = 16, 4096
"""What the choice remembers: so many references per row of the budget, but no fewer."""
REFIT_FIRST, REFIT_EVERY = 64, 1024
"""References until the law is fitted first, then twice as many, at last every so many."""
RESIDENCE_LEAST = 1.05
FAR = 1 << 62
NUMBERS = ("_now", "_wait", "_refit_at", "_settle_at")
"""What a cache counts."""


class AutoLookup:
    """A cache of a stored relation's rows, one per key, never more than `budget`.

    Parameters
    ----------
    memory
        Policy, law and options. HEEB with a law that is declared is in force as soon as its
        parameters are known; with `AUTO` the best policy of late is; others are taken at their
        word.
    numeric
        Whether keys can be counted with.
    budget
        Rows; the whole of the memory's, if not given. If less, other caches hold the rest: each is
        shown all references, and owns its part of the keys.
    """

    def __init__(self, memory: Memory, *, numeric: bool, budget: int | None = None) -> None:
        self.budget = memory.rows if budget is None else budget
        self.policy = memory.policy
        self._rows = memory.rows
        self._options = memory.options
        (law,) = memory.laws
        self._is_chosen = memory.policy == HEEB and law.family == "auto"
        by_law = memory.policy == HEEB and (numeric or not self._is_chosen)
        self._fitter = (
            Fitter(law, numeric=numeric, scans=self.budget <= SCANNED_MAX) if by_law else None
        )
        self._heeb: CompiledPolicy | None = None
        self._now = 0
        self._wait = REFIT_FIRST
        self._refit_at = REFIT_FIRST
        self._settle_at = self._period
        self._contest: Contest[LookupCache] | None = None
        if self._is_chosen:
            self._contest = Contest(
                (*GENERAL, HEEB) if numeric else tuple(GENERAL),
                lambda name, bits: self._cache(GENERAL.get(name, GENERAL["LFU"]), bits=bits),
                budget=self.budget,
                rows_max=MINIATURE_ROWS,
                memory=max(MEMORY_BUDGETS * self.budget, MEMORY_LEAST),
            )
        self._main: LookupCache | SteppedLookup = self._first(memory)
        if self._fitter is not None and self._fitter.fit is not None:
            self._take(self._fitter.fit)

    def _first(self, memory: Memory) -> LookupCache | SteppedLookup:
        """Give a cache under the policy that is in force before anything is known."""
        name = "LFU" if memory.policy == HEEB else memory.policy
        policy = policy_of(memory, name, budget=self.budget, streams=1)
        if isinstance(policy, SteppedPolicy):
            return SteppedLookup(self.budget, policy)
        assert isinstance(policy, CompiledPolicy)
        return self._cache(policy, bits=0)

    def _cache(self, policy: CompiledPolicy, *, bits: int) -> LookupCache:
        rows = self.budget >> bits
        beyond = min(max(15 * self.budget, REMEMBERED_LEAST), REMEMBERED_MOST) >> bits
        rule = policy.rule()
        return LookupCache(
            rows,
            policy,
            remembered=rows + beyond if rule.mode in COUNTING and not rule.keys_max else None,
            half_life=float(HALF_LIFE_BUDGETS * self._rows) if self._is_chosen else 0.0,
        )

    @property
    def fit(self) -> LawFit | None:
        """The fit of the stream's law, if one is asked for and there is one."""
        return None if self._fitter is None else self._fitter.fit

    def feed(self, keys: Ints) -> Flags:
        """Look keys up one after another; say which were held."""
        return self.trace(keys)[0]

    def trace(self, keys: Ints, owned: Flags | None = None) -> tuple[Flags, Ints]:
        """As `feed`; also say which row went at each reference, as `LookupCache.trace` does."""
        keys = np.ascontiguousarray(keys, dtype=np.int64)
        owned = np.ones(len(keys), dtype=np.bool_) if owned is None else owned
        sliced = owned if self._contest is None else self._contest.sliced(keys, owned)
        hits, left = np.empty(len(keys), dtype=np.bool_), np.empty(len(keys), dtype=np.int64)
        at = 0
        while at < len(keys):
            until = min(len(keys), at + self._next - self._now)
            part = slice(at, until)
            hits[part], left[part] = self._main.trace(keys[part], owned[part])
            self._watch(keys[part], sliced[part])
            self._now += until - at
            self._steer()
            at = until
        return hits, left

    @property
    def _period(self) -> int:
        least = PERIOD_FIRST if self._now < PERIOD_FIRST_UNTIL else PERIOD_LEAST
        return max(self.budget // 2, least)

    @property
    def _next(self) -> int:
        """The number of references after which the cache must be steered next."""
        settle = FAR if self._contest is None else self._settle_at
        return settle if self._fitter is None else min(settle, self._refit_at)

    def _watch(self, keys: Ints, sliced: Flags) -> None:
        """Let the miniatures and the law see references."""
        if self._fitter is not None:
            self._fitter.observe(np.arange(self._now, self._now + len(keys)), keys)
        if self._contest is not None:
            for name, each in self._contest.miniatures.items():
                self._contest.count(name, int(np.count_nonzero(each.trace(keys, sliced)[0])))
            self._contest.count_all(int(np.count_nonzero(sliced)))

    def _steer(self) -> None:
        """Fit and choose, if it is time."""
        if self._fitter is not None and self._now == self._refit_at:
            every = int(self._options.get("refit_every", REFIT_EVERY))
            self._wait = min(2 * self._wait, every)
            self._refit_at += self._wait
            if self._fitter.refit(self._now) and self._fitter.fit is not None:
                self._take(self._fitter.fit)
        if self._contest is not None and self._now == self._settle_at:
            self._settle_at += self._period
            self._contest.record(self._now)
            self._settle()

    def _settle(self) -> None:
        """Put the best policy of late in force."""
        assert self._contest is not None
        unable = (HEEB,) if self._heeb is None else ()
        if self._contest.settle(self._now, unable=unable, favoured=self._favoured):
            self._apply()

    @property
    def _favoured(self) -> str | None:
        """Keys that move are foretold better than counts can: the fit has shown it."""
        fit = None if self._fitter is None else self._fitter.fit
        return HEEB if fit is not None and fit.family in MOVING else None

    def _apply(self) -> None:
        """Let the rows be ordered by the policy that was chosen."""
        assert self._contest is not None
        if self._contest.in_force != HEEB:
            self._replace(GENERAL[self._contest.in_force])
        elif self._heeb is not None:
            self._replace(self._heeb)

    def _take(self, fit: LawFit) -> None:
        """Take a new law: miniature and cache go on with it, or without, if it says nothing."""
        self._heeb = self._policy(fit)
        if self._contest is None:
            if self._heeb is not None:
                self._replace(self._heeb)
            return
        self._contest.miniatures[HEEB].replace(self._heeb or GENERAL["LFU"])
        if self._heeb is None:
            self._settle()
        elif self._contest.in_force == HEEB:
            self._replace(self._heeb)

    def _replace(self, policy: CompiledPolicy) -> None:
        """Let the cache go on under another policy."""
        assert isinstance(self._main, LookupCache)
        self._main.replace(policy)

    def _policy(self, fit: LawFit) -> CompiledPolicy | None:
        """Give HEEB.

        None where no table can be made, or where a law that was found has nothing but counts,
        which LFU has too.
        """
        if self._is_chosen and fit.fitted.kind == COUNTS:
            return None
        weighting = Exponential(self._alpha(fit))
        try:
            return FittedHeeb(
                laws=(fit.law,), weighting=weighting, rates=(1.0,), windows=(None,),
                caching=True,
            )  # fmt: skip
        except ValueError:
            return None

    def _alpha(self, fit: LawFit) -> float:
        """Give what was declared, or the budget; under a trend, the time to pass its noise."""
        if "alpha" in self._options:
            return float(self._options["alpha"])
        if "lifetime" in self._options:
            return alpha_of(float(self._options["lifetime"]))
        law = fit.law.law if isinstance(fit.law, Spaced) else fit.law
        if isinstance(law, LinearTrend) and law.slope != 0.0:
            passing = 2.0 * law.noise.deviation / abs(law.slope)
            return alpha_of(max(passing, RESIDENCE_LEAST))
        return float(self._rows)

    @property
    def now(self) -> int:
        """The number of the next reference."""
        return self._now

    @property
    def keys(self) -> Ints:
        """The keys held, in no order."""
        return self._main.keys

    def __len__(self) -> int:
        return len(self._main)

    @property
    def in_force(self) -> str:
        """The policy in force."""
        if self._contest is not None:
            return self._contest.in_force
        if self.policy == HEEB and self._heeb is None:
            return "LFU"
        return self.policy

    @property
    def family(self) -> int:
        """The number of the family of the law in force; that of `auto`, if none is."""
        if self.in_force != HEEB or self._fitter is None or self._fitter.fit is None:
            return FAMILIES.index("auto")
        return FAMILIES.index(self._fitter.fit.family)

    def facts(self) -> dict[str, Any]:
        """Tell the policy in force, since when, its rivals' hit rates of late, and the law."""
        found: dict[str, Any] = {"policy": self.in_force, "budget": self.budget, "held": len(self)}
        if self._contest is not None:
            found |= self._contest.facts()
        if self._fitter is not None:
            found["law"] = self._fitter.facts()
            found["law_in_force"] = self.in_force == HEEB
        if self.fit is not None:
            found["alpha"] = round(self._alpha(self.fit), 4)
        return found

    def arrays(self) -> Arrays:
        """Give everything that decides what comes next."""
        found: Arrays = {
            "numbers": np.array([getattr(self, name) for name in NUMBERS], dtype=np.int64),
        }
        found |= {f"main.{part}": array for part, array in self._main.arrays().items()}
        if self._fitter is not None:
            found |= {f"fit.{part}": array for part, array in self._fitter.arrays().items()}
        if self._contest is not None:
            found |= {f"contest.{part}": array for part, array in self._contest.arrays().items()}
        return found

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what `arrays` gave, as the same cache would."""
        for name, number in zip(NUMBERS, arrays["numbers"].tolist(), strict=True):
            setattr(self, name, number)
        if self._fitter is not None:
            self._fitter.restore(part_of(arrays, "fit."))
            self._heeb = None if self._fitter.fit is None else self._policy(self._fitter.fit)
        if self._contest is not None:
            kept = part_of(arrays, "contest.")
            self._contest.restore_choice(kept)
            self._apply()
            if self._heeb is not None:
                self._contest.miniatures[HEEB].replace(self._heeb)
            self._contest.restore_miniatures(kept)
        elif self._heeb is not None:
            self._replace(self._heeb)
        self._main.restore(part_of(arrays, "main."))
