"""Laws of MODEL, `x + v * t`: the coefficient of every power of t, as a text for DuckDB."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from penstock.algebra.models import DEGREE_MAX
from penstock.language.constants import exact_number, is_constant
from penstock.language.dialect import EXTENT, Span
from penstock.language.places import ScriptSource
from penstock.vocabulary.errors import PenstockError

TIME = "t"
"""What a law calls the seconds since its row's event time."""
TEXT_MAX = 8_192
"""Characters of all coefficients of a law."""
FORMS = "Write a sum of columns' expressions times powers of t, such as x + v * t + a * t ^ 2 / 2."

Coefficients = dict[int, str]
"""Texts by the power of t."""


def is_time(node: exp.Expr) -> bool:
    """Say whether a node is t itself; a column of that name is resolved, and has a span."""
    if not isinstance(node, exp.Column) or "span" in node.meta:
        return False
    return len(node.parts) == 1 and node.name.lower() == TIME


class LawReader:
    """Reads laws; `say` gives the words of an expression of columns alone."""

    def __init__(self, source: ScriptSource, say: Callable[[exp.Expr], str]) -> None:
        self._source = source
        self._say = say

    def read(self, law: exp.Expr) -> tuple[str, ...]:
        """Give the coefficients, the constant one first."""
        found = self._read(law)
        degree = max(found, default=0)
        return tuple(found.get(power, "0") for power in range(degree + 1))

    def _read(self, node: exp.Expr) -> Coefficients:
        found = self._parts(node)
        if max(found, default=0) > DEGREE_MAX:
            fact = f"The model has the power {max(found)} of t, {DEGREE_MAX} is the highest."
            raise self._source.error("MDL-006", fact, "Write a model of lower powers.", at=node)
        if sum(map(len, found.values())) > TEXT_MAX:
            fact = f"The coefficients of the model have more than {TEXT_MAX:,} characters."
            remedy = "Compute a part of them in the stream's source."
            raise self._source.error("MDL-016", fact, remedy, at=node)
        return found

    def _parts(self, node: exp.Expr) -> Coefficients:
        bare = node.unnest()
        if is_time(bare):
            return {1: "1"}
        if not any(is_time(each) for each in bare.walk()):
            return {0: self._words(bare)}
        if isinstance(bare, exp.Neg):
            return {power: f"-{_bracketed(own)}" for power, own in self._read(bare.this).items()}
        if isinstance(bare, exp.Add | exp.Sub):
            return self._sum(bare)
        if isinstance(bare, exp.Mul):
            return _product(self._read(bare.this), self._read(bare.expression))
        if isinstance(bare, exp.Div) and self._is_free(bare.expression):
            below = _bracketed(self._words(bare.expression.unnest()))
            above = self._read(bare.this)
            return {power: f"{_bracketed(own)} / {below}" for power, own in above.items()}
        if isinstance(bare, exp.Pow) and is_constant(bare.expression):
            return self._power(bare)
        raise self._refused(bare)

    def _words(self, node: exp.Expr) -> str:
        """Give the words of an expression without t; the first part of a chain has no extent."""
        extent = _extent(node)
        if extent is not None:
            node.meta[EXTENT] = extent
        return self._say(node)

    def _is_free(self, node: exp.Expr) -> bool:
        return not any(is_time(each) for each in node.walk())

    def _sum(self, node: exp.Add | exp.Sub) -> Coefficients:
        found = self._read(node.this)
        sign = "+" if isinstance(node, exp.Add) else "-"
        for power, own in self._read(node.expression).items():
            if power in found:
                found[power] = f"{_bracketed(found[power])} {sign} {_bracketed(own)}"
            else:
                found[power] = own if sign == "+" else f"-{_bracketed(own)}"
        return found

    def _power(self, node: exp.Pow) -> Coefficients:
        exponent = exact_number(node.expression)
        if exponent is None or exponent.denominator != 1 or exponent < 0:
            raise self._refused(node)
        if exponent > DEGREE_MAX:
            fact = f"The model has the power {exponent} of t, {DEGREE_MAX} is the highest."
            raise self._source.error("MDL-006", fact, "Write a model of lower powers.", at=node)
        own, found = self._read(node.this), {0: "1"}
        for _ in range(int(exponent)):
            found = _product(found, own)
            if sum(map(len, found.values())) > TEXT_MAX:
                break
        return found

    def _refused(self, node: exp.Expr) -> PenstockError:
        fact = f"{node.sql('duckdb')} is no polynomial of t."
        return self._source.error("MDL-005", fact, FORMS, at=node)


def _product(left: Coefficients, right: Coefficients) -> Coefficients:
    found: dict[int, list[str]] = {}
    for power, a in left.items():
        for other, b in right.items():
            both = [_bracketed(each) for each in (a, b) if each != "1"]
            found.setdefault(power + other, []).append(" * ".join(both) or "1")
    return {power: " + ".join(parts) for power, parts in found.items()}


def _extent(node: exp.Expr) -> Span | None:
    """Say where the words of an expression stand: from its first part to its last."""
    own: Span | None = node.meta.get(EXTENT)
    if own is not None or not isinstance(node, exp.Binary):
        return own
    first, last = _extent(node.this), _extent(node.expression)
    return None if first is None or last is None else Span(first.start, last.end)


def _bracketed(text: str) -> str:
    """Put what is more than one word in brackets."""
    return text if text.replace(".", "", 1).isalnum() else f"({text})"
