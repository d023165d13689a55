"""Codes of key values: int64 numbers that are equal for equal values, whichever source has them.

Numbers, times and truth values are their own keys; texts have the number of their first coming.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.model_streams import ModelStreamStep
from penstock.algebra.models import (
    ModelEnvelope,
    ModelJoin,
    ModelMap,
    ModelQueryStep,
    ModelSource,
    ModelStage,
    ModelWindow,
    stages,
)
from penstock.operators.shared.codes import TextCodes
from penstock.operators.shared.common_keys import canonical, common_type
from penstock.operators.shared.key_values import values_of
from penstock.operators.shared.keys import LOWEST, Column
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.types import ColumnKind, is_ordered, kind_of

TEXTS_MAX = 1 << 22
"""Distinct texts that have a code; rows with others are left out."""
UNKNOWN = -1
"""The code of a text that no row has had."""
ABSENT = LOWEST
"""The code of NULL, in columns that are carried along."""
FAMILIES = {
    ColumnKind.INTEGER: "exact", ColumnKind.DECIMAL: "exact", ColumnKind.FLOAT: "float",
    ColumnKind.TIMESTAMP: "time", ColumnKind.DATE: "time", ColumnKind.BOOLEAN: "truth",
}  # fmt: skip


class KeyCodes:
    """The codes of all key columns and carried columns of a step.

    >>> from penstock.algebra.models import ModelledAttribute
    >>> source = ModelSource(
    ...     relation="s", event_time="t", key=(("k", pa.string()),), horizon_us=1,
    ...     attributes=(ModelledAttribute(name="x", observed="x", coefficients=("c0",)),))
    >>> codes = KeyCodes(ModelQueryStep(plan=source, key=source.key, attributes=("x",)))
    >>> codes.code(pa.array(["b", "a", "b"]), pa.string())[0].tolist()
    [0, 1, 0]
    >>> codes.values(np.array([1, 0]), pa.string()).to_pylist()
    ['a', 'b']
    """

    def __init__(self, step: ModelQueryStep | ModelStreamStep) -> None:
        self.texts = TextCodes()
        self._told = 0
        merged = _merged(step.plan)
        found: dict[str, list[pa.DataType]] = {}
        for source in step.sources:
            for _, type_ in source.made_key:
                if (family := _family(type_, merged)) is not None:
                    found.setdefault(family, []).append(type_)
        self._merged = merged
        self._commons = {family: reduce(common_type, types) for family, types in found.items()}

    def common(self, type_: pa.DataType) -> pa.DataType:
        """Give the type in which values of a type are compared: that of all their like."""
        family = _family(type_, self._merged)
        if family is None:
            return type_ if kind_of(type_) is ColumnKind.DECIMAL else pa.string()
        return self._commons.get(family, type_)

    def code(self, column: Column, type_: pa.DataType) -> tuple[Ints, Flags]:
        """Give the codes of values, and which of them have one: not NULL, not NaN, not too many."""
        keys, valid = canonical(column, type_, self.common(type_))
        if _family(type_, self._merged) is not None:
            return np.asarray(keys.to_numpy(), dtype=np.int64), valid
        codes = self.texts.find(keys).astype(np.int64)
        new = np.flatnonzero(valid & (codes == UNKNOWN))
        if len(new):
            room = TEXTS_MAX - self.texts.size
            codes[new[:room]] = self.texts.code(keys.take(pa.array(new[:room])))
            if len(new) > room:
                codes[new[room:]] = self.texts.find(keys.take(pa.array(new[room:])))
        return codes, valid & (codes != UNKNOWN)

    def find(self, keys: pa.Array) -> Ints:
        """Give the codes of what entries of queries ask for; -1 for texts that no row has had."""
        if pa.types.is_integer(keys.type):
            return np.asarray(keys.to_numpy(), dtype=np.int64)
        return self.texts.find(keys).astype(np.int64)

    def values(self, codes: Ints, type_: pa.DataType) -> pa.Array:
        """Give the values that codes stand for."""
        if _family(type_, self._merged) is not None:
            absent: Flags = codes == ABSENT
            return _cast(values_of(codes, absent, self.common(type_)), type_)
        absent = codes == ABSENT
        if absent.all():
            return pa.nulls(len(codes), type_)
        texts = self.texts.texts(np.where(absent, 0, codes))
        if absent.any():
            texts = pc.if_else(pa.array(absent), pa.scalar(None, texts.type), texts)
        return _cast(texts, type_)

    def is_full(self, type_: pa.DataType) -> bool:
        """Say whether values of a type that are new get no code any more."""
        return _family(type_, self._merged) is None and self.texts.size >= TEXTS_MAX

    def fresh(self) -> pa.Array:
        """Give the texts that are new since this was asked last, in the order of their codes."""
        first, self._told = self._told, self.texts.size
        return self._listed(first)

    def all(self) -> pa.Array:
        """Give all texts in the order of their codes."""
        return self._listed(0)

    def _listed(self, first: int) -> pa.Array:
        if self.texts.size == first:
            return pa.array([], pa.string())
        return self.texts.texts(np.arange(first, self.texts.size)).cast(pa.string())

    def take(self, texts: pa.Array) -> None:
        """Take texts that another copy coded, in their order, and tell nobody."""
        if len(texts):
            self.texts.code(texts)
        self._told = self.texts.size


def _cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    return array if array.type == type_ else array.cast(type_, safe=False)


def _family(type_: pa.DataType, merged: bool) -> str | None:
    """Name the values that may be compared with those of a type; None: texts."""
    if not is_ordered(type_):
        return None
    family = FAMILIES[kind_of(type_)]
    return "exact" if merged and family == "float" else family


def _merged(plan: ModelStage) -> bool:
    """Say whether whole numbers or decimals are compared with floats anywhere."""
    for stage in stages(plan):
        if isinstance(stage, ModelJoin):
            left, right = list(key_types(stage.left)), list(key_types(stage.right))
            for one, other in (*stage.equal, *stage.unequal):
                kinds = {kind_of(left[one]) is ColumnKind.FLOAT,
                         kind_of(right[other]) is ColumnKind.FLOAT}  # fmt: skip
                if len(kinds) == 2:
                    return True
    return False


def key_types(stage: ModelStage) -> Iterator[pa.DataType]:
    """Give the types of the key columns of what a stage gives."""
    if isinstance(stage, ModelSource):
        yield from (type_ for _, type_ in stage.made_key)
    elif isinstance(stage, ModelJoin):
        yield from key_types(stage.left)
        yield from key_types(stage.right)
    else:
        own = list(key_types(stage.input))
        if isinstance(stage, ModelMap):
            own = [own[place] for place in stage.key]
        elif isinstance(stage, ModelEnvelope | ModelWindow):
            own = [own[place] for place in stage.group]
        yield from own
