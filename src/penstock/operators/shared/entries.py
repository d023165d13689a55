"""Entries: the rows of a port while they are made from rows of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.algebra.inputs import InputsQuery, InputsShape
from penstock.algebra.predicates import Branch, Equality
from penstock.operators.shared.common_keys import text_hashes
from penstock.operators.shared.keys import validity
from penstock.operators.shared.ranges import Asking, RangeParameters, closed_range
from penstock.operators.shared.refusals import Refusing
from penstock.operators.shared.terms import Term, residual_names
from penstock.vocabulary.batches import Flags, Registration

PORT = "queries"
"""The port of everything that has one entry per query."""


class EntryColumns:
    """The columns of the entries while they are made; rows that can never match are not alive."""

    def __init__(self, logical: Asking, parameters: pa.Table) -> None:
        self.rows = rows = parameters.num_rows
        self._refusing = Refusing(rows)
        self.values = RangeParameters(logical=logical, table=parameters, refusing=self._refusing)
        self.alive: Flags = np.ones(rows, dtype=np.bool_)
        self.columns: dict[str, pa.Array] = {}

    def put(self, name: str, column: Any, alive: npt.ArrayLike = True) -> None:
        """Take a column (one value stands for all rows), and where it can match at all."""
        array = column if isinstance(column, pa.Array) else pa.array(np.asarray(column))
        if len(array) == 1 and self.rows != 1:
            array = array.take(pa.array(np.zeros(self.rows, dtype=np.int64)))
        self.columns[name] = array
        self.alive = self.alive & np.asarray(alive)

    def put_terms(self, branch: Branch, terms: Sequence[Term]) -> None:
        """Put the equalities and ranges of a branch, as the ranges of keys that terms name."""
        equalities = len(branch.equalities)
        for equality, term in zip(branch.equalities, terms[:equalities], strict=True):
            self._put_equality(equality, term)
        for range_, term in zip(branch.ranges, terms[equalities:], strict=True):
            low, high, alive = closed_range(range_, term.type, self.values, self.rows)
            self.put(term.low, low, alive)
            self.put(term.high, high)

    def _put_equality(self, equality: Equality, term: Term) -> None:
        """Put an equality as a range of one key; of a text, its hash and the text itself."""
        (name,) = equality.parameters
        if term.text is None:
            place = self.values.places(name, term.type)
            keys, alive = place.key, place.valid & place.exact & (place.side == 0)
        else:
            texts = self.values.values(name, term.type).cast(pa.string())
            alive = validity(texts)
            keys = text_hashes(texts)
            self.put(term.text, texts)
        self.put(term.low, keys, alive)
        if term.high != term.low:
            self.put(term.high, keys)

    def put_residuals(self, logical: InputsQuery, step: InputsShape) -> None:
        """Put the parameters of residuals."""
        asked = zip(residual_names(step), logical.residuals, step.residual_parameters, strict=True)
        for own, residual, given in asked:
            if residual is not None:
                for name, parameter, type_ in zip(own, residual.parameters, given, strict=True):
                    self.put(name, self.values.values(parameter, type_))

    def registration(self, first: int) -> Registration:
        """Give the entries of rows that are accepted; row i becomes query number `first + i`."""
        accepted = ~self._refusing.refused
        stands = accepted & self.alive
        table = pa.table({"query": pa.array(first + np.arange(self.rows)), **self.columns})
        if not stands.all():
            table = table.filter(pa.array(stands))
        refusals, silent = self._refusing.refusals(), accepted & ~self.alive
        return Registration(adds={PORT: table.combine_chunks()}, refusals=refusals, silent=silent)
