"""Budgets: joins and lookups that may hold so many rows, what they hold, and what they miss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock.algebra.catalog import ATTENDANTS
from penstock.algebra.memories import FAMILIES, Family, Memory
from penstock.delivery.log import ResultLog
from penstock.engine.subscription_blocks import bind_blocks, by_text
from penstock.kinds.protocol import COOLDOWN_S
from penstock.kinds.table import kind_of
from penstock.operators.catalogue import figures_of
from penstock.registry.store import Registry
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figure_tables import FigureTable, merged, together
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import LAW

BATCHES_TOLD = 1_000
"""Before the first batch of a run, so many batches of runs before tell what budgets bring."""

LIVE = ("contest", "misfits", "alpha", "mean_residence_ticks", "cache", "breaker",
        "last_failure", "broken_keys")  # fmt: skip
"""What EXPLAIN shows of that which only a live operator knows."""

Facts = Callable[[str], dict[str, Any]]
"""`(group)`: what the group's live operator knows; nothing where it cannot be asked."""


def memory_of(described: Mapping[str, Any]) -> Memory | None:
    """Give the budget of a step as the registry describes it, if it has one."""
    return None if described["kind"] in ATTENDANTS else kind_of(described).memory(described)


def refuse_small_budgets(steps: Iterable[Mapping[str, Any]], shards: int) -> None:
    """Refuse budgets that would leave a shard without a row."""
    for described in steps:
        memory = memory_of(described)
        if memory is not None and memory.rows < shards:
            clause = kind_of(described).budget_word
            rows = "1 ROW" if memory.rows == 1 else f"{memory.rows} ROWS"
            raise PenstockError(
                "ENG-040",
                f"{clause} {rows} cannot be split among {shards} shards: each holds one at least.",
                f"Give {shards} rows or more, or run with fewer shards.",
            )


def cooldown_s(steps: Iterable[Mapping[str, Any]]) -> float:
    """Give the shortest time after which a database that did not answer may be asked again."""
    of_queries = (described for described in steps if described["kind"] not in ATTENDANTS)
    told = (kind_of(described).cooldown_s(described) for described in of_queries)
    return min((each for each in told if each is not None), default=COOLDOWN_S)


def family_words(declared: Family, in_force: Family) -> str:
    """Name the law in force; one that was declared and is not found yet says so.

    >>> family_words("auto", "ar1"), family_words("ar1", "auto")
    ('ar1', 'ar1, not fitted')
    """
    return f"{declared}, not fitted" if in_force == "auto" != declared else in_force


def no_facts(_group: str) -> dict[str, Any]:
    """Ask nobody."""
    return {}


def run_facts(memory: Mapping[str, Mapping[str, Any]], group: str) -> dict[str, Any]:
    """Give what EXPLAIN says of a group's budget in this run; nothing before the first batch."""
    own = next((each for each in memory.values() if each["group"] == group), None)
    if own is None or own["share_used"] is None:
        return {}
    left_out = {"group", "policy", "facts"}
    found = {name: value for name, value in own.items() if name not in left_out}
    live = own["facts"]
    return found | {name: live[name] for name in LIVE if live.get(name) not in (None, [], {})}


class Budgets:
    """What the budgets of a home's subscriptions hold."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._kept: tuple[int, FigureTable] = -1, FigureTable()
        self._names: dict[tuple[str, str], tuple[str, ...]] = {}

    @property
    def groups(self) -> dict[str, Memory]:
        """The groups that have a budget, and the budgets."""
        found = {}
        for record in list(self._registry.subscriptions.values()):
            memory = memory_of(self._registry.steps[record.group])
            if memory is not None:
                found[record.group] = memory
        return found

    def kept(self, log: ResultLog) -> FigureTable:
        """Give what groups met in the last batches of runs before, and what stood after them."""
        newest = log.newest()
        if newest != self._kept[0]:
            first = max(newest - BATCHES_TOLD + 1, 0)
            batches = range(first, newest + 1)
            told = [each for batch in batches for each in log.figures(batch, figures_of)]
            # A shard without rows in a batch says nothing, and still holds what it held.
            by_shard = {shard: figures.of_kind("gauge") for shard, figures in told}
            met = together(figures.of_kind("counter") for _, figures in told)
            self._kept = newest, met.then(merged(by_shard.values()))
        return self._kept[1]

    def figures(self, table: FigureTable, facts: Facts) -> dict[str, dict[str, Any]]:
        """Say of every subscription with a budget what it holds, finds and misses."""
        found: dict[str, dict[str, Any]] = {}
        groups = self.groups
        known = {g: self._known(g, memory, table[g], facts) for g, memory in groups.items()}
        for name, record in list(self._registry.subscriptions.items()):
            if record.group in groups:
                found[name] = self._named(name, known[record.group])
        return found

    def _known(self, group: str, memory: Memory, told: Tally, facts: Facts) -> dict[str, Any]:
        kind = kind_of(self._registry.steps[group])
        live = facts(group)
        return {
            "group": group,
            "policy": memory.policy,
            "budget": memory.rows,
            **kind.budget_figures(told),
            "based_on": kind.based_on(memory, live),
            "laws": [
                family_words(law.family, FAMILIES[told[LAW, number]])
                for number, law in enumerate(memory.laws)
            ],
            "facts": live,
        }

    def _named(self, name: str, known: dict[str, Any]) -> dict[str, Any]:
        """Call the sides as the text does."""
        names = self._inputs(name)
        found = dict(known)
        if len(names) == len(known["laws"]):
            held = known["held"]
            found["held"] = {each: held.get(number, 0) for number, each in enumerate(names)}
            found["laws"] = dict(zip(names, known["laws"], strict=True))
            if fits := known["facts"].get("streams"):
                found["fits"] = dict(zip(names, fits, strict=True))
        else:
            found["held"] = {"rows": sum(known["held"].values())}
            found["laws"] = {names[0]: known["laws"][0]} if names else {}
        return found

    def _inputs(self, name: str) -> tuple[str, ...]:
        """Give the names of the streams that laws are about."""
        record = self._registry.subscriptions[name]
        key = (name, record.sql)
        if key not in self._names:
            blocks = self._registry.blocks[name]
            if not blocks:
                return ()
            logical = bind_blocks(self._registry.catalog, by_text(blocks)[-1])
            kind = kind_of(self._registry.steps[record.group])
            self._names[key] = kind.by_law(logical)
        return self._names[key]
