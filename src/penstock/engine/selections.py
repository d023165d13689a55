"""Selections: what a reader of the result log must look for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from penstock.algebra.logical import Output
from penstock.algebra.physical import Step
from penstock.delivery.changes import Selecting
from penstock.delivery.sheets import SheetSelection
from penstock.engine.subscription_blocks import Members, bind_blocks
from penstock.expressions.quotation import quoted
from penstock.operators.catalogue import OPERATORS
from penstock.registry.records import Block, among_ids
from penstock.registry.store import Registry
from penstock.vocabulary.errors import PenstockError

Answer = tuple[tuple[Output, ...], str | None]
"""What a text gives: its outputs, and the column that says whether a row came or went, if any."""


def answer_of(registry: Registry, blocks: list[Block]) -> Answer:
    """Say what the text of some blocks gives."""
    logical = bind_blocks(registry.catalog, blocks)
    return logical.outputs, _change_column(registry, logical.step())


def selection_of_blocks(blocks: list[Block], answer: Answer) -> SheetSelection:
    """Give what to look for to read blocks of one text."""
    members = Members(blocks)
    outputs, change_column = answer
    return SheetSelection(
        group=blocks[0].record.group,
        outputs=outputs,
        change_column=change_column,
        queries=members.queries,
        ids=members.ids,
        reader=blocks[0].subscription,
    )


def of_ids(selecting: Selecting, ids: pa.Array, name: str) -> Selecting:
    """Look for the standing queries of some ids alone, also for those that come under these ids.

    Raises
    ------
    PenstockError
        REG-017 if there is none so far.
    """
    known: Sequence[SheetSelection] = ()
    narrowed: list[SheetSelection] = []

    def narrow() -> list[SheetSelection]:
        nonlocal known, narrowed
        if (now := selecting()) is not known:
            narrowed, known = [_of_ids(each, ids) for each in now], now
        return narrowed

    if not any(each.queries is not None and len(each.queries) for each in narrow()):
        raise PenstockError(
            "REG-017",
            f"None of the ids was registered in {name!r}.",
            "Name ids as they were registered.",
        )
    return narrow


def _of_ids(selection: SheetSelection, ids: pa.Array) -> SheetSelection:
    queries = selection.queries
    assert queries is not None, "a subscription's queries are known"
    return replace(selection, queries=queries[among_ids(selection.ids(queries), ids)])


def selection_of_group(registry: Registry, group: str) -> SheetSelection:
    """Give what to look for to read a whole group: ids are query numbers, columns all there are."""
    owners = {block.record.group for blocks in registry.blocks.values() for block in blocks}
    if group not in owners or group not in registry.steps:
        raise PenstockError("DEL-002", f"There is no group {group!r}.", "See `subscription.group`.")
    return SheetSelection(
        group=group,
        outputs=tuple(
            Output(name=name, sql=quoted(name)) for name in events_of(registry, group).names
        ),
        change_column=_change_column(registry, _step_of(registry, group)),
        queries=None,
        ids=pa.array,
    )


def events_of(registry: Registry, group: str) -> pa.Schema:
    """Give the columns of the rows that a group's answers are made of."""
    step = _step_of(registry, group)
    if step.made is not None:
        return pa.schema(step.made)
    return registry.catalog[step.relations[0].lower()].schema


def _step_of(registry: Registry, group: str) -> Step:
    described = registry.steps[group]
    return OPERATORS[described["kind"]].step_from_json(described)


def _change_column(registry: Registry, step: Step) -> str | None:
    """Give the column that says whether a row came or went, if the rows to be read have one."""
    column = registry.catalog[step.relations[0].lower()].change_column
    is_told = step.made is None or column in dict(step.made)
    return column if is_told else None
