"""Nobody above the kinds names one: the table is asked."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from penstock.algebra.catalog import ATTENDANTS, RELATION_KINDS
from penstock.engine.run_figures import RunFigures
from penstock.kinds.protocol import Kind
from penstock.kinds.table import KINDS, OWN
from penstock.kinds.watch import Watch
from penstock.operators.catalogue import PLACES
from tests.tidy.tree import PACKAGE, ROOT, place

ROOMS = ("engine", "cli", "planning", "spark", "operators/shard.py")
OLDER = {"migration", "older_state.py"}
"""These alone speak in the words of the home that they find."""


def of(room: Path) -> list[Path]:
    """Give the files of a room, or the one that is named."""
    files = sorted(room.rglob("*.py")) if room.is_dir() else [room]
    return [path for path in files if not OLDER & set(path.parts)]


def words() -> re.Pattern[str]:
    """Match what kinds and operators are called, where a program would ask for them."""
    names = {name for kind in KINDS.values() for name in (kind.name, *kind.operators)}
    told = "|".join(sorted(names | ATTENDANTS.keys(), key=len, reverse=True))
    return re.compile(f"[\"']({told})[\"'](?!:)|\\b({'|'.join(n for n in names if '_' in n)})\\b")


def nodes() -> re.Pattern[str]:
    """Match what queries of a kind ask, and their steps.

    A bare `Filter`, `Join` or `View` may be anything; what two words name is a kind's.

    >>> [bool(nodes().search(text)) for text in ("ViewStep", "MultiJoin", "Join", "StandingView")]
    [True, True, False, True]
    """
    names = {name for kind in KINDS.values() for name in (kind.name, *kind.operators)}
    classes = {"".join(map(str.capitalize, name.split("_"))) for name in names}
    double = {"".join(map(str.capitalize, name.split("_"))) for name in names if "_" in name}
    every, two = ("|".join(sorted(own)) for own in (classes, double))
    return re.compile(rf"\b(Standing({every})|({every})Step|{two})\b")


@pytest.mark.parametrize("room", ROOMS)
def test_no_kind_is_named(room: str) -> None:
    named, stepped, found = words(), nodes(), []
    for path in of(PACKAGE / room):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            if stepped.search(line) or named.search(line):
                found.append(f"{place(path, number)}: {line.strip()}")
    assert not found, "ask `penstock.kinds.table` instead:\n" + "\n".join(found)


def test_the_walls_around_kinds_and_between_them_leave_none_out() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    contracts = {contract["name"]: contract for contract in project["contracts"]}
    around = contracts["Nobody above the kinds imports one, or what is its own"]
    between = contracts["Kinds do not import each other; what they share lies beside them"]
    kinds = {f"penstock.kinds.{name}" for name in OWN}
    theirs = {PLACES[operator][0] for name in OWN for operator in KINDS[name].operators}
    assert set(between["modules"]) == kinds
    assert kinds | {f"penstock.operators.{package}" for package in theirs} <= set(
        around["forbidden_modules"]
    )


def test_relations_are_asked_and_not_compared() -> None:
    kinds = "|".join(RELATION_KINDS)
    compared = re.compile(rf"\.kind\s*(==|!=|in|not in)\s*[\[({{]?\s*[\"']({kinds})[\"']")
    found = [
        place(path, number)
        for path in of(PACKAGE)
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if compared.search(line)
    ]
    assert not found


def test_what_a_run_derives_is_typed() -> None:
    told = (
        Kind.run_figures,
        Watch.plan_run,
        Watch.shedding,
        *(getattr(RunFigures, name).fget for name in ("joins", "memory", "shedding")),
    )
    assert not [own.__qualname__ for own in told if "Any" in own.__annotations__["return"]]
