"""Entries of multi-way joins: rows of parameters become ranges of keys, all at once."""

from __future__ import annotations

import pyarrow as pa

from penstock.algebra.inputs import numbered_inputs
from penstock.algebra.multi_joins import MultiJoin, MultiJoinStep
from penstock.operators.shared.entries import PORT, EntryColumns
from penstock.operators.shared.terms import Term, branch_terms, names_of_residuals
from penstock.vocabulary.batches import Registration

__all__ = ["PORT", "entry_schema", "input_terms", "register", "residual_names"]


def input_terms(step: MultiJoinStep) -> tuple[tuple[Term, ...], ...]:
    """Give the comparisons with constants of every input, under the names of the entries."""
    return tuple(
        branch_terms(shape.branch, f"i{number}") for number, shape in enumerate(step.inputs)
    )


def residual_names(step: MultiJoinStep) -> tuple[tuple[str, ...], ...]:
    """Give the entries' names of the residual parameters: of each input, then of all together."""
    return names_of_residuals(numbered_inputs(len(step.inputs)), _types(step))


def register(
    logical: MultiJoin, step: MultiJoinStep, parameters: pa.Table, first: int
) -> Registration:
    """Turn rows of parameters into entries; row i becomes query number `first + i`.

    Bad rows are refused, one by one; rows that can never match are accepted and marked silent.

    Returns
    -------
    Registration
        One entry per query on the port `queries`: `i0_e0…`, `i0_l0`, `i0_h0…` (the ranges of each
        input), `i0_r0…`, `x_r0…` (parameters of residuals).
    """
    entries = EntryColumns(logical, parameters)
    for node, terms in zip(logical.inputs, input_terms(step), strict=True):
        entries.put_terms(node.branch, terms)
    residuals = [*(node.branch.residual for node in logical.inputs), logical.residual]
    entries.put_residuals(residual_names(step), residuals, _types(step))
    return entries.registration(first)


def entry_schema(step: MultiJoinStep) -> pa.Schema:
    """Give the columns of the step's entries."""
    types: dict[str, pa.DataType] = {"query": pa.int64()}
    for terms in input_terms(step):
        for term in terms:
            types |= {term.low: pa.int64(), term.high: pa.int64()}
            if term.text is not None:
                types[term.text] = pa.string()
    for names, own in zip(residual_names(step), _types(step), strict=True):
        types |= dict(zip(names, own, strict=True))
    return pa.schema(list(types.items()))


def _types(step: MultiJoinStep) -> tuple[tuple[pa.DataType, ...], ...]:
    return (*(shape.branch.residual_types for shape in step.inputs), step.residual_types)
