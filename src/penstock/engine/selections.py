"""Selections: what a reader of the result log must look for."""

from __future__ import annotations

import pyarrow as pa

from penstock.algebra.logical import Output
from penstock.algebra.physical import Step
from penstock.delivery.sheets import SheetSelection
from penstock.engine.subscription_blocks import Members, bind_blocks
from penstock.expressions.quotation import quoted
from penstock.operators.catalogue import OPERATORS
from penstock.registry.records import Block
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


def selection_of_group(registry: Registry, group: str) -> SheetSelection:
    """Give what to look for to read a whole group: ids are query numbers, columns all there are."""
    owners = {block.record.group for blocks in registry.blocks.values() for block in blocks}
    if group not in owners:
        raise PenstockError("DEL-002", f"There is no group {group!r}.", "See `subscription.group`.")
    described = registry.steps[group]
    step = OPERATORS[described["kind"]].step_from_json(described)
    names = step.makes
    if names is None:
        names = tuple(registry.catalog[step.relations[0].lower()].schema.names)
    return SheetSelection(
        group=group,
        outputs=tuple(Output(name=name, sql=quoted(name)) for name in names),
        change_column=_change_column(registry, step),
        queries=None,
        ids=pa.array,
    )


def _change_column(registry: Registry, step: Step) -> str | None:
    """Give the column that says whether a row came or went, if the rows to be read have one."""
    column = registry.catalog[step.relations[0].lower()].change_column
    return column if step.makes is None or column in step.makes else None
