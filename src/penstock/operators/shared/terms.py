"""Terms: a side's own equalities and ranges, as ranges of keys under fixed entry names."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from penstock.algebra.inputs import InputsShape, numbered_inputs
from penstock.algebra.joins import JoinStep
from penstock.algebra.physical import BranchShape
from penstock.vocabulary.types import is_ordered

PRIMARY = (("al", "ah"), ("cl", "ch"))
"""The names of the ranges that the index knows, left and right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """`low <= key of column <= high`; `low` and `high` name columns of the entries.

    Of a text the key is its hash: `text` then names the entries' column with the text itself.
    """

    column: str
    type: pa.DataType
    low: str
    high: str
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SideTerms:
    """The terms of one side: the one that the index knows, if any, and all others."""

    primary: Term | None
    further: tuple[Term, ...]

    @property
    def terms(self) -> tuple[Term, ...]:
        """All terms."""
        return (*((self.primary,) if self.primary else ()), *self.further)

    @property
    def texts(self) -> tuple[Term, ...]:
        """The terms whose key is a hash."""
        return tuple(term for term in self.terms if term.text is not None)


NO_TERMS = SideTerms(primary=None, further=())


def side_terms(step: JoinStep, side: int) -> SideTerms:
    """Give the terms of the left (0) or right (1) side of a step.

    The index of a select-join or a window join knows a side's first equality, or else its first
    range. That of a band join knows the band only.
    """
    terms = input_terms(step)[side]
    if step.kind == "band_join" or not terms:
        return SideTerms(primary=None, further=terms)
    first, low, high = terms[0], *PRIMARY[side]
    primary = Term(column=first.column, type=first.type, low=low, high=high, text=first.text)
    return SideTerms(primary=primary, further=terms[1:])


def input_terms(step: InputsShape) -> tuple[tuple[Term, ...], ...]:
    """Give the comparisons with constants of every input, under the names of the entries."""
    names = numbered_inputs(len(step.inputs))
    return tuple(
        _branch_terms(shape.branch, name) for name, shape in zip(names, step.inputs, strict=True)
    )


def _branch_terms(branch: BranchShape, prefix: str) -> tuple[Term, ...]:
    """Give the terms of a branch, equalities first; the prefix stands before the entries' names."""
    found = []
    for i, (column, type_) in enumerate(branch.equalities):
        name = f"{prefix}_e{i}"
        text = None if is_ordered(type_) else name
        key = name if text is None else f"{name}_hash"
        found.append(Term(column=column, type=type_, low=key, high=key, text=text))
    for i, (column, type_) in enumerate(branch.ranges):
        names = f"{prefix}_l{i}", f"{prefix}_h{i}"
        found.append(Term(column=column, type=type_, low=names[0], high=names[1]))
    return tuple(found)


def residual_names(step: InputsShape) -> tuple[tuple[str, ...], ...]:
    """Name the parameters of residuals in entries: of every input, then of several together.

    >>> residual_names(InputsShape(inputs=(), residual_types=(pa.int8(), pa.int8())))
    (('x_r0', 'x_r1'),)
    """
    names = [*numbered_inputs(len(step.inputs)), "x"]
    return tuple(
        tuple(f"{name}_r{number}" for number in range(len(own)))
        for name, own in zip(names, step.residual_parameters, strict=True)
    )
