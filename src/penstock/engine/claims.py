"""Claims: whose the pairs of a result log are, by the registry as it is now."""

from __future__ import annotations

import re

import pyarrow as pa

from penstock.algebra.logical import Output
from penstock.delivery.sheets import SheetSelection
from penstock.engine.selections import Answer, answer_of, selection_of_blocks
from penstock.engine.subscription_blocks import by_text, parameter_fields
from penstock.registry.records import Block
from penstock.registry.store import Registry
from penstock.vocabulary.batches import Ints

WHERE = re.compile(r"\bWHERE\b", re.IGNORECASE)
QUOTED = re.compile(r"""['"$;]|--|/\*""")
"""What may hide a word, so that it is not what it seems."""
ANSWERS_MAX = 4_096


class RegistryClaims:
    """What subscriptions read, and who registered which query; a text is bound once."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._selections: dict[str, tuple[tuple[int, ...], list[SheetSelection]]] = {}
        self._outputs: dict[tuple[Output, ...], tuple[Output, ...]] = {}
        self._answers: dict[tuple[str, str | None, tuple[pa.Field, ...]], Answer] = {}

    @property
    def version(self) -> int:
        """The registry's version."""
        return self._registry.version

    def selections(self, name: str) -> list[SheetSelection]:
        """Give what a reader of the log must look for to read a subscription, as of now.

        A subscription that was dropped has nothing to look for.
        """
        blocks = list(self._registry.blocks.get(name, []))
        if not blocks:
            self._selections.pop(name, None)
            return []
        now = tuple(map(id, blocks))
        known, found = self._selections.get(name, ((), []))
        if known != now:
            found = [selection_of_blocks(own, self._answer(own)) for own in by_text(blocks)]
            self._selections[name] = (now, found)
        return found

    def _answer(self, blocks: list[Block]) -> Answer:
        """Say what the text of blocks gives; texts of a group that begin alike are bound once."""
        head = head_of(blocks[0].record.sql)
        key = (blocks[0].record.group, head, parameter_fields(blocks[0]))
        if head is not None and key in self._answers:
            return self._answers[key]
        outputs, change_column = answer_of(self._registry, blocks)
        if len(self._answers) >= ANSWERS_MAX:
            self._answers.clear()
            self._outputs.clear()
        # Equal outputs are one object: what shares them is laid out together.
        answer = (self._outputs.setdefault(outputs, outputs), change_column)
        if head is not None:
            self._answers[key] = answer
        return answer

    def keys(self, queries: Ints) -> Ints:
        """Give all queries of a block one key: its first number. That of unknown ones is -1."""
        return self._registry.placed.first_numbers(queries)

    def owner(self, query: int) -> str | None:
        """Say which subscription a query was registered for."""
        block = self._registry.placed.block_of(query)
        return None if block is None else block.record.name


def head_of(sql: str) -> str | None:
    """Give what stands before WHERE, if that is sure to be all that says what a query gives.

    >>> head_of("SELECT a, b * 2 AS c FROM t WHERE a = 5")
    'SELECT a, b * 2 AS c FROM t '
    >>> head_of("SELECT count(*) FILTER (WHERE a) FROM t") is None
    True
    """
    found = WHERE.search(sql)
    head = "" if found is None else sql[: found.start()]
    is_plain = head and not QUOTED.search(head) and head.count("(") == head.count(")")
    return head if is_plain else None
