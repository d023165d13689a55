"""Golden pairs: SQL, then what the language room makes of it.

`PENSTOCK_UPDATE=1` rewrites the files; review reads the diff.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.algebra.logical import StandingFilter
from penstock.language.binding import bind
from penstock.language.parsing import parse
from penstock.vocabulary.errors import PenstockError

FOLDER = Path(__file__).parent / "language"
MARK = "--> "
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
CATALOG = {"trades": Relation(name="trades", kind="stream", schema=SCHEMA, event_time="ts")}


def show_plan(sql: str) -> list[str]:
    each = EACH if re.search(r":\w", sql) and "-- alone" not in sql else None
    return _plan_lines(bind(sql, CATALOG, each))


def _plan_lines(plan: StandingFilter) -> list[str]:
    lines = []
    for branch in plan.branches:
        terms = [f"{term.column} in {list(term.parameters)}" for term in branch.equalities]
        for term in branch.ranges:
            ends = [f"{'>=' if end.closed else '>'} {end.parameter}" for end in term.lows]
            ends += [f"{'<=' if end.closed else '<'} {end.parameter}" for end in term.highs]
            terms.append(f"{term.column} {' '.join(ends)}")
        if branch.residual:
            rest = branch.residual
            terms.append(f"[{rest.sql}] of {list(rest.columns)}, {list(rest.parameters)}")
        lines.append(f"branch: {'; '.join(terms) or 'every row'}")
    for name, type_ in plan.parameters.items():
        value = f" = {plan.constants[name]!r}" if name in plan.constants else ""
        lines.append(f"parameter {name}: {type_}{value}")
    if [output.name for output in plan.outputs] != SCHEMA.names:
        lines.extend(f"output {output.name}: {output.sql}" for output in plan.outputs)
    lines.append(f"where: {plan.where_sql}")
    return lines


def show_statements(sql: str) -> list[str]:
    sources = re.compile(r"source=Source\(script=.*?, start=(\d+), end=(\d+)\)")
    shown = [sources.sub(r"at \1..\2", repr(item)).replace("\n", "; ") for item in parse(sql)]
    return shown or ["nothing"]


def shown(sql: str, show: Callable[[str], list[str]]) -> str:
    try:
        lines = show(sql)
    except PenstockError as error:
        lines = str(error).splitlines()
    return "".join(f"{MARK}{line}".rstrip() + "\n" for line in lines)


def cases(text: str) -> list[str]:
    blocks = re.split(r"\n\s*\n", text.strip())
    kept = ["\n".join(x for x in b.splitlines() if not x.startswith(MARK.strip())) for b in blocks]
    return [block for block in kept if block]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.sql")), ids=lambda path: path.stem)
def test_language_gives_what_it_gave(path: Path) -> None:
    show = show_statements if path.stem.startswith("statement") else show_plan
    before = path.read_text()
    after = "\n".join(f"{sql}\n{shown(sql, show)}" for sql in cases(before))
    if os.environ.get("PENSTOCK_UPDATE") == "1":
        path.write_text(after)
        return
    assert after == before
