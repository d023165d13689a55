"""Claims: whose the pairs of a result log are, by the registry as it is now."""

from __future__ import annotations

from dataclasses import replace

from penstock.algebra.logical import Output
from penstock.delivery.sheets import SheetSelection
from penstock.engine.selections import selection_of_blocks
from penstock.engine.subscription_blocks import by_text
from penstock.registry.store import Registry
from penstock.vocabulary.batches import Ints


class RegistryClaims:
    """What subscriptions read, and who registered which query; a text is bound once."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._selections: dict[str, tuple[tuple[int, ...], list[SheetSelection]]] = {}
        self._outputs: dict[tuple[Output, ...], tuple[Output, ...]] = {}

    @property
    def version(self) -> int:
        """The registry's version."""
        return self._registry.version

    def selections(self, name: str) -> list[SheetSelection]:
        """Give what a reader of the log must look for to read a subscription, as of now.

        A subscription that was dropped has nothing to look for.
        """
        blocks = list(self._registry.blocks.get(name, []))
        now = tuple(map(id, blocks))
        known, found = self._selections.get(name, ((), []))
        if known != now:
            own = (selection_of_blocks(self._registry, each) for each in by_text(blocks))
            # Equal outputs are one object: what shares them is laid out together.
            found = [
                replace(each, reader=name, outputs=self._outputs.setdefault(*[each.outputs] * 2))
                for each in own
            ]
            self._selections[name] = (now, found)
        return found

    def owners(self, queries: Ints) -> tuple[Ints, list[tuple[str, int]]]:
        """Say who registered queries: a list of (name, one such query), and each one's place."""
        place, blocks = self._registry.registered_in(queries)
        return place, [(block.subscription, first) for block, first in blocks]
