"""The engine's public face stays small, and is put together, not inherited."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import penstock
from penstock.engine import Desk, Engine
from penstock.engine.readers import HomeReaders
from penstock.engine.relations import Relations
from penstock.engine.runner import Runner
from tests.tidy.tree import ROOT

METHODS_MAX = 20
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


def test_what_is_public_is_there_and_documented() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text()
    for name in penstock.__all__:
        assert getattr(penstock, name) is not None, name
        assert f"`{name}`" in page or f"`{name}(" in page, f"docs/reference/python.md lacks {name}"
    names = [name for name in dir(Engine) if not name.startswith("_")]
    lacking = [name for name in names if f"`{name}`" not in page and f"`{name}(" not in page]
    assert not lacking, f"docs/reference/python.md lacks {lacking}"


def test_importing_penstock_imports_nothing_else() -> None:
    code = "import sys, penstock; print(sum(name.startswith('penstock.') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"
