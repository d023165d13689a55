"""Golden pairs: SQL, then what the language room makes of it.

`PENSTOCK_UPDATE=1` rewrites the files; review reads the diff.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.algebra.bounded_joins import BoundedJoin
from penstock.algebra.catalog import Relation
from penstock.algebra.crossings import CrossedQuery
from penstock.algebra.inputs import Place
from penstock.algebra.joins import StandingJoin
from penstock.algebra.logical import Logical
from penstock.algebra.lookups import LookupJoin
from penstock.algebra.memories import Memory
from penstock.algebra.multi_joins import MultiJoin
from penstock.algebra.predicates import Bound, Branch, Residual
from penstock.algebra.range_aggregates import StandingRangeAggregate
from penstock.algebra.views import StandingView
from penstock.kinds.binder import bind
from penstock.language.lookup_clauses import lookup_of, lookup_relation
from penstock.language.model_queries import bind_model_query, is_model_query
from penstock.language.parser import parse
from penstock.language.queries import read_query
from tests.support.golden import hold
from tests.support.model_plans import model_lines

FOLDER = Path(__file__).parent / "language"
SCHEMA = pa.schema(
    [
        ("symbol", pa.string()),
        ("price", pa.float64()),
        ("size", pa.int32()),
        ("fee", pa.decimal128(10, 2)),
        ("ratio", pa.float32()),
        ("active", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us")),
        ("ts", pa.timestamp("us", "UTC")),
        ("tags", pa.list_(pa.string())),
        ("info", pa.struct([("a", pa.int32())])),
        ("Odd Name", pa.int64()),
    ]
)
EACH = pa.schema(
    [
        ("lo", pa.float64()),
        ("hi", pa.float64()),
        ("sym", pa.string()),
        ("n", pa.int64()),
        ("since", pa.timestamp("us")),
    ]
)
OFFERS = pa.schema(
    [
        ("id", pa.int64()),
        ("product", pa.string()),
        ("price", pa.float64()),
        ("place", pa.int32()),
        ("cost", pa.decimal128(8, 2)),
        ("day", pa.date32()),
        ("big", pa.uint64()),
        ("op", pa.string()),
    ]
)
VESSELS = pa.schema(
    [
        ("id", pa.int64()),
        ("fleet", pa.string()),
        *((name, pa.float64()) for name in ("x", "y", "vx", "vy", "ax", "t")),
        ("ts", pa.timestamp("us", "UTC")),
    ]
)
CATALOG = {
    relation.name.lower(): relation
    for relation in (
        Relation(name="trades", kind="stream", schema=SCHEMA, event_time="ts"),
        Relation(name="quotes", kind="stream", schema=SCHEMA, event_time="at"),
        Relation(name="plain", kind="stream", schema=SCHEMA),
        Relation(name="vessels", kind="stream", schema=VESSELS, event_time="ts"),
        Relation(name="Offers", kind="table", schema=OFFERS, change_column="op"),
        Relation(
            name="demand",
            kind="table",
            schema=OFFERS.append(pa.field("urgent", pa.bool_())),
            change_column="op",
        ),
        lookup_relation(
            "prices", OFFERS, lookup_of("prices", "duckdb:prices.duckdb", "product", 5000, "LRU")
        ),
        lookup_relation("places", OFFERS, lookup_of("places", "duckdb:prices.duckdb", "place", 10)),
    )
}


def show_plan(sql: str) -> list[str]:
    """Show a plan. `-- alone` takes the rows of FOR EACH away, `-- {…}` gives options."""
    each = EACH if re.search(r":\w", sql) and "-- alone" not in sql else None
    options = re.search(r"-- (\{.*\})", sql)
    given = ast.literal_eval(options[1]) if options else None
    query = read_query(sql, CATALOG, each, given)
    if is_model_query(query):
        model_query = bind_model_query(query)
        return model_lines(model_query) + _common_lines(model_query)
    plan = bind(sql, CATALOG, each, given)
    if isinstance(plan, StandingJoin):
        return _join_lines(plan) + _common_lines(plan)
    if isinstance(plan, MultiJoin):
        return _multi_join_lines(plan) + _common_lines(plan)
    if isinstance(plan, BoundedJoin):
        lines = _multi_join_lines(plan, "no window")
        return lines + _memory_lines(plan.memory) + _common_lines(plan)
    if isinstance(plan, LookupJoin):
        lines = _multi_join_lines(plan, "as it comes")
        lines.append(f"looked up: i{plan.looked_up} by {plan.lookup.key}")
        return lines + _memory_lines(plan.lookup.memory) + _common_lines(plan)
    if isinstance(plan, StandingRangeAggregate):
        return _range_lines(plan) + _common_lines(plan)
    if isinstance(plan, StandingView):
        return _view_lines(plan)
    return [_branch_line("branch", branch) for branch in plan.branches] + _common_lines(plan)


def _range_lines(plan: StandingRangeAggregate) -> list[str]:
    shape = plan.shape
    attributes = " and ".join(f"{name} ({type_})" for name, type_ in shape.attributes)
    lines = [f"{shape.form} over ranges of {attributes}"]
    lines += [
        f"{each.name}: {each.function}({each.column or '*'}) is {each.type}"
        for each in shape.measures
    ]
    lines += [f"partition: {name} ({type_})" for name, type_ in shape.partition]
    if shape.condition is not None:
        lines.append(f"rows: [{shape.condition}] of {list(shape.condition_columns)}")
    return [*lines, _branch_line("range", plan.branch)]


def _view_lines(plan: StandingView) -> list[str]:
    made = plan.definition
    lines = [f"within {plan.bound_us} us in {plan.store or 'the home'}, {plan.policy}"]
    for each, word in zip(made.inputs, plan.words, strict=True):
        columns = ", ".join(name for name, _ in each.columns)
        lines.append(f"{each.alias} {each.relation} ({columns}), changes by {word}")
    lines += [f"condition: {each}" for each in made.conditions]
    lines += [f"key {each.name}: {each.sql} is {each.type}" for each in made.keys]
    lines += [f"{each.name}: {each.function}({each.argument or '*'})" for each in made.aggregates]
    lines += [f"having: {made.having}"] if made.having else []
    return lines + [f"output {each.name}: {each.sql} is {each.type}" for each in made.outputs]


def _ends(lows: tuple[Bound, ...], highs: tuple[Bound, ...]) -> str:
    ends = []
    for sign, bounds in ((">", lows), ("<", highs)):
        for end in bounds:
            minus = "-" if end.negated else ""
            ends.append(f"{sign}{'=' if end.closed else ''} {minus}{end.parameter}")
    return " ".join(ends)


def _rest(rest: Residual) -> str:
    return f"[{rest.sql}] of {list(rest.columns)}, {list(rest.parameters)}"


def _branch_line(what: str, branch: Branch) -> str:
    terms = [f"{term.column} in {list(term.parameters)}" for term in branch.equalities]
    terms += [f"{term.column} {_ends(term.lows, term.highs)}" for term in branch.ranges]
    terms += [_rest(branch.residual)] if branch.residual else []
    return f"{what}: {'; '.join(terms) or 'every row'}"


def _join_lines(plan: StandingJoin) -> list[str]:
    lines: list[str] = [plan.step().kind]
    for number, each in enumerate(plan.inputs):
        lines.append(_branch_line(f"i{number} {each.relation}", each.branch))
    lines.extend(f"key: i0.{left} = i1.{right}" for left, right in plan.keys)
    if plan.band:
        band = plan.band
        lines.append(f"band: i1.{band.right} - i0.{band.left} {_ends(band.lows, band.highs)}")
    if plan.window:
        window, within = plan.window, plan.window.within
        sign = "<=" if within.closed else "<"
        length = f"{within.parameter} * {window.unit_us} us"
        lines.append(f"window: |i0.{window.left} - i1.{window.right}| {sign} {length}")
    lines += [f"residual: {_rest(plan.residual)}"] if plan.residual else []
    if (plan.mode, plan.strategy, plan.tuning) != ("full", "dynamic", {}):
        lines.append(f"{plan.mode}, {plan.strategy}, {plan.tuning}")
    return lines


def _memory_lines(memory: Memory) -> list[str]:
    lines = [f"memory: {memory.rows} rows by {memory.policy}, {memory.options}"]
    return lines + [f"law: {law.family} {law.parameters}" for law in memory.laws]


def _multi_join_lines(plan: CrossedQuery, without: str = "table") -> list[str]:
    lines: list[str] = []
    for number, each in enumerate(plan.inputs):
        window = f"{each.window.kind} {each.window.size}" if each.window else without
        what = f"i{number} {each.name} of {each.relation}, {window}"
        lines.append(_branch_line(what, each.branch))

    def place(of: Place) -> str:
        return f"i{of[0]}.{of[1]}"

    crossing = plan.crossing
    lines.extend(f"equal: {place(a)} = {place(b)}" for a, b in crossing.equalities)
    lines.extend(f"compared: {place(c.left)} {c.op} {place(c.right)}" for c in crossing.comparisons)
    lines.extend(
        f"apart: {d.low} <= {place(d.right)} - {place(d.left)} <= {d.high}"
        for d in crossing.differences
    )
    lines += [f"residual: {_rest(plan.residual)}"] if plan.residual else []
    chosen = getattr(plan, "options", None)
    return lines + ([f"options: {chosen}"] if chosen else [])


def _common_lines(plan: Logical) -> list[str]:
    lines = []
    for name, type_ in plan.parameters.items():
        value = f" = {plan.constants[name]!r}" if name in plan.constants else ""
        lines.append(f"parameter {name}: {type_}{value}")
    if [output.name for output in plan.outputs] != SCHEMA.names:
        lines.extend(f"output {output.name}: {output.sql}" for output in plan.outputs)
    lines.append(f"where: {plan.where_sql}")
    return lines


def show_statements(sql: str) -> list[str]:
    sources = re.compile(r"source=ScriptSource\(script=.*?, start=(\d+), end=(\d+)\)")
    shown = [sources.sub(r"at \1..\2", repr(item)).replace("\n", "; ") for item in parse(sql)]
    return shown or ["nothing"]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.sql")), ids=lambda path: path.stem)
def test_language_gives_what_it_gave(path: Path) -> None:
    show = show_statements if path.stem.startswith("statement") else show_plan
    hold(path, show)
