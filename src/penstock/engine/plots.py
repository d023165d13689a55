"""Plots: what a home recorded of a subscription, and what that was told, over time."""

from __future__ import annotations

import numpy as np

from penstock.engine.desk import Desk
from penstock.engine.subscription_blocks import by_text
from penstock.engine.verification import comparison_of, logged_batches
from penstock.kinds.outcomes import SubscriptionOutcome
from penstock.kinds.pictures import Picture, Shown
from penstock.kinds.recorded import RecordedShelf
from penstock.kinds.table import kind_of
from penstock.registry.records import Block
from penstock.vocabulary.errors import PenstockError


def plot(
    desk: Desk, name: str, key: tuple[str, ...], id_: str | None, last_us: int | None
) -> Picture:
    """Give the picture of a subscription, of the newest text that it has had."""
    if not desk.home.facts.get("record"):
        raise PenstockError(
            "PLT-002",
            f"{desk.home.path} was not recorded: it knows what was told, and no rows.",
            "Run the script with --record in a new home.",
        )
    name = desk.subscription(name).name
    blocks = by_text(block for _, block in desk.registry.history(name))[-1]
    shelf = RecordedShelf()
    try:
        asked = comparison_of(
            SubscriptionOutcome(name), desk.registry, desk.log, blocks,
            list(logged_batches(desk.log)), lambda *_: None, shelf,
        )  # fmt: skip
        query = None if id_ is None else _number(blocks, name, id_)
        shown = Shown(key=key, query=query, last_us=last_us)
        return kind_of(asked.logical.step()).picture(asked, shown)
    finally:
        shelf.close()


def _number(blocks: list[Block], name: str, id_: str) -> int:
    """Give the number of the standing query with an id, the newest if several had it."""
    for block in reversed(blocks):
        ids = np.array([str(each) for each in block.table["id"].to_pylist()])
        places = np.flatnonzero(ids == id_)
        if len(places):
            return int(block.query[places[-1]])
    fact = f"{name!r} has no standing query with the id {id_!r}."
    raise PenstockError("PLT-003", fact, "Name another --id; `penstock tail` shows them.")
