"""Entries of joins by crossings: rows of parameters become ranges of keys, all at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from penstock.algebra.crossings import CrossedQuery
from penstock.algebra.inputs import InputsShape
from penstock.operators.shared.entries import EntryColumns
from penstock.operators.shared.terms import Term, input_terms, residual_names
from penstock.vocabulary.batches import Registration


def register(
    logical: CrossedQuery, step: InputsShape, parameters: pa.Table, first: int
) -> Registration:
    """Turn rows of parameters into entries; row i becomes query number `first + i`.

    Bad rows are refused, one by one; rows that can never match are accepted and marked silent.
    There is one entry per query on the port `queries`: `i0_e0…`, `i0_l0`, `i0_h0…` (the ranges of
    each input), `i0_r0…`, `x_r0…` (parameters of residuals).
    """
    entries = EntryColumns(logical, parameters)
    for node, terms in zip(logical.inputs, input_terms(step), strict=True):
        entries.put_terms(node.branch, terms)
    entries.put_residuals(logical, step)
    return entries.registration(first)


def entry_schema(step: InputsShape) -> pa.Schema:
    """Give the columns of the step's entries."""
    return entry_columns(step, [term for own in input_terms(step) for term in own], {})


def entry_columns(
    step: InputsShape, terms: Iterable[Term], further: Mapping[str, pa.DataType]
) -> pa.Schema:
    """Give the columns of entries: the query, some further ones, terms, parameters of residuals."""
    types: dict[str, pa.DataType] = {"query": pa.int64(), **further}
    for term in terms:
        types |= {term.low: pa.int64(), term.high: pa.int64()}
        if term.text is not None:
            types[term.text] = pa.string()
    for names, own in zip(residual_names(step), step.residual_parameters, strict=True):
        types |= dict(zip(names, own, strict=True))
    return pa.schema(list(types.items()))
