"""Equations: conditions, maps and stages of a plan in words that people read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from penstock.algebra.models import (
    Comparator,
    MappedAttribute,
    ModelComparison,
    ModelCondition,
    ModelConjunction,
    ModelEnvelope,
    ModelFilter,
    ModelJoin,
    ModelMap,
    ModelNegation,
    ModelSource,
    ModelStage,
    Monomial,
    Polynomial,
    stages,
)

FLIPPED: dict[Comparator, Comparator] = {
    "<": ">", "<=": ">=", "=": "=", "<>": "<>", ">=": "<=", ">": "<",
}  # fmt: skip
NamedStage = tuple[ModelStage, int, int, list[str]]
"""A stage, the number of its first source, how many sources it has, and its attributes' names."""
UNITS = (("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000), ("ms", 1_000))


def polynomial_text(polynomial: Polynomial, names: Sequence[str]) -> str:
    """Write a polynomial, the highest powers first.

    >>> square = Monomial(factor=2.0, powers=(2, 0))
    >>> both = Monomial(factor=-1.0, powers=(1, 1))
    >>> polynomial_text(Polynomial(terms=(both, square)), ["x", "y"])
    '2·x² - x·y'
    """
    terms = sorted(polynomial.terms, key=lambda own: own.powers, reverse=True)
    words = ""
    for term in terms:
        own = _term(term, names)
        sign = "-" if term.factor < 0 else "+"
        words += f" {sign} {own}" if words else f"{'-' if term.factor < 0 else ''}{own}"
    return words or "0"


def _term(term: Monomial, names: Sequence[str]) -> str:
    factor = abs(term.factor)
    powers = [
        name if power == 1 else f"{name}{_raised(power)}"
        for name, power in zip(names, term.powers, strict=True)
        if power
    ]
    if factor != 1.0 or not powers:
        powers.insert(0, f"{factor:g}")
    return "·".join(powers)


def _raised(power: int) -> str:
    return "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(power))


def condition_text(condition: ModelCondition, names: Sequence[str]) -> str:
    """Write a condition; what is compared with 0 has its number on the right.

    >>> far = Polynomial(terms=(Monomial(factor=-110.0, powers=(0,)),
    ...                         Monomial(factor=1.0, powers=(1,))))
    >>> condition_text(ModelComparison(polynomial=far, comparator="<"), ["price"])
    'price < 110'
    """
    if isinstance(condition, ModelComparison):
        return _comparison(condition, names)
    if isinstance(condition, ModelNegation):
        return f"NOT ({condition_text(condition.term, names)})"
    is_and = isinstance(condition, ModelConjunction)
    if not condition.terms:
        return "always" if is_and else "never"
    own = [
        f"({text})" if not isinstance(term, ModelComparison) and len(condition.terms) > 1 else text
        for term, text in ((each, condition_text(each, names)) for each in condition.terms)
    ]
    return (" AND " if is_and else " OR ").join(own)


def _comparison(comparison: ModelComparison, names: Sequence[str]) -> str:
    comparator = comparison.comparator
    if comparison.parameter is not None:
        number = f":{comparison.parameter}"
        shown = f"{number}·|{number}|" if comparison.squared else number
        return f"{polynomial_text(comparison.polynomial, names)} {comparator} {shown}"
    terms = comparison.polynomial.terms
    constant = sum(own.factor for own in terms if not any(own.powers))
    rest = Polynomial(terms=tuple(own for own in terms if any(own.powers)))
    if rest.terms and all(own.factor < 0 for own in rest.terms):
        turned = tuple(Monomial(factor=-own.factor, powers=own.powers) for own in rest.terms)
        rest, constant, comparator = Polynomial(terms=turned), -constant, FLIPPED[comparator]
    return f"{polynomial_text(rest, names)} {comparator} {-constant + 0.0:g}"


def duration_text(duration_us: int) -> str:
    """Write a duration in the largest unit that it is a whole number of.

    >>> duration_text(90_000_000), duration_text(250)
    ('90 s', '250 µs')
    """
    for unit, size in UNITS:
        if duration_us % size == 0 and duration_us >= size:
            return f"{duration_us // size:,} {unit}"
    return f"{duration_us:,} µs"


class StageWords:
    """Says the stages of a plan, inputs first, each attribute by a name that no other has."""

    def __init__(self, plan: ModelStage) -> None:
        self._plan = plan
        sources = [each for each in stages(plan) if isinstance(each, ModelSource)]
        often = Counter(each.relation for each in sources)
        seen: Counter[str] = Counter()
        self.sources: list[tuple[str, ModelSource]] = []
        for each in sources:
            seen[each.relation] += 1
            number = f" {seen[each.relation]}" if often[each.relation] > 1 else ""
            self.sources.append((f"{each.relation}{number}", each))
        self._alone = len(sources) == 1

        self._lines: list[tuple[str, str]] = []
        self._stages: list[NamedStage] = []
        self._walk(plan, iter(self.sources))

    def lines(self) -> list[tuple[str, str]]:
        """Give the word of every stage but the sources, and what it does."""
        return self._lines

    def stages(self) -> list[NamedStage]:
        """Give every stage, its first source, how many it has, and the names of its attributes."""
        return self._stages

    def _walk(
        self, stage: ModelStage, sources: Iterator[tuple[str, ModelSource]]
    ) -> tuple[list[str], int, int]:
        """Say a stage behind its inputs; give the names of its attributes, and its sources."""
        names, first, count = self._said(stage, sources)
        self._stages.append((stage, first, count, names))
        return names, first, count

    def _said(
        self, stage: ModelStage, sources: Iterator[tuple[str, ModelSource]]
    ) -> tuple[list[str], int, int]:
        found = self._lines
        if isinstance(stage, ModelSource):
            name, _ = next(sources)
            own = [each.name for each in stage.attributes]
            first = [each for each, _ in self.sources].index(name)
            return (own if self._alone else [f"{name}.{each}" for each in own]), first, 1
        if isinstance(stage, ModelJoin):
            left, first, one = self._walk(stage.left, sources)
            right, _, other = self._walk(stage.right, sources)
            names = [*left, *right]
            pairs = [f"key {a + 1} = key {b + 1}" for a, b in stage.equal]
            pairs += [f"key {a + 1} <> key {b + 1}" for a, b in stage.unequal]
            condition = condition_text(stage.condition, names)
            words = " AND ".join([*pairs, *([condition] if condition != "always" else [])])
            window = "" if stage.window_us is None else f" within {duration_text(stage.window_us)}"
            found.append(("join", f"{words or 'all pairs'}{window}"))
            return names, first, one + other
        names, first, count = self._walk(stage.input, sources)
        if isinstance(stage, ModelFilter):
            found.append(("filter", condition_text(stage.condition, names)))
            return names, first, count
        if isinstance(stage, ModelMap):
            found += [("map", _mapped(each, names)) for each in stage.attributes]
            return [each.name for each in stage.attributes], first, count
        groups = ", ".join(f"key {place + 1}" for place in stage.group)
        by = f" by {groups}" if stage.group else " over all keys"
        own_name = names[stage.attribute]
        words = f"{stage.name} = {stage.function}({own_name})"
        if isinstance(stage, ModelEnvelope):
            found.append(("envelope", f"{words}{by}"))
            return [stage.name], first, count
        every = f"over {duration_text(stage.size_us)} every {duration_text(stage.slide_us)}"
        found.append(("window", f"{words} {every}{by}, gaps {stage.gap}"))
        return [stage.name], first, count


def _mapped(attribute: MappedAttribute, names: Sequence[str]) -> str:
    own = polynomial_text(attribute.polynomial, names)
    if attribute.function == "ratio" and attribute.divisor is not None:
        own = f"({own}) / ({polynomial_text(attribute.divisor, names)})"
    elif attribute.function is not None:
        own = f"{attribute.function}({own})"
    near = f" ± {attribute.tolerance:g}" if attribute.function is not None else ""
    return f"{attribute.name} = {own}{near}"
