"""Model queries: from SELECT … FROM stream MODEL … to a plan over functions of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from penstock.algebra.logical import Output
from penstock.algebra.models import (
    ErrorBound,
    ModelQueryStep,
    ModelStage,
    SplitShare,
    StandingModelQuery,
)
from penstock.expressions.quotation import numbered, quoted
from penstock.language.comparisons import duck_refusal
from penstock.language.dialect import EXTENT
from penstock.language.duckdb_checks import DuckError, types_of
from penstock.language.model_aggregates import (
    SUPPORTED,
    attribute_names,
    refuse_other_aggregates,
)
from penstock.language.model_answers import AnswerItem
from penstock.language.model_clauses import AskedBound, ModelSettings, duration_us, settings_of
from penstock.language.model_joins import AGGREGATES
from penstock.language.model_maps import MapBuilder, WantedFunction, is_difference
from penstock.language.model_polynomials import SymbolicPolynomial
from penstock.language.model_scopes import ModelNames
from penstock.language.model_selects import (
    OWN,
    BoundSelect,
    ModelReading,
    bind_select,
)
from penstock.language.model_shapes import check_select
from penstock.language.model_sources import refuse_unmet_fits, unknown_attribute
from penstock.language.model_thresholds import AskedComparison, AskedThresholds
from penstock.language.name_resolution import Names, Scope
from penstock.language.nodes import ModelNode
from penstock.language.places import ScriptSource
from penstock.language.queries import Query
from penstock.language.refusals import check_depth, check_functions
from penstock.language.splices import splice
from penstock.vocabulary.errors import PenstockError


def is_model_query(query: Query) -> bool:
    """Say whether a query has MODEL, or a clause that only model queries have."""
    return bool(query.tree.args.get("model_clauses")) or query.tree.find(ModelNode) is not None


def bind_model_query(query: Query) -> StandingModelQuery:
    """Say what a model query asks."""
    try:
        return _bind(query)
    except OverflowError:
        fact = "A number of the query is too large for floats, once it is multiplied out."
        raise query.source.error("MDL-016", fact, "Write smaller numbers.") from None


def _bind(query: Query) -> StandingModelQuery:
    source, tree = query.source, query.tree
    if query.memory is not None:
        fact = "MEMORY bounds the rows that a join keeps, and a model query keeps models."
        raise source.error("MDL-008", fact, "Leave MEMORY out.", at=query.memory)
    refuse_other_aggregates(query.tokens, source)
    check_functions(query.tokens, source, may=SUPPORTED)
    check_select(tree, source)
    assert isinstance(tree, exp.Select)
    check_depth(tree, source)
    settings = settings_of(tree.args.get("model_clauses") or (), query.options, source)
    settings = _with_samples(settings, tree, source)
    own = ("starts", "ends") if settings.sample_us is None else ("at",)
    own = (*own, "status") if settings.predicts else own
    reading = ModelReading(source, query.catalog, query.each, query.tokens, settings)
    asked = AskedThresholds(source, query.each)
    bound = bind_select(tree, reading, own, asked)
    refuse_unmet_fits(settings, reading.drafts, source)
    plan = AnswerPlan(bound, asked, settings)
    plan.build()
    bounds = tuple(_bound(each, plan, reading) for each in settings.bounds)
    places = plan.key_places
    threshold, numbers = asked.finish(len(plan.attributes), places)
    shape = ModelQueryStep(
        plan=plan.stage,
        key=tuple(zip(plan.key, (each.type for each in bound.level.key), strict=True)),
        attributes=tuple(plan.attributes),
        asked=threshold,
        bounds=bounds,
        split=settings.split,
        shares=_shares(settings, reading),
        sample_us=settings.sample_us,
        predicts=settings.predicts,
        fidelity=settings.fidelity,
        untold=_untold(plan, bounds),
    )
    return StandingModelQuery(
        shape=shape,
        outputs=_outputs(plan, shape),
        parameters=asked.parameters.types,
        constants=asked.parameters.constants,
        key_parameters=asked.key_parameters(places),
        number_parameters=numbers,
        where_sql=_where(query, reading),
    )


def _with_samples(
    settings: ModelSettings, select: exp.Select, source: ScriptSource
) -> ModelSettings:
    """Say how often values are told: ADVANCE says so of an aggregate, unless starts is asked for.

    Refused is SAMPLE beside ADVANCE.
    """
    table = select.args["from_"].this
    windows = table.args.get("windows") or []
    having = select.args.get("having")
    parts = [*select.expressions, *([] if having is None else [having])]
    aggregate = any(each.find(*AGGREGATES) is not None for each in parts)
    if not aggregate or not windows or select.args.get("joins"):
        return settings
    slide = windows[0].args.get("advance")
    if settings.sample is not None:
        fact = "ADVANCE says how often an aggregate is told, and SAMPLE says it again."
        raise source.error("MDL-010", fact, "Leave SAMPLE out.", at=settings.sample)
    columns = [each for own in select.expressions for each in own.find_all(exp.Column)]
    segments = any(not each.table and each.name.lower() in {"starts", "ends"} for each in columns)
    if segments or slide is None:
        return settings
    return replace(settings, sample_us=duration_us(slide, "the advance of a window", source))


@dataclass(slots=True)
class AnswerPlan:
    """The plan of the outermost SELECT, and the names that its output has."""

    bound: BoundSelect
    asked: AskedThresholds
    settings: ModelSettings
    key: list[str] = field(default_factory=list)
    attributes: list[str] = field(default_factory=list)
    differences: dict[str, AnswerItem] = field(default_factory=dict)
    stage: ModelStage = field(init=False)
    _wanted: list[WantedFunction] = field(default_factory=list)

    @property
    def key_places(self) -> dict[int, int]:
        """The positions of key columns in the output, by those among the inputs."""
        aggregates = self.bound.aggregates
        if not aggregates:
            return {place: place for place in range(len(self.key))}
        return {position: place for place, position in enumerate(aggregates[0].group)}

    def build(self) -> None:
        """Name what the plan gives, and put maps over it where it has to be computed."""
        bound, level = self.bound, self.bound.level
        taken = {*OWN}
        for place, key in enumerate(level.key):
            self.key.append(_taken(key.name or f"k{place}", taken))
        self.stage = bound.stage
        degrees = [each.degree for each in level.attributes]
        timed = [item for item in bound.items if item.polynomial is not None]
        for item in timed:
            assert item.polynomial is not None
            if is_difference(item.polynomial, level.attributes):
                self.differences[item.name.lower()] = item
        plain = [item.polynomial.bare for item in timed if item.polynomial is not None]
        if all(place is not None and place >= 0 for place in plain):
            names = dict(zip(reversed(plain), (i.name for i in reversed(timed)), strict=True))
            for place, attribute in enumerate(level.attributes):
                wished = names.get(place) or attribute.name or f"a{place}"
                self.attributes.append(_taken(wished, taken))
            return
        for item in timed:
            assert item.polynomial is not None
            self._want(item.name, item.polynomial, item.node, taken)
        self._rewrite_asked(taken)
        builder = MapBuilder(
            stage=bound.stage,
            names=attribute_names(level.attributes),
            degrees=degrees,
            keys=len(level.key),
            atoms=dict(level.reader.atoms),
            settings=self.settings,
            source=bound.names.source,
            wanted=list(self._wanted),
        )
        builder.build()
        self.stage = builder.stage

    def place_of(self, polynomial: SymbolicPolynomial) -> int:
        """Give the position of a function in the output."""
        if not self._wanted:
            assert polynomial.bare is not None
            return polynomial.bare
        return next(n for n, each in enumerate(self._wanted) if each.polynomial == polynomial)

    def _want(
        self, name: str, polynomial: SymbolicPolynomial, node: exp.Expr, taken: set[str]
    ) -> int:
        """Give the position of a function in the output, which it gets if it has none."""
        for place, each in enumerate(self._wanted):
            if each.polynomial == polynomial:
                return place
        self.attributes.append(_taken(name, taken))
        self._wanted.append(WantedFunction(self.attributes[-1], polynomial, node))
        return len(self._wanted) - 1

    def _rewrite_asked(self, taken: set[str]) -> None:
        """Say comparisons over what is mapped: a whole function, or attributes that are kept."""
        level = self.bound.level
        known = list(self._wanted)
        rewritten: list[AskedComparison] = []
        for asked in self.asked.comparisons:
            own = asked.polynomial
            found: SymbolicPolynomial | None = None
            for place, each in enumerate(known):
                if own in (each.polynomial, -each.polynomial) and own.terms:
                    variable = SymbolicPolynomial.variable(place)
                    found = variable if own == each.polynomial else -variable
                    break
            if found is None:
                by = {}
                for number in own.variables:
                    name = level.attributes[number].name or f"a{number}"
                    variable = SymbolicPolynomial.variable(number)
                    by[number] = self._want(name, variable, self.bound.names.scopes[0].node, taken)
                found = own.renumbered(by)
            rewritten.append(replace(asked, polynomial=found))
        self.asked.comparisons = rewritten


def _taken(name: str, taken: set[str]) -> str:
    found = numbered(name, taken)
    taken.add(found.lower())
    return found


def _outputs(plan: AnswerPlan, shape: ModelQueryStep) -> tuple[Output, ...]:
    """Say every column over those that the plan's rows have; DuckDB must be able to read it."""
    found: list[Output] = []
    made = dict(shape.made)
    names: ModelNames = plan.bound.names
    for item in plan.bound.items:
        if item.key is not None:
            sql = quoted(plan.key[item.key])
        elif item.own is not None:
            sql = quoted(item.own)
        elif item.polynomial is not None:
            sql = quoted(plan.attributes[plan.place_of(item.polynomial)])
        else:
            sql = plan.bound.reader.text(item, plan.key)
            try:
                types_of([sql], made)
            except DuckError as error:
                refuse = Names(names.source, (), None)
                raise duck_refusal(error, refuse, item.node, "SQL-032") from None
        found.append(Output(name=item.name, sql=sql))
    return tuple(found)


def _bound(asked: AskedBound, plan: AnswerPlan, reading: ModelReading) -> ErrorBound:
    """Say which attribute a bound is about; refuse shares of what may be zero."""
    bound = asked.bound
    timed = {i.name.lower(): i for i in plan.bound.items if i.polynomial is not None}
    sources = [each.name for draft in reading.drafts for each in draft.attributes]
    name = None if bound.attribute is None else bound.attribute.lower()
    relative = bound.form == "relative"
    item = timed.get(name) if name is not None else None
    met = [name] if name is not None else list(timed)
    difference = next((each for each in met if each in plan.differences), None)
    if relative and difference is not None:
        raise _relative_difference(plan.differences[difference], sources, asked, reading.source)
    if name is None:
        return bound
    if item is not None:
        assert item.polynomial is not None
        return replace(bound, attribute=plan.attributes[plan.place_of(item.polynomial)])
    known = next((each for each in sources if each.lower() == name), None)
    if known is None:
        assert bound.attribute is not None
        raise unknown_attribute(
            bound.attribute, reading.drafts, "MDL-011", asked.node, reading.source
        )
    return replace(bound, attribute=known)


def _shares(settings: ModelSettings, reading: ModelReading) -> tuple[SplitShare, ...]:
    """Say which attributes have shares, each by its own name and in one order."""
    sources = [each.name for draft in reading.drafts for each in draft.attributes]
    found = []
    for asked in settings.shares:
        name = asked.attribute.lower()
        known = next((each for each in sources if each.lower() == name), None)
        if known is None:
            raise unknown_attribute(
                asked.attribute, reading.drafts, "MDL-018", asked.node, reading.source
            )
        found.append(SplitShare(attribute=known, share=asked.share))
    return tuple(sorted(found, key=lambda each: each.attribute))


def _untold(plan: AnswerPlan, bounds: Sequence[ErrorBound]) -> tuple[int, ...]:
    """Give the attributes that the query does not tell, where its bounds are all of named ones.

    What may be off then depends on who is told what; a bound of every output is of these, too.
    """
    if not bounds or any(each.attribute is None for each in bounds):
        return ()
    timed = (item.polynomial for item in plan.bound.items if item.polynomial is not None)
    told = {plan.place_of(polynomial) for polynomial in timed}
    return tuple(place for place in range(len(plan.attributes)) if place not in told)


def _relative_difference(
    item: AnswerItem, sources: list[str], asked: AskedBound, source: ScriptSource
) -> PenstockError:
    amount = f"{asked.bound.amount * 100:g} %"
    fact = f"{item.name!r} is a difference of attributes, which may be zero, and of zero {amount} "
    remedy = (
        f"Name the attribute that the share is of, such as ERROR WITHIN {sources[0]} {amount}; "
        "or write an amount."
    )
    return source.error("MDL-011", f"{fact}is nothing.", remedy, at=asked.node)


def _where(query: Query, reading: ModelReading) -> str:
    """Say WHERE over the rows of the only relation, as other queries do; else nothing."""
    where = query.tree.args.get("where")
    if where is None or len(reading.drafts) != 1 or query.tree.args.get("group") is not None:
        return "TRUE"
    (draft,) = reading.drafts
    extent = where.this.meta.get(EXTENT)
    if extent is None or not isinstance(query.tree.args["from_"].this, exp.Table):
        return "TRUE"
    names = Names(query.source, (Scope(draft.relation, draft.qualifier),), query.each)
    names.tokens = query.tokens
    names.resolve(exp.Paren(this=where.this.copy()))
    return splice(names.tokens_in(extent), query.source.text, names.qualified())
