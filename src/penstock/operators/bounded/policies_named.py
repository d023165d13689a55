"""Policies by name: those that are built in, and everybody's, each in a file of its own.

`USING MRU` is the class of that name in the module `penstock_policies.mru`, wherever on the Python
path it is. All that a policy needs stands there: the language lists the files, a cache is made with
what is in them. Such a policy is tried out before a query stands on it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np

from penstock.algebra.memories import OWN_POLICIES, Memory
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.lookups_caches import MODES as LOOKUP_MODES
from penstock.operators.bounded.lookups_caches import LookupCache
from penstock.operators.bounded.policies import (
    MODES,
    Arrays,
    CompiledPolicy,
    Policy,
    SteppedPolicy,
)
from penstock.operators.bounded.policies_baselines import Lfu, LifePast, Lru, ProbPast, Rand
from penstock.operators.bounded.policies_hist import Hist
from penstock.operators.bounded.policies_plain import SteppedLookup
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.errors import PenstockError

BUILT_IN: dict[str, type[Policy]] = {
    "HIST": Hist,
    "PROB": ProbPast,
    "LIFE": LifePast,
    "RAND": Rand,
    "LRU": Lru,
    "LFU": Lfu,
}
"""Policies that need no law; those with one are steered: see `steering` and `lookups`."""
TRIAL_ROWS, TRIAL_TICKS, TRIAL_KEYS = 8, 60, 12
"""The budget under which a policy is tried out, how long, and with how many keys."""


def policy_of(memory: Memory, name: str, *, budget: int, streams: int) -> Policy:
    """Make the policy of a name for one cache: of so many streams that join, or of a lookup's.

    >>> policy_of(Memory(rows=9, options={"seed": 4}), "RAND", budget=9, streams=1)
    Rand(seed=4, passing=())
    """
    return policy_class(name).of(memory, budget=budget, streams=streams)


def policy_class(name: str) -> type[Policy]:
    """Find the policy that is called so."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    module, file = f"{OWN_POLICIES}.{name.lower()}", f"{OWN_POLICIES}/{name.lower()}.py"
    try:
        found = vars(importlib.import_module(module)).values()
    except Exception as error:
        raise PenstockError(
            "ENG-044",
            f"The policy {name} cannot be taken from {file}: {_said(error)}.",
            "Bring the file onto the Python path of this process and of Spark's workers, by "
            "PYTHONPATH or in a package that is installed; it must be one that can be imported.",
        ) from error
    for each in found:
        if (
            isinstance(each, type)
            and issubclass(each, CompiledPolicy | SteppedPolicy)
            and vars(each).get("name") == name
        ):
            return each
    raise PenstockError(
        "ENG-044",
        f"{file} defines no policy {name}.",
        f'Write there: class {name.title()}(ScoredPolicy): name = "{name}".',
    )


def policy_note(name: str, streams: int) -> str | None:
    """Say for EXPLAIN where a policy comes from; None if it is built in."""
    if name == "HEEB" or name in BUILT_IN:
        return None
    file = f"{OWN_POLICIES}/{name.lower()}.py"
    if issubclass(policy_class(name), CompiledPolicy):
        return f"{file}, compiled"
    asked = "miss" if streams == 1 else "tick"
    return f"{file}, in Python: slow, as every {asked} asks it about all rows held"


def check_policy(memory: Memory, streams: int) -> None:
    """Refuse a policy that is not there, or that no cache could go by."""
    name = memory.policy
    if name == "HEEB" or name in BUILT_IN:
        return

    def make() -> Policy:
        return policy_of(memory, name, budget=TRIAL_ROWS, streams=streams)

    try:
        policy = make()
        if isinstance(policy, CompiledPolicy):
            _check_rule(policy, streams)
        _try_out(name, make, streams)
    except PenstockError:
        raise
    except Exception as error:
        raise PenstockError(
            "ENG-045",
            f"{name} was tried out, and failed: {_said(error)}.",
            f"Repair {OWN_POLICIES}/{name.lower()}.py, and start again: it is imported once.",
        ) from error


def _said(error: Exception) -> str:
    text = (str(error).splitlines() or [""])[0].rstrip(".")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _check_rule(policy: CompiledPolicy, streams: int) -> None:
    rule = policy.rule()
    modes = LOOKUP_MODES if streams == 1 else MODES
    if len(rule.tables) not in (0, streams) or rule.mode not in modes:
        what = "a lookup" if streams == 1 else "a join"
        raise PenstockError(
            "ENG-045",
            f"The rule of {policy.name} has mode {rule.mode} and {len(rule.tables)} tables: {what} "
            f"cannot go by it.",
            f"Give one table for every stream, of which {what} has {streams}, or none; lookups "
            f"have no mode but SCANNED, EXTREMES, RANKED, COUNTED, RANDOM and RECENT.",
        )


def _try_out(name: str, make: Callable[[], Policy], streams: int) -> None:
    """Let copies of a policy take the same rows, one of them after a restart."""
    rng = np.random.default_rng(streams)
    keys = rng.integers(0, TRIAL_KEYS, streams * TRIAL_TICKS)
    cut = len(keys) // (2 * streams) * streams
    live, other, restored = (_trial(make(), streams) for _ in range(3))
    for cache in (live, other):
        _feed(cache, keys[:cut], streams)
    if not _same(live.arrays(), other.arrays()):
        raise _unlike(name, "two copies that see the same rows hold others")
    restored.restore(live.arrays())
    for cache in (live, restored):
        _feed(cache, keys[cut:], streams)
    if not _same(live.arrays(), restored.arrays()):
        raise _unlike(name, "after a restart it holds other rows than without one")


def _unlike(name: str, fact: str) -> PenstockError:
    return PenstockError(
        "ENG-045",
        f"{name} does not depend on what it was shown alone: {fact}.",
        "Take chance from the seed, and time from the ticks; let `arrays` give all that it "
        "remembers of the past, and `restore` take it.",
    )


def _same(one: Arrays, other: Arrays) -> bool:
    return one.keys() == other.keys() and all(
        (array.dtype, array.shape, array.tobytes())
        == (other[name].dtype, other[name].shape, other[name].tobytes())
        for name, array in one.items()
    )


def _trial(policy: Policy, streams: int) -> JoinCache | LookupCache | SteppedLookup:
    """Give a small cache under a policy."""
    if streams > 1:
        return JoinCache(TRIAL_ROWS, policy, joins=~np.eye(streams, dtype=np.bool_))
    if isinstance(policy, CompiledPolicy):
        return LookupCache(TRIAL_ROWS, policy)
    assert isinstance(policy, SteppedPolicy)
    return SteppedLookup(TRIAL_ROWS, policy)


def _feed(cache: JoinCache | LookupCache | SteppedLookup, keys: Ints, streams: int) -> None:
    if not isinstance(cache, JoinCache):
        cache.trace(keys)
        return
    numbers = cache.arrivals + np.arange(len(keys))
    cache.feed(numbers % streams, keys, numbers // streams)
