"""Comparisons: which sides they have, and whether their types agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from penstock.expressions.catalogue import functions
from penstock.language.constants import ConstantFit, LiftedConstant, constant_of, fit, is_constant
from penstock.language.duckdb_checks import DuckError, duck_type, evaluate
from penstock.language.name_resolution import Names
from penstock.language.own_words import plain_wording
from penstock.language.places import suggestion
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.types import NUMBERS, ColumnKind, is_ordered, kind_of

IN_LIST_MAX = 10_000
"""Items of one IN list."""
TERMS_MAX = 1_000
"""Comparisons of one predicate."""

FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}
TIMES = frozenset({ColumnKind.TIMESTAMP, ColumnKind.DATE})


@dataclass(frozen=True, slots=True)
class ColumnComparison:
    """`column operator operand`, whichever side the column stood on."""

    column: str
    operator: type[exp.Expr]
    operand: exp.Expr


def comparison(node: exp.Expr) -> ColumnComparison | None:
    """Read a node as a column compared with a constant or a parameter, if it is that."""
    if type(node) not in FLIPPED:
        return None
    left, right = node.this.unnest(), node.expression.unnest()
    if isinstance(left, exp.Column) and is_operand(right):
        return ColumnComparison(left.name, type(node), right)
    if isinstance(right, exp.Column) and is_operand(left):
        return ColumnComparison(right.name, FLIPPED[type(node)], left)
    return None


def is_operand(node: exp.Expr) -> bool:
    """Say whether a node is a parameter alone, or constant."""
    return isinstance(node, exp.Placeholder) or is_constant(node)


def can_index(type_: pa.DataType, *, range_: bool) -> bool:
    """Say whether a group can index comparisons with a column of the type."""
    return is_ordered(type_) or (not range_ and kind_of(type_) is ColumnKind.STRING)


@dataclass(slots=True)
class Types:
    """Types of a query's columns, parameters and constants, as comparisons reveal them."""

    names: Names
    parameters: dict[str, pa.DataType] = field(default_factory=dict)
    constants: dict[int, LiftedConstant] = field(default_factory=dict)

    def constant(self, node: exp.Expr) -> LiftedConstant | None:
        """Evaluate a constant once, and refuse what cannot be computed or is NaN."""
        key = id(node)
        if key in self.constants:
            return self.constants[key]
        try:
            found = constant_of(node, plain_wording(self.names).say)
        except DuckError as error:
            raise duck_refusal(error, self.names, node, "SQL-033") from None
        if found is None:
            return None
        if found.is_nan:
            raise self.names.source.error(
                "SQL-053",
                "The constant is NaN, which counts as NULL here: nothing compares with it.",
                "Remove the comparison, or write isnan(…).",
                at=node,
            )
        self.constants[key] = found
        return found

    def fit(self, node: exp.Expr, type_: pa.DataType) -> ConstantFit | None:
        """Convert a constant to a type; None if it is not constant or would not compare right."""
        constant = self.constant(node)
        if constant is None:
            return None
        try:
            return fit(constant, type_)
        except DuckError as error:
            raise duck_refusal(error, self.names, node, "SQL-031") from None

    def uniform(self, sides: Sequence[exp.Expr]) -> bool:
        """Say whether comparing all sides at once is the same as comparing them in pairs.

        BETWEEN and IN bring all sides to one type before they compare: in `f IN (1.3, 2e0)` the
        DOUBLE 2e0 makes 1.3 a DOUBLE, which no FLOAT equals; `f = 1.3` compares as FLOAT.
        """
        bare = [side.unnest() for side in sides]
        columns = {self.names.column_type(s.name) for s in bare if isinstance(s, exp.Column)}
        others = [side for side in bare if not isinstance(side, exp.Column)]
        return len(columns) == 1 and self.agree(next(iter(columns)), others)

    def agree(self, type_: pa.DataType, operands: Sequence[exp.Expr]) -> bool:
        """Say whether something of a type is compared with all operands as with each alone."""
        kinds: set[ColumnKind] = set()
        parameters = False
        for operand in operands:
            if isinstance(operand, exp.Placeholder):
                parameters = True
                if self.parameters[operand.name] != type_:
                    return False
                continue
            constant = self.constant(operand)
            if constant is None:
                return False
            if constant.kind is not None:
                kinds.add(
                    ColumnKind.INTEGER if constant.kind is ColumnKind.DECIMAL else constant.kind
                )
        # These two absorb whatever may be compared with them.
        if pa.types.is_float64(type_) or kind_of(type_) is ColumnKind.TIMESTAMP:
            return True
        return len(kinds) <= 1 and not (parameters and ColumnKind.FLOAT in kinds)

    def check(self, predicate: exp.Expr, met: Iterable[tuple[str, pa.DataType]] = ()) -> None:
        """Check every comparison of the predicate, and give each parameter its type.

        `met` are types that parameters meet elsewhere than in a column.
        """
        columns: dict[str, set[pa.DataType]] = {}
        for name, type_ in met:
            columns.setdefault(name, set()).add(type_)
        terms = 0
        for node in predicate.walk(
            prune=lambda node: isinstance(node, exp.Lambda | exp.Comprehension)
        ):
            pairs = _pairs(node)
            terms += bool(pairs)
            if isinstance(node, exp.In) and len(node.expressions) > IN_LIST_MAX:
                fact = f"An IN list has {len(node.expressions):,} items, {IN_LIST_MAX:,} may be."
                remedy = "Make each item a row of FOR EACH: column = :item."
                raise self.names.source.error("SQL-051", fact, remedy, at=node)
            for left, right in pairs:
                self._check_pair(left, right)
                for column, other in ((left, right), (right, left)):
                    if isinstance(column, exp.Column) and isinstance(other, exp.Placeholder):
                        type_ = self.names.column_type(column.name)
                        columns.setdefault(other.name, set()).add(type_)
        if terms > TERMS_MAX:
            fact = f"The predicate has {terms:,} comparisons, {TERMS_MAX:,} may be."
            remedy = "Write IN lists, or make the alternatives rows of FOR EACH."
            raise self.names.source.error("SQL-052", fact, remedy, at=predicate)
        for name in self.names.parameters.values():
            self.parameters[name] = self._parameter_type(name, columns.get(name, set()))

    def _parameter_type(self, name: str, columns: set[pa.DataType]) -> pa.DataType:
        """Take the type of the column it is compared with; of several columns, its own."""
        own = self.names.own_type(name)
        if len(columns) != 1:
            return own
        column = next(iter(columns))
        if kind_of(column) is ColumnKind.OTHER:
            return own
        agree = _family(own) == _family(column) or pa.types.is_null(own)
        read = self.names.is_written(name) or (
            kind_of(own) is ColumnKind.STRING and _family(column) == "time"
        )
        return column if agree or read else own

    def _refuse_lists(self, column: exp.Expr, other: exp.Expr) -> None:
        """Refuse a list among the items of IN, and wherever one value is compared."""
        if not (isinstance(column, exp.Column) and isinstance(other, exp.Placeholder)):
            return
        own = self.names.own_type(other.name)
        if pa.types.is_nested(own) and not pa.types.is_nested(self.names.column_type(column.name)):
            raise self.names.source.error(
                "SQL-042",
                f"Parameter :{other.name} is {own}, and one value is compared here.",
                "Make each item a row of FOR EACH: column = :item.",
                at=other,
            )

    def _check_pair(self, left: exp.Expr, right: exp.Expr) -> None:
        self._refuse_lists(left, right)
        self._refuse_lists(right, left)
        kinds = self._family_of(left), self._family_of(right)
        if None in kinds or kinds[0] == kinds[1]:
            return
        for side, other in ((left, right), (right, left)):
            if isinstance(side, exp.Column) and isinstance(other, exp.Placeholder):
                text = kind_of(self.names.own_type(other.name)) is ColumnKind.STRING
                if self.names.is_written(other.name) or (text and "time" in kinds):
                    return
            constant = self.constant(other) if is_constant(other) else None
            if constant is not None and constant.bare and self._family_of(side) == "time":
                self._check_time_text(side, constant, other)
                return
        raise self._mismatch(left, right)

    def _family_of(self, node: exp.Expr) -> str | None:
        """Name what a side is, if comparing it with something else is surely a mistake."""
        if isinstance(node, exp.Column):
            # A star compared with something is refused where DuckDB's own reading is looked at.
            is_star = isinstance(node.this, exp.Star)
            return None if is_star else _family(self.names.column_type(node.name))
        if isinstance(node, exp.Placeholder):
            return _family(self.names.own_type(node.name))
        constant = self.constant(node) if is_constant(node) else None
        if constant is None or constant.kind is None:
            return None
        return _family_of_kind(constant.kind)

    def _check_time_text(self, side: exp.Expr, text: LiftedConstant, node: exp.Expr) -> None:
        column = isinstance(side, exp.Column)
        type_ = self.names.column_type(side.name) if column else pa.timestamp("us")
        try:
            evaluate(f"CAST({text.sql} AS {duck_type(type_)})")
        except DuckError:
            what = "date" if kind_of(type_) is ColumnKind.DATE else "timestamp"
            example = "'2024-01-31'" if what == "date" else "'2024-01-31 10:00:00'"
            raise self.names.source.error(
                "SQL-031", f"{text.sql} is not a {what}.", f"Write it as {example}.", at=node
            ) from None

    def _mismatch(self, left: exp.Expr, right: exp.Expr) -> PenstockError:
        for column, other in ((left, right), (right, left)):
            if isinstance(column, exp.Column) and isinstance(other, exp.Placeholder):
                own, type_ = self.names.own_type(other.name), self.names.column_type(column.name)
                shown = self.names.shown(column.name)
                return self.names.source.error(
                    "SQL-042",
                    f"Parameter :{other.name} is {own}, column {shown!r} is {type_}.",
                    f"Give the rows of FOR EACH a column {other.name!r} of type {type_}.",
                    at=other,
                )
        sides = " with ".join(self._describe(side) for side in (left, right))
        texts = [self.constants.get(id(side)) for side in (left, right)]
        number = next((text.value for text in texts if text and text.bare), "")
        is_number = number.replace(".", "", 1).lstrip("-").isdigit()
        remedy = "Compare like with like, or CAST one side."
        if is_number:
            remedy = f"Write {number} without quotes."
        fact = f"Cannot compare {sides}."
        return self.names.source.error("SQL-030", fact, remedy, at=left.parent)

    def _describe(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Column):
            return f"{self.names.shown(node.name)!r} ({self.names.column_type(node.name)})"
        if isinstance(node, exp.Placeholder):
            return f":{node.name} ({self.names.own_type(node.name)})"
        constant = self.constant(node)
        assert constant is not None and constant.kind is not None
        return f"{constant.sql} ({constant.kind.value})"


def _pairs(node: exp.Expr) -> list[tuple[exp.Expr, exp.Expr]]:
    if type(node) in FLIPPED:
        return [(node.this.unnest(), node.expression.unnest())]
    if isinstance(node, exp.Between):
        this = node.this.unnest()
        return [(this, node.args["low"].unnest()), (this, node.args["high"].unnest())]
    if isinstance(node, exp.In):
        return [(node.this.unnest(), item.unnest()) for item in node.expressions]
    return []


def _family(type_: pa.DataType) -> str | None:
    return _family_of_kind(kind_of(type_))


def _family_of_kind(kind: ColumnKind) -> str | None:
    if kind is ColumnKind.OTHER:
        return None
    return "number" if kind in NUMBERS else "time" if kind in TIMES else kind.value


def duck_refusal(error: DuckError, names: Names, at: exp.Expr | None, code: str) -> PenstockError:
    """Turn DuckDB's refusal of an expression into an error of ours, at its place."""
    if (own := error.refusal) is not None:
        return names.source.error(own.code, own.fact, own.remedy, at=at)
    unknown = error.unknown_function
    if unknown is None:
        fact = error.fact if error.fact.endswith((".", "!")) else f"{error.fact}."
        remedy = "Correct the expression."
        if "'@(" in fact:
            remedy = "@ is the absolute value of a number: write :name for a parameter."
        return names.source.error(code, f"DuckDB says: {fact}", remedy, at=at)
    scalars = [name for name, kind in functions().items() if kind == "scalar"]
    return names.source.error(
        "SQL-022",
        f"There is no function {unknown}().",
        suggestion(unknown, scalars, "DuckDB's scalar functions are known."),
        at=at,
    )
