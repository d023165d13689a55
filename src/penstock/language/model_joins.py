"""FROM, ON and WHERE of a model query: its inputs, how they meet, and what must hold of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from penstock.algebra.models import DEGREE_MAX, ModelFilter, ModelJoin, ModelStage
from penstock.language.conditions import never_matches
from penstock.language.constants import constant_of
from penstock.language.duckdb_checks import DuckError
from penstock.language.join_keys import have_like_keys
from penstock.language.model_clauses import duration_us
from penstock.language.model_conditions import (
    ConditionReader,
    SymbolicCondition,
    all_of,
    comparisons_in,
    condition_node,
    renumbered,
    variables_in,
)
from penstock.language.model_expressions import ExpressionReader
from penstock.language.model_polynomials import SymbolicPolynomial
from penstock.language.model_scopes import ModelNames, NameReference
from penstock.language.model_thresholds import (
    AskedThresholds,
    is_compared,
    key_operand,
    parameter_inside,
    refuse_parameters,
    split_comparisons,
)
from penstock.language.name_resolution import Names
from penstock.language.nodes import DurationNode
from penstock.language.places import ScriptSource
from penstock.vocabulary.errors import PenstockError

AGGREGATES = (exp.Min, exp.Max, exp.Sum, exp.Avg)


@dataclass(slots=True)
class JoinedInputs:
    """The inputs of one SELECT, and what ON and WHERE ask of them.

    `asked` takes what differs from query to query: of the outermost SELECT only. `lifts` says
    which key columns its equalities may be about.
    """

    names: ModelNames
    asked: AskedThresholds | None
    lifts_numbers: bool
    lifts: Callable[[int], bool]
    conditions: list[SymbolicCondition] = field(default_factory=list)
    equal: list[tuple[int, int]] = field(default_factory=list)
    unequal: list[tuple[int, int]] = field(default_factory=list)
    reader: ConditionReader = field(init=False)

    def __post_init__(self) -> None:
        self.reader = ConditionReader(ExpressionReader(self.source, self.variable))

    @property
    def source(self) -> ScriptSource:
        """The text that they stand in."""
        return self.names.source

    def variable(self, node: exp.Expr) -> int | None:
        """Give the position of an attribute; refuse what is no function of time."""
        if not isinstance(node, exp.Column):
            return None
        found = self.names.find(node)
        if found.kind != "attribute":
            raise no_function(found, self.source, node)
        return found.position

    def add(self, condition: exp.Expr, *, lifted: bool) -> None:
        """Take the conditions that AND joins, each to its place."""
        for conjunct in conjuncts(condition):
            self._add_conjunct(conjunct, lifted=lifted)

    def _add_conjunct(self, conjunct: exp.Expr, *, lifted: bool) -> None:
        aggregate = conjunct.find(*AGGREGATES)
        if aggregate is not None:
            fact = "An aggregate stands in a condition on what is aggregated."
            remedy = "Write it into HAVING, behind GROUP BY."
            raise self.source.error("MDL-009", fact, remedy, at=aggregate)
        found = self.names.references(conjunct)
        kinds = {each.kind for each in found}
        if "own" in kinds:
            name = next(each.name for each in found if each.kind == "own")
            fact = f"{name!r} is of the answer, and a condition is asked of its inputs."
            remedy = "Ask for it in SELECT, and compare what is delivered."
            raise self.source.error("MDL-013", fact, remedy, at=conjunct)
        if not found:
            self._add_constant(conjunct)
        elif kinds == {"attribute"}:
            degrees = [each.degree for each in self.names.attributes]
            self.add_timed(conjunct, degrees, lifted=lifted)
        elif "attribute" in kinds:
            raise self._mixed(conjunct, found)
        else:
            self._add_untimed(conjunct, found, lifted=lifted)

    def _add_constant(self, conjunct: exp.Expr) -> None:
        refuse_parameters(conjunct, self.source)
        try:
            for part in conjunct.walk():
                own = constant_of(part, lambda each: each.sql("duckdb"))
                if own is not None and own.is_nan:
                    fact = "The constant is NaN, which counts as NULL here: nothing compares with "
                    remedy = "Remove the comparison."
                    raise self.source.error("SQL-053", f"{fact}it.", remedy, at=part)
            constant = constant_of(conjunct, lambda each: each.sql("duckdb"))
        except DuckError as error:
            raise self.source.error(
                "SQL-033", f"DuckDB says: {error.fact}", "Correct the expression.", at=conjunct
            ) from None
        if constant is None or constant.value is not True:
            raise never_matches(Names(self.source, (), None), conjunct)

    def add_timed(self, conjunct: exp.Expr, degrees: Sequence[int], *, lifted: bool) -> None:
        """Take a condition on functions of time, whose `degrees` they are."""
        for part in split_comparisons(conjunct):
            known = len(self.conditions), 0 if self.asked is None else len(self.asked.comparisons)
            may = lifted or part.find(exp.Placeholder) is not None
            beside = None
            if self.asked is not None and self.lifts_numbers and may and is_compared(part):
                beside = self.asked.add(part, self.reader)
            if beside is None:
                refuse_parameters(part, self.source)
                self.conditions.append(self.reader.read(part))
            else:
                self.conditions += beside
            new = [c for each in self.conditions[known[0] :] for c in comparisons_in(each)]
            fresh = [] if self.asked is None else self.asked.comparisons[known[1] :]
            compared = [*(c.polynomial for c in new), *(c.polynomial for c in fresh)]
            for polynomial in compared:
                check_power(polynomial, degrees, self.source, conjunct)

    def _add_untimed(self, conjunct: exp.Expr, found: list[NameReference], *, lifted: bool) -> None:
        if self._add_key_pair(conjunct):
            return
        asked = key_operand(conjunct)
        if asked is not None and found[0].kind == "key" and len(found) == 1:
            position = found[0].position
            type_ = self.names.key[position].type
            may = lifted or isinstance(asked[1], exp.Placeholder)
            asking = self.asked if may and self.lifts(position) else None
            if asking is not None and asking.add_key(position, type_, asked[1]):
                return
        placeholder = conjunct.find(exp.Placeholder)
        if placeholder is not None:
            raise parameter_inside(placeholder, self.source)
        scopes = {each.scope for each in found}
        draft = self.names.scopes[found[0].scope].draft
        if len(scopes) > 1:
            fact = "A condition speaks of columns of several relations that are no functions of "
            remedy = "Compare key columns by = or <>, or modelled columns."
            raise self.source.error("MDL-013", f"{fact}time.", remedy, at=conjunct)
        if draft is None:
            fact = "A condition on the keys of a query in brackets chooses its rows."
            remedy = "Write it into WHERE inside the brackets."
            raise self.source.error("MDL-013", fact, remedy, at=conjunct)
        draft.add_condition(conjunct)

    def _add_key_pair(self, conjunct: exp.Expr) -> bool:
        """Take an equality, or inequality, of key columns of two inputs."""
        bare = conjunct.unnest()
        if not isinstance(bare, exp.EQ | exp.NEQ):
            return False
        sides = bare.this.unnest(), bare.expression.unnest()
        if not all(isinstance(side, exp.Column) for side in sides):
            return False
        left, right = (self.names.find(side) for side in sides)
        if left.scope == right.scope or {left.kind, right.kind} != {"key"}:
            return False
        self.add_pair(left, right, bare, is_equal=isinstance(bare, exp.EQ))
        return True

    def add_pair(
        self, left: NameReference, right: NameReference, at: exp.Expr, *, is_equal: bool
    ) -> None:
        """Let two key columns be equal, or unequal; refuse those that cannot be compared."""
        types = [self.names.key[each.position].type for each in (left, right)]
        if not have_like_keys(*types):
            fact = f"Key columns of {types[0]} and {types[1]} are compared."
            remedy = "Declare both with the same type, or CAST one in its source."
            raise self.source.error("MDL-019", fact, remedy, at=at)
        ends = sorted((left.position, right.position))
        pairs = self.equal if is_equal else self.unequal
        if (ends[0], ends[1]) not in pairs:
            pairs.append((ends[0], ends[1]))

    def _mixed(self, conjunct: exp.Expr, found: list[NameReference]) -> PenstockError:
        other = next(each for each in found if each.kind != "attribute")
        fact = f"A condition mixes functions of time with {other.name!r}, which is none, in a way "
        remedy = "Write conditions on each beside AND."
        draft = self.names.scopes[other.scope].draft
        if draft is not None and other.kind == "row" and draft.is_number(other.name):
            remedy = f"Make it a function of time: MODEL {other.name} = {other.name}; or write "
            remedy += "conditions on each beside AND."
        return self.source.error("MDL-013", f"{fact}that nothing solves.", remedy, at=conjunct)

    def stage(self) -> ModelStage:
        """Give the inputs, filtered and joined."""
        names = self.names
        counts = [len(scope.attributes) for scope in names.scopes]
        by_scope: dict[int, list[SymbolicCondition]] = {}
        by_join: dict[int, list[SymbolicCondition]] = {}
        for condition in self.conditions:
            met = {names.scope_of_attribute(number) for number in variables_in(condition)} or {0}
            (by_scope if len(met) == 1 else by_join).setdefault(max(met), []).append(condition)
        found: ModelStage | None = None
        for number, scope in enumerate(names.scopes):
            own = scope.make()
            if number in by_scope:
                own = filtered(own, by_scope[number], counts[number], sum(counts[:number]))
            if found is None:
                found = own
                continue
            meets = condition_node(all_of(by_join.get(number, [])), sum(counts[: number + 1]))
            found = ModelJoin(
                left=found,
                right=own,
                condition=meets,
                equal=self._pairs(self.equal, number),
                unequal=self._pairs(self.unequal, number),
                window_us=self._window(number),
            )
        assert found is not None
        return found

    def _pairs(self, pairs: list[tuple[int, int]], number: int) -> tuple[tuple[int, int], ...]:
        """Give the pairs whose second column is of an input, which counts its own columns."""
        found = []
        for left, right in pairs:
            scope, place = self.names.scope_of_key(right)
            if scope == number:
                found.append((left, place))
        return tuple(sorted(found))

    def _window(self, number: int) -> int | None:
        """Give the window of a join: the longest of its inputs."""
        scopes = self.names.scopes[number : number + 1] if number > 1 else self.names.scopes[:2]
        sizes = [size_us(each.window, self.source) for each in scopes if each.window is not None]
        return max(sizes, default=None)


def filtered(
    stage: ModelStage, conditions: list[SymbolicCondition], attributes: int, offset: int = 0
) -> ModelFilter:
    """Give a filter; the variables of its conditions count from `offset`."""

    def moved(polynomial: SymbolicPolynomial) -> SymbolicPolynomial:
        return polynomial.renumbered({each: each - offset for each in polynomial.variables})

    own = [renumbered(each, moved) for each in conditions]
    return ModelFilter(input=stage, condition=condition_node(all_of(own), attributes))


def check_power(
    polynomial: SymbolicPolynomial,
    degrees: Sequence[int],
    source: ScriptSource,
    at: exp.Expr | None,
) -> None:
    """Refuse a polynomial of a higher power of time than models have."""
    degree = polynomial.degree(degrees)
    if degree > DEGREE_MAX:
        fact = f"An expression has the power {degree} of time, {DEGREE_MAX} is the highest."
        remedy = "Model attributes with lower powers, or ask for less in one expression."
        raise source.error("MDL-006", fact, remedy, at=at)


def conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """Give the conditions that AND joins."""
    bare = node.unnest()
    if isinstance(bare, exp.And):
        return [each for part in bare.flatten() for each in conjuncts(part)]
    return [bare]


def no_function(found: NameReference, source: ScriptSource, at: exp.Expr) -> PenstockError:
    """Refuse a column that is no function of time where one is needed."""
    what = "a key column" if found.kind == "key" else "no function of time"
    fact = f"{found.name!r} is {what}, and stands in an expression of functions of time."
    remedy = (
        f"Leave it out; or make a number a function of time: MODEL {found.name} = {found.name}."
    )
    return source.error("MDL-013", fact, remedy, at=at)


def size_us(window: exp.Expr, source: ScriptSource) -> int:
    """Give the size of a window."""
    node = DurationNode(this=window.this.copy(), unit=window.args["unit"].copy())
    return duration_us(node, "a window", source)
