"""Aggregates of model queries: which ones a SELECT asks for, over which window and groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.algebra.models import (
    MappedAttribute,
    ModelConjunction,
    ModelEnvelope,
    ModelJoin,
    ModelMap,
    ModelStage,
    ModelWindow,
    WindowFunction,
)
from penstock.expressions.catalogue import functions
from penstock.language.model_clauses import ModelSettings, duration_us
from penstock.language.model_joins import AGGREGATES, JoinedInputs, size_us
from penstock.language.model_maps import MapBuilder, WantedFunction, is_difference
from penstock.language.model_polynomials import SymbolicPolynomial
from penstock.language.model_scopes import ModelNames, TimedAttribute
from penstock.language.places import ScriptSource
from penstock.vocabulary.errors import PenstockError

FUNCTIONS: dict[type[exp.Expr], WindowFunction] = {
    exp.Min: "min",
    exp.Max: "max",
    exp.Sum: "sum",
    exp.Avg: "avg",
}
SUPPORTED = frozenset(FUNCTIONS.values())
INTEGRALS = frozenset({"sum", "avg"})
AGGREGATES_MAX = 4
"""Aggregates of one SELECT: each reads the inputs by itself."""


def refuse_other_aggregates(tokens: Sequence[Token], source: ScriptSource) -> None:
    """Refuse aggregates that functions of time do not have: those that count rows."""
    known = functions()
    for place, token in enumerate(tokens[:-1]):
        name = token.text.lower()
        called = tokens[place + 1].token_type is TokenType.L_PAREN
        if not called or token.token_type is TokenType.STRING or name in SUPPORTED:
            continue
        if known.get(name) == "aggregate":
            raise source.error(
                "MDL-009",
                f"{token.text}() is no aggregate of functions of time: a function has a value at "
                "every instant, and no rows that could be counted, listed or weighed.",
                "Use min, max, sum or avg; or ask for the rows by a query without MODEL.",
                at=token.start,
            )


@dataclass(frozen=True, slots=True)
class AskedAggregate:
    """An aggregate of a SELECT, and the key columns that it groups by."""

    node: exp.Expr
    function: WindowFunction
    group: tuple[int, ...]
    window: exp.Expr | None

    @property
    def argument(self) -> exp.Expr:
        """What is aggregated."""
        argument: exp.Expr = self.node.this
        return argument

    @property
    def slide(self) -> exp.Expr | None:
        """The ADVANCE of its window."""
        return None if self.window is None else self.window.args.get("advance")

    def is_same(self, node: exp.Expr) -> bool:
        """Say whether a node is this aggregate again."""
        return isinstance(node, AGGREGATES) and node == self.node


def aggregates_of(select: exp.Select, names: ModelNames) -> list[AskedAggregate]:
    """Find the aggregates of a SELECT, each once; refuse what groups by no key columns."""
    source = names.source
    having = select.args.get("having")
    trees = [*select.expressions, *([having] if having is not None else [])]
    found = [node for tree in trees for node in tree.find_all(*AGGREGATES)]
    group = select.args.get("group")
    if not found:
        if group is not None or having is not None:
            fact = "The query groups, and has no aggregate."
            remedy = "Ask for min, max, sum or avg of a modelled attribute; or leave GROUP BY out."
            raise source.error("MDL-009", fact, remedy, at=group or having)
        return []
    window = names.scopes[0].window if len(names.scopes) == 1 else None
    by = _group(group, names)
    asked: list[AskedAggregate] = []
    for node in found:
        _check_plain(node, source)
        _check_window(node, window, names)
        if not any(each.is_same(node) for each in asked):
            asked.append(AskedAggregate(node, FUNCTIONS[type(node)], by, window))
    if len(asked) > AGGREGATES_MAX:
        fact = f"The query has {len(asked)} aggregates, {AGGREGATES_MAX} may be."
        remedy = "Ask for some of them by a query of their own."
        raise source.error("MDL-016", fact, remedy, at=asked[AGGREGATES_MAX].node)
    return asked


def _check_window(node: exp.Expr, window: exp.Expr | None, names: ModelNames) -> None:
    """Refuse an aggregate that needs a window and has none, or none that says how often."""
    source = names.source
    if window is None and FUNCTIONS[type(node)] in INTEGRALS:
        fact = f"{node.sql('duckdb')} is over a window, and there is none."
        remedy = "Add one behind the relation, such as [SIZE 10 SECONDS ADVANCE 2 SECONDS]"
        where = "." if len(names.scopes) == 1 else "; put a join in brackets, and it behind them."
        raise source.error("MDL-009", fact, f"{remedy}{where}", at=node)
    if window is not None and window.args.get("advance") is None:
        size_us(window, source)
        fact = "The window of an aggregate has no ADVANCE: nothing says how often it is told."
        remedy = "Write [SIZE 10 SECONDS ADVANCE 2 SECONDS]."
        raise source.error("MDL-009", fact, remedy, at=window)


def _check_plain(node: exp.Expr, source: ScriptSource) -> None:
    further = any(value for name, value in node.args.items() if name not in {"this", "big_int"})
    filtered = isinstance(node.parent, exp.Filter | exp.Window | exp.WithinGroup)
    odd = node.this is None or isinstance(node.this, exp.Distinct | exp.Star | exp.Order)
    if further or filtered or odd:
        fact = f"{node.sql('duckdb')} is no plain aggregate of a function of time."
        remedy = "Write min(x), max(x), sum(x) or avg(x); and what FILTER says into WHERE."
        raise source.error("MDL-009", fact, remedy, at=node)
    inside = node.this.find(*AGGREGATES)
    if inside is not None:
        fact = "An aggregate stands inside an aggregate."
        remedy = "Compute the inner one in a query in brackets."
        raise source.error("MDL-009", fact, remedy, at=inside)


def _group(group: exp.Expr | None, names: ModelNames) -> tuple[int, ...]:
    if group is None:
        return ()
    further = [name for name, value in group.args.items() if value and name != "expressions"]
    if further:
        fact = f"GROUP BY {further[0].upper().replace('_', ' ')} is not supported."
        raise names.source.error("MDL-015", fact, "List key columns.", at=group)
    found: list[int] = []
    for node in group.expressions:
        bare = node.unnest()
        reference = names.find(bare) if isinstance(bare, exp.Column) else None
        if reference is None or reference.kind != "key":
            fact = f"{node.sql('duckdb')} is no key column, and models are grouped by these."
            remedy = "Group by columns of KEY; add it to KEY, if it names what has a model."
            raise names.source.error("MDL-015", fact, remedy, at=node)
        if reference.position not in found:
            found.append(reference.position)
    return tuple(found)


def aggregated(
    asked: AskedAggregate,
    inputs: JoinedInputs,
    stage: ModelStage,
    name: str,
    settings: ModelSettings,
) -> tuple[ModelStage, TimedAttribute]:
    """Put an aggregate over a stage; its argument becomes an attribute first."""
    names, source = inputs.names, inputs.source
    degrees = [each.degree for each in names.attributes]
    polynomial = inputs.reader.expressions.read(asked.argument)
    signed = is_difference(polynomial, names.attributes)
    attribute = polynomial.bare
    if attribute is None or attribute < 0:
        if polynomial.is_constant:
            raise no_attribute(asked.argument, source)
        builder = MapBuilder(
            stage=stage,
            names=attribute_names(names.attributes),
            degrees=degrees,
            keys=len(names.key),
            atoms=dict(inputs.reader.expressions.atoms),
            settings=settings,
            source=source,
            wanted=[WantedFunction(name, polynomial, asked.argument)],
        )
        degrees = builder.build()
        stage, attribute = builder.stage, 0
    degree = degrees[attribute]
    if asked.window is None:
        assert asked.function in {"min", "max"}
        envelope = ModelEnvelope(
            input=stage,
            function="min" if asked.function == "min" else "max",
            attribute=attribute,
            name=name,
            group=asked.group,
        )
        return envelope, TimedAttribute(name, degree, signed)
    slide = asked.slide
    assert slide is not None
    window = ModelWindow(
        input=stage,
        function=asked.function,
        attribute=attribute,
        name=name,
        size_us=size_us(asked.window, source),
        slide_us=duration_us(slide, "the advance of a window", source),
        group=asked.group,
        gap=settings.gap,
    )
    return window, TimedAttribute(name, degree + (asked.function in INTEGRALS), signed)


def beside(
    made: Sequence[tuple[ModelStage, TimedAttribute]], group: int
) -> tuple[ModelStage, tuple[TimedAttribute, ...]]:
    """Put aggregates of the same groups beside each other: joined by `group` key columns."""
    stage = made[0][0]
    names = [str(attribute.name) for _, attribute in made]
    for count, (other, _) in enumerate(made[1:], start=2):
        joined = ModelJoin(
            left=stage,
            right=other,
            condition=ModelConjunction(terms=()),
            equal=tuple((place, place) for place in range(group)),
        )
        attributes = tuple(
            MappedAttribute(name=names[n], polynomial=SymbolicPolynomial.variable(n).node(count))
            for n in range(count)
        )
        stage = ModelMap(input=joined, attributes=attributes, key=tuple(range(group)))
    return stage, tuple(attribute for _, attribute in made)


def no_attribute(node: exp.Expr, source: ScriptSource) -> PenstockError:
    """Refuse a number where a function of time is needed."""
    fact = f"{node.sql('duckdb')} names no modelled attribute."
    return source.error("MDL-012", fact, "Name one that MODEL has.", at=node)


def attribute_names(attributes: Sequence[TimedAttribute]) -> list[str]:
    """Name attributes that are passed on, each differently."""
    return [f"a{place}" for place in range(len(attributes))]
