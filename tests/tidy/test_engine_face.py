"""The engine's public face stays small, and is put together, not inherited."""

from __future__ import annotations

import inspect
from pathlib import Path

import penstock
from penstock.engine import Desk, Engine
from penstock.engine.readers import HomeReaders
from penstock.engine.relations import Relations
from penstock.engine.runner import Runner

METHODS_MAX = 18
OTHERS_MAX = 5
"""Properties, and parts that are an engine's own."""


def test_the_engine_has_few_public_names(tmp_path: Path) -> None:
    engine = Engine(tmp_path / "home")
    names = [name for name in dir(engine) if not name.startswith("_")]
    methods = [name for name in names if inspect.isfunction(getattr(Engine, name, None))]
    others = [name for name in names if name not in methods]
    engine.close()
    assert {"sql", "verify", "figures"} <= set(methods)
    assert len(methods) <= METHODS_MAX, methods
    assert len(others) <= OTHERS_MAX, others


def test_the_engine_and_its_parts_inherit_from_nothing() -> None:
    for part in (Engine, Desk, Relations, Runner, HomeReaders):
        assert part.__bases__ == (object,), part


def test_what_is_public_is_there() -> None:
    for name in penstock.__all__:
        assert getattr(penstock, name) is not None, name
