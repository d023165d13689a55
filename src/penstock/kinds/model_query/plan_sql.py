"""Plans in SQL: what DuckDB computes of models at single instants, where no equation is solved.

A stage is a query with the columns `t` (microseconds), `k0`, … and `a0`, …: a row for every key
that has a value at an instant. Models of sources stand in tables `models0`, `models1`, …, instants
in the table `instants`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.algebra.models import (
    MappedAttribute,
    ModelComparison,
    ModelCondition,
    ModelConjunction,
    ModelFilter,
    ModelJoin,
    ModelMap,
    ModelNegation,
    ModelSource,
    ModelStage,
    ModelWindow,
    Monomial,
    Polynomial,
    stages,
)
from penstock.models.differences import differences_of, over_differences
from penstock.models.segments import WIDTH

SECOND = "1e6"
ROUNDING = "1e-9"
"""By how much of their size values may be off."""
DIFFERENCES = "1e-3"
"""So large everything is at least: a difference that was made before is off by what it was of."""


def value_sql(attribute: int, seconds: str) -> str:
    """Say the value of a model, whose coefficients are columns, at some seconds (Horner)."""
    words = f"c{attribute}_{WIDTH - 1}"
    for power in reversed(range(WIDTH - 1)):
        words = f"(c{attribute}_{power} + {seconds} * {words})"
    return words


def polynomial_sql(polynomial: Polynomial, names: Sequence[str]) -> str:
    """Say a polynomial over columns.

    >>> polynomial_sql(Polynomial(terms=(Monomial(factor=-2.0, powers=(2, 1)),)), ["a0", "a1"])
    '(-2.0 * a0 * a0 * a1)'
    """
    pairs = differences_of(polynomial)
    apart = list(names)
    for one, other in pairs:
        apart[one] = f"({names[one]} - {names[other]})"
    terms = over_differences(polynomial, pairs).terms
    return " + ".join(_term_sql(term, apart) for term in terms) or "0.0"


def _term_sql(term: Monomial, names: Sequence[str]) -> str:
    return f"({' * '.join([repr(term.factor), *_factors(term, names)])})"


def _factors(term: Monomial, names: Sequence[str]) -> Iterator[str]:
    for name, power in zip(names, term.powers, strict=True):
        yield from [name] * power


def comparison_sql(
    comparison: ModelComparison, names: Sequence[str], number: str, margin: float, tight: bool
) -> str:
    """Say a comparison with a number, or what surely holds of it, or what may hold of it.

    Values may be off by a margin, and by rounding: `tight` is what holds nevertheless, the other
    what is not excluded. What is not known is NULL.
    """
    own = polynomial_sql(comparison.polynomial, names)
    sizes = [f"abs{_term_sql(term, names)}" for term in comparison.polynomial.terms]
    weight = sum(abs(term.factor) for term in comparison.polynomial.terms if any(term.powers))
    sizes = [DIFFERENCES, *sizes, f"abs({number})"]
    near = f"({margin * weight!r} + {ROUNDING} * ({' + '.join(sizes)}))"
    left = f"(({own}) - {number})"
    comparator = comparison.comparator
    if comparator in {"<", "<="}:
        holds = f"{left} {comparator} {f'-{near}' if tight else near}"
    elif comparator in {">", ">="}:
        holds = f"{left} {comparator} {near if tight else f'-{near}'}"
    elif comparator == "=":
        holds = "FALSE" if tight else f"abs{left} <= {near}"
    else:
        holds = f"abs{left} > {near}" if tight else "TRUE"
    return f"coalesce({holds}, {'FALSE' if tight else 'TRUE'})"


def condition_sql(
    condition: ModelCondition, names: Sequence[str], margin: float, tight: bool
) -> str:
    """Say what surely holds of a condition, or what may."""
    if isinstance(condition, ModelComparison):
        assert condition.parameter is None, "what differs from query to query is asked later"
        return comparison_sql(condition, names, "0.0", margin, tight)
    if isinstance(condition, ModelNegation):
        return f"NOT ({condition_sql(condition.term, names, margin, not tight)})"
    is_and = isinstance(condition, ModelConjunction)
    terms = [f"({condition_sql(term, names, margin, tight)})" for term in condition.terms]
    return (" AND " if is_and else " OR ").join(terms) or ("TRUE" if is_and else "FALSE")


class PlanSql:
    """Says a plan; sources, and windows, are numbered from left to right.

    What a window gives at instants stands in tables `window0`, `window1`, …, found before. Values
    may be off by the margin: `tight` says what is there nevertheless, else what may be there.
    """

    def __init__(
        self, plan: ModelStage, margin: float, tight: bool, numbers: tuple[int, int] = (0, 0)
    ) -> None:
        self._number, self._window = numbers
        self._margin, self._tight = margin, tight
        self.sql, self.keys, self.attributes = self._said(plan)

    def _said(self, stage: ModelStage) -> tuple[str, int, int]:
        """Give the query of a stage, and how many key columns and attributes it has."""
        if isinstance(stage, ModelSource):
            return self._source(stage)
        if isinstance(stage, ModelJoin):
            return self._join(stage)
        if isinstance(stage, ModelWindow):
            table, self._window = f"window{self._window}", self._window + 1
            self._number += sum(isinstance(each, ModelSource) for each in stages(stage))
            return f"SELECT * FROM {table}", len(stage.group), 1
        sql, keys, attributes = self._said(stage.input)
        names = _names("a", attributes)
        if isinstance(stage, ModelFilter):
            where = condition_sql(stage.condition, names, self._margin, self._tight)
            return f"SELECT * FROM ({sql}) WHERE {where}", keys, attributes
        if isinstance(stage, ModelMap):
            return self._map(stage, sql, names)
        group = ["t", *(f"k{place}" for place in stage.group)]
        columns = ["t", *(f"k{place} AS k{n}" for n, place in enumerate(stage.group))]
        made = f"{stage.function}(a{stage.attribute}) AS a0"
        grouped = f"SELECT {', '.join([*columns, made])} FROM ({sql}) GROUP BY {', '.join(group)}"
        return grouped, len(stage.group), 1

    def _source(self, source: ModelSource) -> tuple[str, int, int]:
        table, self._number = f"models{self._number}", self._number + 1
        keys, attributes = len(source.made_key), len(source.attributes)
        seconds = f"((i.t - m.reference) / {SECOND})"
        columns = ["i.t AS t", *(f"m.k{n}" for n in range(keys))]
        values = [f"any_value({value_sql(n, seconds)}) AS a{n}" for n in range(attributes)]
        group = ", ".join(["i.t", *(f"m.k{n}" for n in range(keys)), "m.serial"])
        holds = "m.starts <= i.t AND (i.t < m.ends OR (m.starts = m.ends AND i.t = m.ends))"
        # What is taken back of a model goes with it, before values that are left are added up.
        left = (
            f"SELECT {', '.join([*columns, *values])}, sum(m.sign) AS sign FROM instants AS i "
            f"JOIN {table} AS m ON {holds} GROUP BY {group} HAVING sum(m.sign) <> 0"
        )
        own = ["t", *(f"k{n}" for n in range(keys))]
        sums = [f"sum(sign * a{n}) AS a{n}" for n in range(attributes)]
        return (
            f"SELECT {', '.join([*own, *sums])} FROM ({left}) GROUP BY {', '.join(own)} "
            "HAVING sum(sign) > 0",
            keys,
            attributes,
        )

    def _join(self, join: ModelJoin) -> tuple[str, int, int]:
        left, left_keys, left_attributes = self._said(join.left)
        right, right_keys, right_attributes = self._said(join.right)
        columns = ["l.t AS t", *(f"l.k{n}" for n in range(left_keys))]
        columns += [f"r.k{n} AS k{left_keys + n}" for n in range(right_keys)]
        columns += [f"l.a{n}" for n in range(left_attributes)]
        columns += [f"r.a{n} AS a{left_attributes + n}" for n in range(right_attributes)]
        names = [*(f"l.a{n}" for n in range(left_attributes)),
                 *(f"r.a{n}" for n in range(right_attributes))]  # fmt: skip
        condition = condition_sql(join.condition, names, self._margin, self._tight)
        holds = ["l.t = r.t", f"({condition})"]
        holds += [f"l.k{a} = r.k{b}" for a, b in join.equal]
        holds += [f"l.k{a} <> r.k{b}" for a, b in join.unequal]
        sql = (
            f"SELECT {', '.join(columns)} FROM ({left}) AS l JOIN ({right}) AS r "
            f"ON {' AND '.join(holds)}"
        )
        return sql, left_keys + right_keys, left_attributes + right_attributes

    def _map(self, stage: ModelMap, sql: str, names: list[str]) -> tuple[str, int, int]:
        columns = ["t", *(f"k{place} AS k{n}" for n, place in enumerate(stage.key))]
        columns += [f"{_mapped(own, names)} AS a{n}" for n, own in enumerate(stage.attributes)]
        made = f"SELECT {', '.join(columns)} FROM ({sql})"
        there = [f"a{n} IS NOT NULL" for n, own in enumerate(stage.attributes) if own.function]
        if there:
            made = f"SELECT * FROM ({made}) WHERE {' AND '.join(there)}"
        return made, len(stage.key), len(stage.attributes)


def _mapped(attribute: MappedAttribute, names: Sequence[str]) -> str:
    own = polynomial_sql(attribute.polynomial, names)
    if attribute.function == "sqrt":
        return f"CASE WHEN ({own}) >= 0 THEN sqrt({own}) END"
    if attribute.function == "abs":
        return f"abs({own})"
    if attribute.function == "ratio" and attribute.divisor is not None:
        divisor = polynomial_sql(attribute.divisor, names)
        return f"CASE WHEN ({divisor}) <> 0 THEN ({own}) / ({divisor}) END"
    return own


def _names(letter: str, count: int) -> list[str]:
    return [f"{letter}{number}" for number in range(count)]
