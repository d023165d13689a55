"""A view that takes turns until it is killed: `python -m tests.support.view_victim ADDRESS`.

What a turn brings and flushes follows from its number, so whoever finds the store afterwards knows
what must be in it. It says the number of every turn that has returned.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Collection
from dataclasses import replace
from functools import partial

from penstock.algebra.views import StoreDialect, ViewDefinition
from penstock.views.protocol import ViewStore
from penstock.views.stores import open_store
from penstock.vocabulary.batches import Ints
from tests.oracle.views import Change, ViewTwin, as_changes
from tests.support.view_turns import grouped

KEYS = 4


def definition(dialect: StoreDialect) -> ViewDefinition:
    """Give the view that is killed."""
    return replace(grouped("min", "sum", "count_distinct"), dialect=dialect)


def brought(number: int) -> dict[int, list[Change]]:
    """Give what a turn brings: rows that come, and those that came three turns before and go."""
    found: dict[int, list[Change]] = {0: [], 1: []}
    for each, weight in ((number, 1), (number - 3, -1)):
        if each > 0:
            chance = random.Random(each)
            found[0] += [
                ((chance.randrange(KEYS), chance.randrange(8) / 4), weight) for _ in range(20)
            ]
            if each % 2:
                found[1].append(((chance.randrange(KEYS), chance.choice("abc")), weight))
    return found


def flushed(number: int) -> list[int]:
    """Give what a turn flushes."""
    return [each for each in (0, 1) if random.Random(-number).random() < 0.6]


def take(store: ViewStore, number: int) -> None:
    """Take a turn."""
    tables = {
        each: as_changes(store.definition.inputs[each], own)
        for each, own in brought(number).items()
        if own
    }
    store.turn(number, tables, partial(_chosen, number))


def _chosen(number: int, pending: Ints, memo: str) -> tuple[Collection[int], str]:
    assert len(pending) == len(memo.split()) or number == 1
    return flushed(number), f"turn {number}"


def twin(store: ViewStore) -> ViewTwin:
    """Give what must be in a store, by the turns that it has taken."""
    found = ViewTwin(store.definition)
    for number in range(1, store.taken() + 1):
        found.take(brought(number), flushed(number))
    return found


def main(address: str) -> None:
    """Take turns for ever; the one that was on its way first."""
    dialect: StoreDialect = "postgresql" if "://" in address else "duckdb"
    store = open_store(definition(dialect), address)
    store.create()
    number = max(1, store.taken())
    while True:
        take(store, number)
        print(number, flush=True)
        number += 1


if __name__ == "__main__":
    main(sys.argv[1])
