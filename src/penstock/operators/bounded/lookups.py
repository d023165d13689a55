"""Lookup caches that choose their policy: HEEB where a model of the keys pays, else a general one.

Every candidate runs a miniature of the cache on a slice of the keys, always the same keys, with
the budget scaled down alike; a small budget needs no slice. The policy whose miniature had clearly
more hits of late takes over; rows and what is remembered of keys stay. All is a function of the
references' order alone, however they are batched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.algebra.memories import FAMILIES, Memory
from penstock.kernels.bounding_victims import COUNTED
from penstock.kernels.fitting import COUNTS
from penstock.kernels.looking_up import FADING, keys_slice
from penstock.operators.bounded.fitting import Fit, Fitter
from penstock.operators.bounded.fitting_policies import FittedHeeb
from penstock.operators.bounded.fitting_spaced import Spaced
from penstock.operators.bounded.lookups_caches import FadingLfu, LookupCache
from penstock.operators.bounded.lookups_choosing import Choice
from penstock.operators.bounded.models import Ints
from penstock.operators.bounded.models_independent import LinearTrend
from penstock.operators.bounded.policies import CompiledPolicy, SteppedPolicy
from penstock.operators.bounded.policies_baselines import Lfu, Lru
from penstock.operators.bounded.policies_named import policy_of
from penstock.operators.bounded.policies_stepping import SteppedLookup
from penstock.operators.bounded.weightings import Exponential, alpha_of
from penstock.vocabulary.batches import Flags

Arrays = dict[str, npt.NDArray[Any]]

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
"""Rows of which all may be scored at a miss, if the model asks for it: a fetch takes longer."""
PERIOD_FIRST, PERIOD_LEAST, PERIOD_FIRST_UNTIL = 64, 256, 1024
"""References from choice to choice: half the budget, but no fewer; to begin with, more often."""
MEMORY_BUDGETS, MEMORY_LEAST = 16, 4096
"""What the choice remembers: so many references per row of the budget, but no fewer."""
REFIT_FIRST, REFIT_EVERY = 64, 1024
"""References until the model is fitted first, then twice as many, at last every so many."""
RESIDENCE_LEAST = 1.05
FAR = 1 << 62
NUMBERS = ("_now", "_since", "_switches", "_wait", "_refit_at", "_settle_at")
"""What a cache counts."""


class AutoLookup:
    """A cache of a stored relation's rows, one per key, never more than `budget`.

    Parameters
    ----------
    memory
        Policy, model and options. HEEB with a model that is declared is in force as soon as its
        parameters are known; with `AUTO` the best policy of late is; others are taken at their
        word.
    numeric
        Whether keys can be counted with.
    budget
        Rows; the whole of the memory's, if not given. If less, other caches hold the rest: each is
        shown all references, and owns its part of the keys.
    """

    __slots__ = (
        "_choice", "_fitter", "_found", "_heeb", "_main", "_miniatures", "_now", "_options",
        "_refit_at", "_rows", "_settle_at", "_since", "_slice_bits", "_switches", "_wait", "budget",
        "policy",
    )  # fmt: skip

    def __init__(self, memory: Memory, *, numeric: bool, budget: int | None = None) -> None:
        self.budget = memory.rows if budget is None else budget
        self.policy = memory.policy
        self._rows = memory.rows
        self._options = memory.options
        (model,) = memory.models
        chosen = memory.policy == HEEB and model.family == "auto"
        modelled = memory.policy == HEEB and (numeric or not chosen)
        self._fitter = (
            Fitter(model, numeric=numeric, scans=self.budget <= SCANNED_MAX) if modelled else None
        )
        self._heeb: CompiledPolicy | None = None
        self._now, self._since, self._switches = 0, 0, 0
        self._found: Ints = np.zeros(1, dtype=np.int64)
        self._wait = REFIT_FIRST
        self._refit_at = REFIT_FIRST
        self._settle_at = self._period
        self._slice_bits = 0
        while self.budget >> self._slice_bits > MINIATURE_ROWS:
            self._slice_bits += 1
        self._choice: Choice | None = None
        names: tuple[str, ...] = ()
        if chosen:
            names = (*GENERAL, HEEB) if numeric else tuple(GENERAL)
            memory_references = max(MEMORY_BUDGETS * self.budget, MEMORY_LEAST)
            self._choice = Choice(names, memory=memory_references / 2**self._slice_bits)
            self._found = np.zeros(len(names) + 1, dtype=np.int64)
        self._main: LookupCache | SteppedLookup = self._first(memory)
        self._miniatures = tuple(
            self._cache(GENERAL.get(name, GENERAL["LFU"]), bits=self._slice_bits) for name in names
        )
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
            half_life=float(HALF_LIFE_BUDGETS * self._rows) if self._choice is not None else 0.0,
        )

    @property
    def fit(self) -> Fit | None:
        """The fit of the stream's model, if one is asked for and there is one."""
        return None if self._fitter is None else self._fitter.fit

    def feed(self, keys: Ints) -> Flags:
        """Look keys up one after another; say which were held."""
        return self.trace(keys)[0]

    def trace(self, keys: Ints, owned: Flags | None = None) -> tuple[Flags, Ints]:
        """As `feed`; also say which row went at each reference: the number of the one it came at.

        References are numbered from 0 over all calls. The number of the reference itself says that
        its row was not admitted; -1, that none went. Keys that are not `owned` are another cache's:
        they are never held here, and only tell where the stream is.
        """
        keys = np.ascontiguousarray(keys, dtype=np.int64)
        owned = np.ones(len(keys), dtype=np.bool_) if owned is None else owned
        sliced = owned
        if self._slice_bits and self._miniatures:
            sliced = np.empty(len(keys), dtype=np.bool_)
            keys_slice(keys, self._slice_bits, sliced)
            sliced &= owned
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
        settle = FAR if self._choice is None else self._settle_at
        return settle if self._fitter is None else min(settle, self._refit_at)

    def _watch(self, keys: Ints, sliced: Flags) -> None:
        """Let the miniatures and the model see references."""
        if self._fitter is not None:
            self._fitter.observe(np.arange(self._now, self._now + len(keys)), keys)
        for i, each in enumerate(self._miniatures):
            self._found[i] += np.count_nonzero(each.trace(keys, sliced)[0])
        self._found[-1] += np.count_nonzero(sliced)

    def _steer(self) -> None:
        """Fit and choose, if it is time."""
        if self._fitter is not None and self._now == self._refit_at:
            every = int(self._options.get("refit_every", REFIT_EVERY))
            self._wait = min(2 * self._wait, every)
            self._refit_at += self._wait
            if self._fitter.refit(self._now) and self._fitter.fit is not None:
                self._take(self._fitter.fit)
        if self._choice is not None and self._now == self._settle_at:
            self._settle_at += self._period
            self._choice.record(self._found[:-1], int(self._found[-1]))
            self._found[:] = 0
            self._settle()

    def _settle(self) -> None:
        """Put the best policy of late in force."""
        assert self._choice is not None
        able = np.array([name != HEEB or self._heeb is not None for name in self._choice.names])
        if self._choice.settle(able, self._favoured):
            self._since = self._now
            self._switches += 1
            self._apply()

    @property
    def _favoured(self) -> int | None:
        """Keys that move are foretold better than counts can: the fit has shown it."""
        fit = None if self._fitter is None else self._fitter.fit
        if self._choice is None or fit is None or fit.family not in MOVING:
            return None
        return self._choice.names.index(HEEB)

    def _apply(self) -> None:
        """Let the rows be ordered by the policy that was chosen."""
        assert self._choice is not None
        name = self._choice.names[self._choice.chosen]
        if name != HEEB:
            self._replace(GENERAL[name])
        elif self._heeb is not None:
            self._replace(self._heeb)

    def _take(self, fit: Fit) -> None:
        """Take a new model: miniature and cache go on with it, or without, if it says nothing."""
        self._heeb = self._policy(fit)
        if self._choice is None:
            if self._heeb is not None:
                self._replace(self._heeb)
            return
        miniature = self._miniatures[-1]
        if self._heeb is None:
            miniature.replace(GENERAL["LFU"])
            self._settle()
        else:
            miniature.replace(self._heeb)
            if self._choice.names[self._choice.chosen] == HEEB:
                self._replace(self._heeb)

    def _replace(self, policy: CompiledPolicy) -> None:
        """Let the cache go on under another policy."""
        assert isinstance(self._main, LookupCache)
        self._main.replace(policy)

    def _policy(self, fit: Fit) -> CompiledPolicy | None:
        """Give HEEB.

        None where no table can be made, or where a model that was found has nothing but counts,
        which LFU has too.
        """
        if self._choice is not None and fit.law.kind == COUNTS:
            return None
        weighting = Exponential(self._alpha(fit))
        try:
            return FittedHeeb(
                models=(fit.model,), weighting=weighting, rates=(1.0,), windows=(None,),
                caching=True,
            )  # fmt: skip
        except ValueError:
            return None

    def _alpha(self, fit: Fit) -> float:
        """Give what was declared, or the budget; under a trend, the time to pass its noise."""
        if "alpha" in self._options:
            return float(self._options["alpha"])
        if "lifetime" in self._options:
            return alpha_of(float(self._options["lifetime"]))
        model = fit.model.model if isinstance(fit.model, Spaced) else fit.model
        if isinstance(model, LinearTrend) and model.slope != 0.0:
            passing = 2.0 * model.noise.deviation / abs(model.slope)
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
        if self._choice is not None:
            return self._choice.names[self._choice.chosen]
        if self.policy == HEEB and self._heeb is None:
            return "LFU"
        return self.policy

    @property
    def family(self) -> int:
        """The number of the family of the model in force; that of `auto`, if none is."""
        if self.in_force != HEEB or self._fitter is None or self._fitter.fit is None:
            return FAMILIES.index("auto")
        return FAMILIES.index(self._fitter.fit.family)

    def facts(self) -> dict[str, Any]:
        """Tell the policy in force, since when, its rivals' hit rates of late, and the model."""
        found: dict[str, Any] = {"policy": self.in_force, "budget": self.budget, "held": len(self)}
        if self._choice is not None:
            found |= {
                "since": self._since,
                "switches": self._switches,
                "slice": 1 / 2**self._slice_bits,
                "hit_rates": {name: round(rate, 4) for name, rate in self._choice.rates.items()},
            }
        if self._fitter is not None:
            found["model"] = self._fitter.facts()
            found["model_in_force"] = self.in_force == HEEB
        if self.fit is not None:
            found["alpha"] = round(self._alpha(self.fit), 4)
        return found

    def arrays(self) -> Arrays:
        """Give everything that decides what comes next."""
        found: Arrays = {
            "numbers": np.array([getattr(self, name) for name in NUMBERS], dtype=np.int64),
            "found": self._found.copy(),
        }
        for name, cache in self._caches():
            found |= {f"{name}.{part}": array for part, array in cache.arrays().items()}
        if self._fitter is not None:
            found |= {f"fit.{part}": array for part, array in self._fitter.arrays().items()}
        if self._choice is not None:
            found |= {f"choice.{part}": array for part, array in self._choice.arrays().items()}
        return found

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what `arrays` gave, as the same cache would."""
        for name, number in zip(NUMBERS, arrays["numbers"].tolist(), strict=True):
            setattr(self, name, number)
        self._found = np.array(arrays["found"], dtype=np.int64)
        if self._fitter is not None:
            self._fitter.restore(_part(arrays, "fit"))
            self._heeb = None if self._fitter.fit is None else self._policy(self._fitter.fit)
        if self._choice is not None:
            self._choice.restore(_part(arrays, "choice"))
            self._apply()
        if self._heeb is not None:
            if self._choice is None:
                self._replace(self._heeb)
            else:
                self._miniatures[-1].replace(self._heeb)
        for name, cache in self._caches():
            cache.restore(_part(arrays, name))

    def _caches(self) -> Iterator[tuple[str, LookupCache | SteppedLookup]]:
        yield "main", self._main
        for number, miniature in enumerate(self._miniatures):
            yield f"miniature{number}", miniature


def _part(arrays: Mapping[str, npt.NDArray[Any]], name: str) -> Arrays:
    """Give the arrays whose names begin with a name and a dot."""
    begin = f"{name}."
    return {key.removeprefix(begin): each for key, each in arrays.items() if key.startswith(begin)}
