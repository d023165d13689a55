"""The clauses behind a model query: bounds, samples, horizons, fits, and its options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

from sqlglot import exp

from penstock.algebra.models import (
    BoundForm,
    ErrorBound,
    Fidelity,
    Fit,
    FitMethod,
    GapRule,
    SplitMethod,
)
from penstock.language.constants import exact_number, is_constant
from penstock.language.nodes import ErrorNode, FitNode, HorizonNode, SampleNode, SplitNode
from penstock.language.places import ScriptSource, suggestion
from penstock.language.within_clauses import LONGEST_US, unit_of
from penstock.vocabulary.errors import PenstockError

HORIZON_US = 10_000_000
"""How long a model holds where HORIZON is not written."""
SPLITS: dict[str, SplitMethod] = {"EQUI": "equi", "GRADIENT": "gradient"}
FITS: dict[str, FitMethod] = {"SLIDING": "sliding", "BOTTOMUP": "bottom_up", "SWAB": "swab"}
FIT_DEGREE_MAX = 3
BUFFER_MAX = 1_000_000
"""Rows that a fit may look at together."""
OPTIONS: dict[str, tuple[str, ...]] = {
    "fidelity": ("repaired", "literal"),
    "gap": ("hold", "zero", "fail"),
}
TOLERANCE = "tolerance"
"""The option that says how near models come to what is no polynomial."""
TOLERANCE_SHARE = 0.1
"""The share of an output's bound that is spent on coming near to what is no polynomial."""


@dataclass(frozen=True, slots=True)
class AskedFit:
    """`FIT attribute USING …`."""

    qualifier: str | None
    attribute: str
    fit: Fit
    node: exp.Expr


@dataclass(frozen=True, slots=True)
class AskedBound:
    """A part of ERROR WITHIN, and where it stands."""

    bound: ErrorBound
    node: exp.Expr


@dataclass(frozen=True, slots=True)
class AskedShare:
    """A part of `SPLIT (…)`, and where it stands."""

    attribute: str
    share: float
    node: exp.Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """What the clauses behind a query say."""

    bounds: tuple[AskedBound, ...] = ()
    sample_us: int | None = None
    sample: exp.Expr | None = None
    split: SplitMethod = "equi"
    shares: tuple[AskedShare, ...] = ()
    horizon_us: int = HORIZON_US
    horizon_min_us: int | None = None
    predicts: bool = False
    fits: tuple[AskedFit, ...] = ()
    fidelity: Fidelity = "repaired"
    gap: GapRule = "hold"
    tolerance: float | None = None

    @property
    def nearness(self) -> float | None:
        """How near models must come to what is no polynomial; None if nothing says so."""
        if self.tolerance is not None:
            return self.tolerance
        amounts = [own.bound.amount for own in self.bounds if own.bound.form == "absolute"]
        return min(amounts) * TOLERANCE_SHARE if amounts else None


def settings_of(
    clauses: Sequence[exp.Expr], options: Mapping[str, Any], source: ScriptSource
) -> ModelSettings:
    """Read the clauses and options of a model query."""
    found = _with_options(ModelSettings(), options)
    met: set[type[exp.Expr]] = set()
    for clause in clauses:
        if type(clause) in met and not isinstance(clause, FitNode):
            fact = f"{_word(clause)} is given twice."
            raise source.error("SQL-006", fact, "Remove one of them.", at=clause)
        met.add(type(clause))
        if isinstance(clause, ErrorNode):
            found = replace(found, bounds=_bounds(clause, source))
        elif isinstance(clause, SampleNode):
            found = replace(found, sample_us=_period(clause, source), sample=clause)
        elif isinstance(clause, SplitNode):
            if clause.this is None:
                found = replace(found, shares=_shares(clause, source))
            else:
                found = replace(found, split=_split(clause, source))
        elif isinstance(clause, HorizonNode):
            least, most = _horizon(clause, source)
            found = replace(found, horizon_us=most, horizon_min_us=least, predicts=True)
        else:
            found = replace(found, fits=(*found.fits, _fit(clause, source)))
    return found


def _word(clause: exp.Expr) -> str:
    words: dict[type[exp.Expr], str] = {ErrorNode: "ERROR WITHIN", SampleNode: "SAMPLE"}
    return words.get(type(clause), "SPLIT" if isinstance(clause, SplitNode) else "HORIZON")


def _with_options(settings: ModelSettings, options: Mapping[str, Any]) -> ModelSettings:
    known = (*OPTIONS, TOLERANCE)
    for written, value in options.items():
        name = written.lower()
        if name not in known:
            fact = f"A model query has no option {name!r}."
            remedy = suggestion(name, known, f"Known are: {', '.join(known)}.")
            raise PenstockError("SQL-070", fact, remedy, option=name)
        if name == TOLERANCE:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0 < value < float("inf"):
                fact = f"Option {name!r} cannot be {value!r}."
                raise PenstockError("SQL-071", fact, "Write a number above zero.", option=name)
            settings = replace(settings, tolerance=float(value))
            continue
        choices = OPTIONS[name]
        if not isinstance(value, str) or value.lower() not in choices:
            fact = f"Option {name!r} cannot be {value!r}."
            remedy = f"Choose one of: {', '.join(map(repr, choices))}."
            raise PenstockError("SQL-071", fact, remedy, option=name)
        if name == "fidelity":
            settings = replace(settings, fidelity=cast(Fidelity, value.lower()))
        else:
            settings = replace(settings, gap=cast(GapRule, value.lower()))
    return settings


def number_in(node: exp.Expr, code: str, what: str, source: ScriptSource) -> Fraction:
    """Give a number that stands in the text, or refuse."""
    value = exact_number(node) if is_constant(node) else None
    if value is None:
        fact = f"{node.sql('duckdb')} is no number, and {what} is one for all queries of a group."
        raise source.error(code, fact, "Write a number.", at=node)
    return value


def duration_us(node: exp.Expr, what: str, source: ScriptSource) -> int:
    """Give the microseconds of `n unit`; `what` says whose length it is."""
    worth = unit_of(node.args["unit"], source, "MDL-017")
    exact = number_in(node.this, "MDL-017", f"the length of {what}", source) * worth
    if not 0 < exact < LONGEST_US or exact.denominator != 1:
        shown = f"{node.this.sql('duckdb')} {node.args['unit'].name}"
        fact = f"{what[0].upper()}{what[1:]} cannot be {shown} long."
        remedy = "Write a number above zero, such as 10 SECONDS, of whole microseconds."
        raise source.error("MDL-017", fact, remedy, at=node)
    return int(exact)


def _bounds(clause: exp.Expr, source: ScriptSource) -> tuple[AskedBound, ...]:
    found: dict[str | None, AskedBound] = {}
    for node in clause.expressions:
        named = node.args.get("attribute")
        attribute = None if named is None else named.name
        amount = number_in(node.this, "MDL-011", "a bound", source)
        percent, form = node.args.get("percent"), node.args.get("form")
        if percent and form == "absolute":
            fact = "A bound in percent is relative, and ABSOLUTE stands beside it."
            raise source.error("MDL-011", fact, "Leave % or ABSOLUTE out.", at=node)
        if amount < 0 or (percent and amount >= 100) or (form == "relative" and amount >= 100):
            fact = f"No answer is within {node.this.sql('duckdb')}{' %' if percent else ''}."
            remedy = "Write a number that is not below zero, in percent one below 100."
            raise source.error("MDL-011", fact, remedy, at=node)
        kept: BoundForm = "relative" if percent or form == "relative" else "absolute"
        key = attribute and attribute.lower()
        if key in found:
            fact = f"{attribute or 'Every output'} has two bounds."
            raise source.error("MDL-011", fact, "Remove one of them.", at=node)
        share = amount / 100 if percent else amount
        bound = ErrorBound(amount=float(share), form=kept, attribute=attribute)
        found[key] = AskedBound(bound, node)
    return tuple(found.values())


def _period(clause: exp.Expr, source: ScriptSource) -> int:
    every = clause.args.get("every")
    if every is not None:
        return duration_us(every, "the pause between samples", source)
    rate: exp.Expr = clause.args["rate"]
    value = number_in(rate, "MDL-017", "a rate", source)
    period = Fraction(1_000_000) / value if value > 0 else Fraction(0)
    if not 1 <= period < LONGEST_US or period.denominator != 1:
        fact = f"{rate.sql('duckdb')} samples per second are no whole microseconds apart."
        remedy = "Write a rate such as 10, at most 1,000,000; or SAMPLE EVERY n MILLISECONDS."
        raise source.error("MDL-017", fact, remedy, at=rate)
    return int(period)


def _split(clause: exp.Expr, source: ScriptSource) -> SplitMethod:
    found = SPLITS.get(clause.name.upper())
    if found is None:
        fact = f"{clause.name!r} is no way to split bounds."
        known = f"Known are: {', '.join(SPLITS)}; or give shares, as in SPLIT (x 3, y 1)."
        remedy = suggestion(clause.name, SPLITS, known)
        raise source.error("MDL-018", fact, remedy, at=clause.this)
    return found


def _shares(clause: exp.Expr, source: ScriptSource) -> tuple[AskedShare, ...]:
    found: dict[str, AskedShare] = {}
    for node in clause.expressions:
        name = node.args["attribute"].name
        value = number_in(node.this, "MDL-018", "a share", source)
        if value <= 0:
            fact = f"The share of {name!r} is not above zero: it would have no part of any bound."
            remedy = "Write a number above zero; or bound it by itself, ERROR WITHIN …, name 0."
            raise source.error("MDL-018", fact, remedy, at=node.this)
        if name.lower() in found:
            fact = f"{name!r} has two shares."
            raise source.error("MDL-018", fact, "Keep one of them.", at=node)
        found[name.lower()] = AskedShare(name, float(value), node)
    return tuple(found.values())


def _horizon(clause: exp.Expr, source: ScriptSource) -> tuple[int | None, int]:
    most = duration_us(clause.this, "a horizon", source)
    shortest = clause.args.get("least")
    least = None if shortest is None else duration_us(shortest, "a horizon", source)
    if least is not None and least >= most:
        fact = "The shortest horizon is not below the longest."
        remedy = "Write HORIZON ADAPTIVE(1 SECOND, 30 SECONDS), the shortest first."
        raise source.error("MDL-017", fact, remedy, at=clause)
    return least, most


def _fit(clause: exp.Expr, source: ScriptSource) -> AskedFit:
    written = clause.args["method"]
    method = FITS.get(written.name.upper())
    if method is None:
        fact = f"{written.name!r} is no way to fit models."
        remedy = suggestion(written.name, FITS, f"Known are: {', '.join(FITS)}.")
        raise source.error("MDL-018", fact, remedy, at=written)
    values = [number_in(each, "MDL-018", "a fit's value", source) for each in clause.expressions]
    buffered = method != "sliding"
    if len(values) > 1 + buffered:
        fact = f"{written.name.upper()} has {len(values)} values."
        remedy = f"Write {written.name.upper()} (max_error{', buffer' if buffered else ''})."
        raise source.error("MDL-018", fact, remedy, at=clause.expressions[1 + buffered])
    if values and values[0] < 0:
        fact = "No residual is below zero."
        remedy = "Write the largest residual that a fitted model may have."
        raise source.error("MDL-018", fact, remedy, at=clause.expressions[0])
    fit = Fit(
        method=method,
        degree=_degree(clause, source),
        error=float(values[0]) if values else None,
        buffer=_buffer(values[1], clause.expressions[1], source) if len(values) > 1 else None,
    )
    table = clause.args.get("table")
    return AskedFit(table and table.name, clause.name, fit, clause)


def _degree(clause: exp.Expr, source: ScriptSource) -> int:
    node = clause.args.get("degree")
    if node is None:
        return Fit().degree
    value = number_in(node, "MDL-018", "a degree", source)
    if value.denominator != 1 or not 0 <= value <= FIT_DEGREE_MAX:
        fact = f"No model is fitted with the degree {node.sql('duckdb')}."
        raise source.error("MDL-018", fact, f"Write 0 to {FIT_DEGREE_MAX}.", at=node)
    return int(value)


def _buffer(value: Fraction, node: exp.Expr, source: ScriptSource) -> int:
    if value.denominator != 1 or not 2 <= value <= BUFFER_MAX:
        fact = f"No fit looks at {node.sql('duckdb')} rows together."
        raise source.error("MDL-018", fact, f"Write 2 to {BUFFER_MAX:,}.", at=node)
    return int(value)
