"""Entries of model queries: the keys and the numbers that each query asks for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.algebra.models import ModelQueryStep, StandingModelQuery
from penstock.operators.model_query.key_codes import KeyCodes
from penstock.operators.shared.common_keys import canonical
from penstock.operators.shared.entries import EntryColumns
from penstock.operators.shared.keys import validity
from penstock.vocabulary.batches import Registration
from penstock.vocabulary.types import is_ordered

NUMBER_MAX = 1e300
"""Numbers beyond it are taken for it: no model comes near, and differences stay finite."""


def register(
    logical: StandingModelQuery, step: ModelQueryStep, parameters: pa.Table, first: int
) -> Registration:
    """Turn rows of parameters into entries; row i becomes query number `first + i`.

    Entries have the columns `query`, the keys `e0`, … as whole numbers or texts, and the numbers
    `n0`, …. A query whose key or number is NULL can never be told anything.
    """
    entries = EntryColumns(logical, parameters)
    codes = KeyCodes(step)
    for number, (place, name) in enumerate(
        zip(step.asked.key, logical.key_parameters, strict=True)
    ):
        type_ = step.key[place][1]
        values = entries.values.values(name, type_)
        keys, there = canonical(values, type_, codes.common(type_))
        if not is_ordered(codes.common(type_)):
            keys = keys.cast(pa.string()).fill_null("")
        entries.put(f"e{number}", keys, there)
    for number, (each, name) in enumerate(
        zip(step.asked.comparisons, logical.number_parameters, strict=True)
    ):
        values = entries.values.values(name, pa.float64())
        numbers = values.fill_null(0.0).to_numpy(zero_copy_only=False)
        if each.squared:
            numbers = numbers * np.abs(numbers)
        entries.put(f"n{number}", np.clip(numbers, -NUMBER_MAX, NUMBER_MAX), validity(values))
    return entries.registration(first)


def entry_schema(step: ModelQueryStep) -> pa.Schema:
    """Give the columns of entries with their types."""
    codes = KeyCodes(step)
    keys = [codes.common(step.key[place][1]) for place in step.asked.key]
    return pa.schema(
        [
            ("query", pa.int64()),
            *(
                (f"e{n}", pa.int64() if is_ordered(type_) else pa.string())
                for n, type_ in enumerate(keys)
            ),
            *((f"n{n}", pa.float64()) for n in range(len(step.asked.comparisons))),
        ]
    )
