"""Steering: which policy a bounded join runs under, refitted while its streams run.

At ticks that are known beforehand every stream's law is fitted again, the weighting follows how
long rows are really kept, and the cache goes on under new tables if that changes anything that
matters. Where all laws are to be found, HEEB must hold its own in a contest: streams that no law
fits are kept by another policy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.algebra.memories import FAMILIES, Memory
from penstock.kernels.bounded_victims import SCANNED
from penstock.kernels.law_fits import COUNTS
from penstock.operators.bounded.caches import EVERY_OTHER, Fed, JoinCache
from penstock.operators.bounded.contests import part_of
from penstock.operators.bounded.control_charts import Charts
from penstock.operators.bounded.fitted_laws import Arrays
from penstock.operators.bounded.law_fits import Fitter, LawFit
from penstock.operators.bounded.law_policies import FittedHeeb, Windows
from penstock.operators.bounded.laws_markov import RandomWalk
from penstock.operators.bounded.laws_noise import Gaussian
from penstock.operators.bounded.policies import CompiledPolicy, Policy
from penstock.operators.bounded.policy_contests import HEEB, ContestArrivals, JoinContest
from penstock.operators.bounded.policy_demands import (
    RESIDENCE_MIN,
    by_law_policy,
    declared_alpha,
    expected_alpha,
    general_policy,
    is_by_law,
    lifetime_of,
)
from penstock.operators.bounded.weightings import Exponential, alpha_of
from penstock.vocabulary.batches import Flags, Ints

NEARBY = RandomWalk(drift=0.0, step=Gaussian(sigma=1000.0))
"""Where nothing is known: keys near the last one, be they close together or far apart."""
NEARBY_ALPHA = 16.0
NEVER = int(np.iinfo(np.int64).max)
FIRST = 12
"""The tick of the first steering; from there on the distance doubles up to the longest."""
STEPS = (4, 4096)
"""The shortest and the longest distance of steerings, in ticks."""
FEW = 512
"""The largest budget whose streams are watched from row to row: it must see changes in time."""
GROWTH = 1 / 12
"""The share of what is known after which it is steered again, unless a chart rings before."""
WATCHED, UNWATCHED = 2048, 512
"""The longest distance of steerings where streams are watched, and the least where they are not."""
MEMORY = 200.0
"""Rows that left, of which the mean residence is that of the newest."""
SCANNED_MAX = 2_000
"""Rows of which all may be scored at every decision, if AUTO finds that worth while."""
GONE_LEAST = 50
"""Rows that must have left before their residence counts."""
RETUNED = 0.2
"""A weighting is changed when it should differ by such a share."""
RESIZED = 0.25
"""Windows, counted in ticks, are changed when they should differ by such a share."""


class Steering:
    """The laws, the weighting and the policy of one bounded join.

    Parameters
    ----------
    memory
        Budget, policy, laws and options, as declared.
    numeric
        Whether keys can be counted with.
    budget
        Rows that the cache may hold: its shard's share.
    windows
        The window of each stream in its own measure; None: no window.
    joins
        `joins[a, b]`: whether rows of stream a join with rows of stream b.
    contested
        Whether HEEB whose laws are to be found must hold its own against other policies.
    """

    def __init__(
        self, memory: Memory, *, numeric: bool, budget: int, windows: Windows = (None, None),
        joins: Flags = EVERY_OTHER, contested: bool = True,
    ) -> None:  # fmt: skip
        assert len(joins) == len(windows)
        self._memory = memory
        self._numeric = numeric
        self._budget = budget
        self._windowed = any(window is not None for window in windows)
        self._windows: Windows = tuple(None for _ in windows)
        laws = memory.laws
        if len(laws) == 1:
            laws *= len(windows)
        self._by_law = is_by_law(memory)
        self._declared = any(law.family != "auto" for law in laws)
        self._fitters = tuple(
            Fitter(law, numeric=numeric, scans=budget <= SCANNED_MAX) for law in laws
        )
        self._fixed_alpha = declared_alpha(memory)
        self._alpha = self._fixed_alpha or float(budget)
        self._residence = 0.0
        self._gone = np.zeros(2, dtype=np.int64)
        self._young = False
        self._charts = Charts(self._fitters) if budget <= FEW else None
        self._rung = False
        self._step = int(memory.options.get("refit_every", distance_of(budget)))
        self.next = self._refit_at = FIRST if self._by_law else NEVER
        self._policy = self._chosen() or self._first()
        self._contest: JoinContest | None = None
        if contested and memory.policy == HEEB and not self._declared:
            self._contest = JoinContest(
                memory, self._policy, numeric=numeric, budget=budget, windows=windows, joins=joins
            )

    def policy(self) -> Policy:
        """Give the policy in force."""
        return self._policy if self._contest is None else self._contest.policy(self._policy)

    def rejoin(self, cache: JoinCache, joins: Flags) -> None:
        """Let other streams join each other from the next tick on."""
        cache.rejoin(joins)
        if self._contest is not None:
            self._contest.rejoin(joins)

    def observe(self, streams: Ints, keys: Ints, ticks: Ints) -> int:
        """See arrivals before the next steering, or to the first tick that asks for one.

        Gives how many were seen.
        """
        if self.next == NEVER:
            return len(ticks)
        seen = len(ticks)
        rung = None if self._charts is None else self._charts.watch(streams, keys, ticks)
        if rung is not None:
            self._rung, self.next, self._refit_at = True, rung + 1, rung + 1
            seen = int(np.searchsorted(ticks, self.next))
        for stream, fitter in enumerate(self._fitters):
            own = streams[:seen] == stream
            fitter.observe(ticks[:seen][own], keys[:seen][own])
        return seen

    def feed(
        self, cache: JoinCache, streams: Ints, keys: Ints, ticks: Ints, *,
        stamps: Ints | None = None, nows: Ints | None = None, owned: Flags | None = None,
        emit: bool = False,
    ) -> Iterator[tuple[slice, Fed]]:  # fmt: skip
        """Feed arrivals to the cache, steering it when it is time; give part after part."""
        arrivals = ContestArrivals.of(streams, keys, ticks, stamps, nows, owned, len(self._fitters))
        streams, keys, ticks = arrivals[:3]
        at = shown = 0
        while at < len(ticks):
            while ticks[at] >= self.next:
                due, contest = self.next, self._contest
                if contest is not None and (contest.is_resting or contest.is_due(due)):
                    contest.watch_lawless(arrivals.at(slice(shown, at)))
                    shown = at
                self.steer(cache, due)
                assert self.next > due
            until = int(np.searchsorted(ticks, self.next))
            until = at + self.observe(streams[at:until], keys[at:until], ticks[at:until])
            part = slice(at, until)
            own = arrivals.at(part)
            fed = cache.feed(
                own.streams, own.keys, own.ticks, stamps=own.stamps, nows=own.nows,
                owned=own.owned, emit=emit,
            )  # fmt: skip
            if self._contest is not None:
                self._contest.watch_heeb(own, int(fed.made.sum()))
            at = until
            yield part, fed
        if self._contest is not None:
            self._contest.watch_lawless(arrivals.at(slice(shown, at)))

    def show(self, arrivals: ContestArrivals, made: int) -> None:
        """Let the candidates of the contest see arrivals that another cache than `feed`'s took."""
        if self._contest is not None:
            self._contest.watch_heeb(arrivals, made)
            self._contest.watch_lawless(arrivals)

    def steer(self, cache: JoinCache, now: int) -> None:
        """Fit again, from all arrivals before a tick; let the cache go on under what fits."""
        assert now >= self.next
        if now >= self._refit_at:
            self._renew(cache, now)
        self.next = self._refit_at
        contest = self._contest
        if contest is None:
            return
        if contest.is_due(now):
            contest.choose(cache, now, self._policy, self._recent())
        self.next = min(self.next, contest.latest)

    def _renew(self, cache: JoinCache, now: int) -> None:
        """Fit again; let HEEB go on under what fits."""
        before = [self._young, *(fitter.since for fitter in self._fitters)]
        changed = [fitter.refit(now, rung=self._rung) for fitter in self._fitters]
        self._rung = False
        self._refit_at = now + self._distance(now)
        self._young = any(fitter.is_young for fitter in self._fitters)
        begun_anew = before != [self._young, *(fitter.since for fitter in self._fitters)]
        changed.append(begun_anew)
        contest = self._contest
        if begun_anew and contest is not None:
            contest.wake(now)
        if self._charts is not None:
            self._charts.settle()
        changed.append(self._follow_windows(cache))
        self._watch(cache if contest is None or contest.is_heeb else contest.heeb)
        wanted = self._wanted_alpha()
        if abs(wanted - self._alpha) > RETUNED * self._alpha:
            self._alpha = wanted
            changed.append(True)
        if not any(changed):
            return
        if any(fitter.fit is None for fitter in self._fitters):
            return
        policy: Policy | None = self._chosen()
        seen = None
        if policy is None:
            if not (begun_anew or isinstance(self._policy, FittedHeeb)):
                return
            policy, seen = self._general(), self._recent()
        self._policy = policy
        if self._contest is not None and not self._contest.is_heeb:
            self._contest.heeb.replace(policy, seen)
        if self.policy() is policy:
            cache.replace(policy, seen)

    def _distance(self, now: int) -> int:
        """Give the ticks to the next steering: the more is known, the less the next tick tells."""
        if self._charts is None:
            return min(max(now, FIRST), self._step)
        age = now - max(fitter.first for fitter in self._fitters)
        return min(max(int(GROWTH * age), STEPS[0]), self._step)

    def _first(self) -> Policy:
        """Give the policy for as long as no law is known of some stream.

        Of numbers nearly every stream likes those near its last one; of names, those that came.
        """
        unknown = any(fitter.fit is None for fitter in self._fitters)
        if not (unknown and self._numeric and self._memory.policy == "HEEB"):
            return self._general()
        count = len(self._fitters)
        return FittedHeeb(
            laws=(NEARBY,) * count, weighting=Exponential(NEARBY_ALPHA), rates=(1.0,) * count
        )

    def _general(self) -> Policy:
        return general_policy(self._memory, self._budget, len(self._fitters))

    def _recent(self) -> tuple[Ints, Ints]:
        """Give what came since the streams are what they are, for counts to begin with."""
        # Counting the old nature of one stream beside the new one of another would mislead.
        since = min((each.since for each in self._fitters if each.is_young), default=0)
        keys = [fitter.recent(since) for fitter in self._fitters]
        streams = np.repeat(np.arange(len(keys)), [len(each) for each in keys])
        return streams, np.concatenate(keys)

    def _chosen(self) -> CompiledPolicy | None:
        """Give the policy with what fits, None where a general one is as good."""
        fits = [fitter.fit for fitter in self._fitters if fitter.fit is not None]
        if not self._by_law or len(fits) < len(self._fitters):
            return None
        if self._young and self._memory.policy == "HEEB":
            # When one stream has changed the other may have, too: what came since is counted.
            return None
        if self._memory.policy == "HEEB" and all(fit.fitted.kind == COUNTS for fit in fits):
            return None
        laws, rates = [fit.law for fit in fits], [fit.rate for fit in fits]
        found = by_law_policy(self._memory, laws, rates, self._windows, self._alpha)
        # The least sum over several partners is found by a look at all rows.
        slow = len(fits) > 2 and self._budget > SCANNED_MAX and not self._declared
        return None if found is None or (slow and found.rule().mode == SCANNED) else found

    def _follow_windows(self, cache: JoinCache) -> bool:
        """Look how long windows are in ticks; say whether that changed."""
        if not self._windowed:
            return False
        windows = cache.window_ticks()
        for old, new in zip(self._windows, windows, strict=True):
            if (old is None) != (new is None) or (
                old is not None and new is not None and abs(new - old) > RESIZED * old
            ):
                self._windows = windows
                return True
        return False

    def _watch(self, cache: JoinCache) -> None:
        """Follow how long rows stay that were admitted."""
        account = cache.account
        left, stayed = account.left - int(self._gone[0]), account.stayed - int(self._gone[1])
        if left > 0:
            share = 1.0 if self._residence == 0.0 else -math.expm1(-left / MEMORY)
            self._residence += share * (stayed / left - self._residence)
            self._gone[:] = account.left, account.stayed

    def _wanted_alpha(self) -> float:
        """Give the alpha that predicts how long rows stay, once enough of them have gone."""
        fits = [fitter.fit for fitter in self._fitters if fitter.fit is not None]
        if self._fixed_alpha is not None or len(fits) < len(self._fitters):
            return self._alpha
        laws = [fit.law for fit in fits]
        moving = all(lifetime_of(law) is not None for law in laws)
        if moving and self._gone[0] >= GONE_LEAST:
            return alpha_of(
                max(min(self._residence, self._budget / len(self._fitters)), RESIDENCE_MIN)
            )
        return expected_alpha(laws, self._budget)

    @property
    def fits(self) -> tuple[LawFit | None, ...]:
        """Every stream's law as it is known now; None where nothing is."""
        return tuple(fitter.fit for fitter in self._fitters)

    @property
    def families(self) -> tuple[int, ...]:
        """The families in force, as places in `FAMILIES`; `auto` where none is yet."""
        return tuple(
            FAMILIES.index(fitter.fit.family if fitter.fit else "auto") for fitter in self._fitters
        )

    def facts(self) -> dict[str, Any]:
        """Tell the policy, its weighting, and every stream's law with its fit."""
        is_by_law = isinstance(self._policy, FittedHeeb)
        found: dict[str, Any] = {
            "policy": self._policy.name,
            "streams": [fitter.facts() for fitter in self._fitters],
        }
        if is_by_law:
            found["alpha"] = round(self._alpha, 4)
        if self._contest is not None:
            found["contest"] = self._contest.facts()
        if misfits := [each for each in map(Fitter.misfit, self._fitters) if each is not None]:
            found["misfits"] = misfits
        if self._residence > 0.0:
            found["mean_residence_ticks"] = round(self._residence, 3)
        return found

    def arrays(self) -> Arrays:
        """Give everything that decides what comes next."""
        windows = [math.nan if window is None else window for window in self._windows]
        found: Arrays = {
            "steering_next": np.array([self.next, self._refit_at, *self._gone], dtype=np.int64),
            "steering_flags": np.array([self._young, self._rung]),
            "steering_numbers": np.array([self._alpha, self._residence, *windows]),
        }
        if self._charts is not None:
            found["charts"] = self._charts.arrays()
        for stream, fitter in enumerate(self._fitters):
            found |= {f"stream{stream}_{name}": each for name, each in fitter.arrays().items()}
        if self._contest is not None:
            found |= {f"contest_{name}": each for name, each in self._contest.arrays().items()}
        return found

    def restore(self, arrays: Arrays) -> None:
        """Go on from what `arrays` gave."""
        self.next, self._refit_at = arrays["steering_next"][:2].tolist()
        self._gone = np.array(arrays["steering_next"][2:], dtype=np.int64)
        self._young, self._rung = arrays["steering_flags"].tolist()
        self._alpha, self._residence, *windows = arrays["steering_numbers"].tolist()
        self._windows = tuple(None if math.isnan(window) else window for window in windows)
        for stream, fitter in enumerate(self._fitters):
            fitter.restore(part_of(arrays, f"stream{stream}_"))
        if self._charts is not None and "charts" in arrays:
            self._charts.restore(arrays["charts"])
        self._policy = self._chosen() or self._first()
        if self._contest is not None:
            kept = part_of(arrays, "contest_")
            self._contest.restore_choice(kept)
            self._contest.heeb.replace(self._policy)
            self._contest.restore_miniatures(kept)


def distance_of(budget: int) -> int:
    """Give the ticks between steerings, of a budget of rows.

    After a change of nature five per row must do: to find it, and to fill the cache anew.

    >>> [distance_of(budget) for budget in (5, 100, 1_000, 100_000)]
    [2048, 2048, 1000, 4096]
    """
    return WATCHED if budget <= FEW else min(max(budget, UNWATCHED), STEPS[1])
