"""A MEMORY clause means what it says, survives the registry, and changes nothing else."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from hypothesis import event, given, settings
from hypothesis import strategies as st

from penstock.algebra.bounded_joins import BoundedJoin, BoundedJoinStep
from penstock.algebra.catalog import Relation
from penstock.algebra.inputs import WindowLength
from penstock.algebra.memories import AUTO, Family, Memory, PolicyName, StreamLaw
from penstock.algebra.multi_joins import MultiJoin
from penstock.algebra.physical import signature
from penstock.kinds.binder import bind
from penstock.language.parser import parse
from penstock.language.statements import Subscribe

SCHEMA = pa.schema(
    [
        ("k", pa.int64()),
        ("i", pa.int32()),
        ("d", pa.float64()),
        ("s", pa.string()),
        ("t", pa.timestamp("us", "UTC")),
    ]
)
CATALOG = {
    "q": Relation(name="q", kind="stream", schema=SCHEMA, event_time="t"),
    "r": Relation(name="r", kind="stream", schema=SCHEMA, event_time="t", lateness_us=5),
}
EACH = pa.schema([("p", pa.float64())])
WINDOWS: dict[str, WindowLength] = {
    "[ROWS 7]": WindowLength("rows", 7),
    "[ROWS 1_000]": WindowLength("rows", 1_000),
    "[RANGE 5 SECONDS]": WindowLength("range", 5_000_000),
    "[RANGE 0.5 MILLISECONDS]": WindowLength("range", 500),
}
TERMS = st.lists(
    st.sampled_from(
        [
            "x.d > 5",
            "y.s = 'a'",
            "x.d BETWEEN :p AND 9",
            "x.d < y.d",
            "y.i - x.i <= 3",
            "x.i = y.i",
            "(x.s = y.s OR x.i > y.i)",
            "y.t - x.t < INTERVAL 2 SECONDS",
            "lower(x.s) = 'b'",
        ]
    ),
    max_size=3,
    unique=True,
)
NUMBERS = st.one_of(
    st.integers(-1_000, 1_000), st.floats(-1e6, 1e6).map(lambda value: round(value, 3))
)
ABOVE = NUMBERS.filter(lambda value: value > 0)
SHARES = st.integers(-999, 999).filter(bool).map(lambda value: value / 1000)
NOISES = st.sampled_from(["uniform", "normal", "bounded normal"])
FAMILIES: dict[str, tuple[Family, dict[str, st.SearchStrategy[Any]]]] = {
    "AUTO": ("auto", {}),
    "STATIONARY": ("stationary", {}),
    "LINEAR TREND": ("linear trend", {"slope": NUMBERS, "intercept": NUMBERS, "noise": NOISES}),
    "RANDOM WALK": ("random walk", {"drift": NUMBERS, "sigma": ABOVE}),
    "AR(1)": ("ar1", {"phi0": NUMBERS, "phi1": SHARES, "sigma": ABOVE}),
    "AR1": ("ar1", {"phi1": SHARES}),
    "HISTOGRAM": ("histogram", {"buckets": st.integers(1, 100_000)}),
}
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "alpha": ABOVE,
        "refit_every": st.integers(1, 10**6),
        "seed": st.integers(0, 2**40),
        "slice": st.integers(1, 10**6),
    },
)


@st.composite
def queries(draw: st.DrawFn, *, windowed: bool = False) -> tuple[str, list[WindowLength | None]]:
    """Draw a join of two streams, and say which windows it gives them."""
    drawn = st.sampled_from([*WINDOWS, *([] if windowed else [""])])
    texts = [draw(drawn), draw(drawn)]
    windows = [WINDOWS.get(text) for text in texts]
    first, second = draw(st.sampled_from([("q", "r"), ("r", "q"), ("q", "q")]))
    left, right = f"{first} x {texts[0]}", f"{second} {texts[1]} AS y"
    terms = draw(TERMS)
    form = draw(st.sampled_from(["comma", "on", "using"]))
    within = (
        "" if any(texts) or form == "comma" else draw(st.sampled_from(["", "WITHIN 9 SECONDS"]))
    )
    if within:
        windows = [WindowLength("range", 9_000_000)] * 2
    if form == "comma":
        tables = f"{left}, {right}"
        terms = ["x.k = y.k", *terms]
    else:
        condition = "USING (k)" if form == "using" else "ON x.k = y.k"
        tables = f"{left} JOIN {right} {condition} {within}"
    where = f"WHERE {' AND '.join(terms)}" if terms else ""
    outputs = draw(st.sampled_from(["*", "x.k, y.d AS other", "x.d + y.d AS sum"]))
    return f"SELECT {outputs} FROM {tables} {where}", windows


@st.composite
def laws(draw: st.DrawFn) -> tuple[str, StreamLaw]:
    """Draw a law as a text says it, and as it is bound."""
    words = draw(st.sampled_from(sorted(FAMILIES)))
    family, known = FAMILIES[words]
    values = draw(st.fixed_dictionaries({}, optional=known))
    shown = ", ".join(
        f"{name} = '{value}'" if isinstance(value, str) else f"{name} = {value}"
        for name, value in values.items()
    )
    cased = draw(st.sampled_from([str.upper, str.lower, str.title]))
    return f"{cased(words)}{f' ({shown})' if shown else ''}", StreamLaw(
        family=family, parameters=values
    )


@st.composite
def budgets(draw: st.DrawFn, *, composite: bool = False) -> tuple[str, Memory]:
    """Draw a MEMORY clause, and what it says."""
    rows = draw(st.integers(1, 10_000_000))
    policies: list[PolicyName] = ["HEEB", "PROB", "RAND", "LRU", "LFU"]
    policy = draw(st.sampled_from(policies))
    using = f" USING {policy}" if policy != "HEEB" or draw(st.booleans()) else ""
    said: dict[str, tuple[str, StreamLaw]] = {}
    if policy in {"HEEB", "PROB"} and not composite:
        said = draw(st.dictionaries(st.sampled_from(["x", "y"]), laws(), max_size=2))
    shown = ", ".join(f"{name} AS {text}" for name, (text, _) in said.items())
    clause = f"MEMORY {rows} ROWS{using}{f' MODEL {shown}' if shown else ''}"
    bound = tuple(said[name][1] if name in said else AUTO for name in ("x", "y"))
    return clause, Memory(rows=rows, policy=policy, laws=bound)


def bounded(sql: str, options: dict[str, Any] | None = None) -> BoundedJoin:
    found = bind(sql, CATALOG, EACH, options)
    assert isinstance(found, BoundedJoin)
    return found


def is_composite(sql: str) -> bool:
    return "x.i = y.i" in sql


@given(data=st.data(), drawn=queries(), options=OPTIONS)
@settings(deadline=None, max_examples=150)
def test_text_plan_and_registry_agree(
    data: st.DataObject, drawn: tuple[str, list[WindowLength | None]], options: dict[str, Any]
) -> None:
    sql, windows = drawn
    clause, memory = data.draw(budgets(composite=is_composite(sql)))
    if memory.policy != "HEEB":
        options = {name: value for name, value in options.items() if name in {"seed", "slice"}}
    event(f"policy {memory.policy}")
    found = bounded(f"{sql} {clause}", options)
    assert [each.window for each in found.inputs] == windows
    expected = Memory(rows=memory.rows, policy=memory.policy, laws=memory.laws, options=options)
    assert found.memory == expected
    step = found.step()
    again = BoundedJoinStep.from_json(json.loads(json.dumps(step.to_json())))
    assert again == step
    assert again.memory == expected
    assert signature(again) == signature(step)


@given(data=st.data(), drawn=queries(windowed=True))
@settings(deadline=None, max_examples=100)
def test_memory_changes_nothing_but_the_memory(
    data: st.DataObject, drawn: tuple[str, list[WindowLength | None]]
) -> None:
    sql, _ = drawn
    free = bind(sql, CATALOG, EACH)
    assert isinstance(free, MultiJoin)
    clauses = data.draw(st.lists(budgets(composite=is_composite(sql)), min_size=1, max_size=2))
    for clause, memory in clauses:
        assert bounded(f"{sql} {clause};") == BoundedJoin.of(free, memory=memory)


@given(data=st.data(), drawn=queries())
@settings(deadline=None, max_examples=75)
def test_what_a_subscription_keeps_is_what_was_said(
    data: st.DataObject, drawn: tuple[str, list[WindowLength | None]]
) -> None:
    sql, _ = drawn
    select = f"{sql} {data.draw(budgets(composite=is_composite(sql)))[0]}"
    after = data.draw(
        st.sampled_from(["", " FOR EACH ROW OF p KEY k", " ADAPT", " OPTIONS (alpha = 1)"])
    )
    statement = parse(f"SUBSCRIBE a TO {select}{after}; SELECT 1")[0]
    assert isinstance(statement, Subscribe)
    assert statement.select.text == select
    assert bounded(statement.select.text) == bounded(select)
