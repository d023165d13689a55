"""Nobody above the kinds names one: the table is asked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.algebra.catalog import ATTENDANTS
from penstock.engine.run_figures import RunFigures
from penstock.kinds.protocol import Kind
from penstock.kinds.table import KINDS
from penstock.kinds.watch import Watch
from tests.tidy.tree import PACKAGE, place

ROOMS = ("engine", "cli", "planning", "spark", "operators/shard.py")
NODES = re.compile(r"\b(Standing(Filter|Join)|(Filter|Join|(Multi|Bounded|Lookup)Join)(Step)?)\b")
"""What queries of a kind ask, and their steps; `Join` alone is a node of a tree of joins."""
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


@pytest.mark.parametrize("room", ROOMS)
def test_no_kind_is_named(room: str) -> None:
    named, found = words(), []
    for path in of(PACKAGE / room):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            nodes = [m for m in NODES.finditer(line) if m.group() not in {"Join", "Filter"}]
            if nodes or named.search(line):
                found.append(f"{place(path, number)}: {line.strip()}")
    assert not found, "ask `penstock.kinds.table` instead:\n" + "\n".join(found)


def test_relations_are_asked_and_not_compared() -> None:
    compared = re.compile(r"\.kind\s*(==|!=|in|not in)\s*[\[({]?\s*[\"'](stream|table|lookup)")
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
