"""Machine code is compiled once, found by what was compiled, and never taken for something else."""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from penstock.kernels import machine_code
from penstock.kernels.machine_code import KEPT_TEXTS, code_directory, compiled

TEXT = """
from penstock.kernels.compilation import kernel

@kernel
def twice(x):
    return 2 * x
"""


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ModuleType]:
    """Import a text of kernels as a fresh process would, with a cache of its own."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    for function in (code_directory, machine_code._digest, machine_code._tell):
        monkeypatch.setattr(machine_code, function.__name__, cache(function.__wrapped__))

    def imported(text: str, name: str = "doubling") -> ModuleType:
        machine_code._digest.cache_clear()
        path = tmp_path / "doubling.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        exec(compile(text, str(path), "exec"), module.__dict__)
        return module

    return imported


def files(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_code_is_compiled_once_for_each_signature(load, tmp_path) -> None:
    before = compiled()
    assert load(TEXT).twice(4) == 8
    assert load(TEXT).twice(5) == 10
    assert compiled() - before == 1
    assert load(TEXT).twice(2.5) == 5.0
    assert compiled() - before == 2
    assert len(files(tmp_path)) == 2


def test_another_text_is_compiled_anew(load) -> None:
    assert load(TEXT).twice(4) == 8
    assert load(TEXT.replace("2 *", "3 *")).twice(4) == 12
    assert load(TEXT).twice(4) == 8


def test_a_module_that_has_moved_is_compiled_anew(load) -> None:
    """Its old name is in the code that was kept, and nobody has that name any more."""
    before = compiled()
    assert load(TEXT).twice(4) == 8
    assert load(TEXT, "elsewhere.doubling").twice(4) == 8
    assert compiled() - before == 2


def test_a_text_is_another_when_what_it_reaches_is(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(machine_code, "HERE", tmp_path)
    (tmp_path / "inner.py").write_text("FACTOR = 2\n")
    (tmp_path / "middle.py").write_text("from penstock.kernels.inner import FACTOR\n")
    (tmp_path / "outer.py").write_text("from penstock.kernels.middle import FACTOR\n")
    digest = machine_code._digest.__wrapped__
    monkeypatch.setattr(machine_code, "_digest", digest)
    before = {name: digest(tmp_path / f"{name}.py") for name in ("inner", "middle", "outer")}
    assert len(set(before.values())) == 3
    (tmp_path / "inner.py").write_text("FACTOR = 3\n")
    assert all(digest(tmp_path / f"{name}.py") != old for name, old in before.items())


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"half", b"bit"])
def test_a_damaged_file_is_compiled_again(load, tmp_path, damage: bytes) -> None:
    assert load(TEXT).twice(4) == 8
    (path,) = files(tmp_path)
    whole = path.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    path.write_bytes({b"half": whole[:middle], b"bit": flipped}.get(damage, damage))
    before = compiled()
    assert load(TEXT).twice(4) == 8
    assert compiled() - before == 1
    assert load(TEXT).twice(4) == 8
    assert compiled() - before == 1


def test_code_of_another_signature_is_not_taken(load, tmp_path) -> None:
    assert load(TEXT).twice(4) == 8
    (whole,) = files(tmp_path)
    assert load(TEXT).twice(2.5) == 5.0
    (other,) = set(files(tmp_path)) - {whole}
    whole.replace(other)
    assert load(TEXT).twice(2.5) == 5.0


def test_where_nothing_can_be_kept_kernels_work_and_it_is_told(load, tmp_path, caplog) -> None:
    (tmp_path / "cache").write_text("a file stands where the directory should be")
    with caplog.at_level(logging.WARNING, "penstock"):
        assert load(TEXT).twice(4) == 8
        assert load(TEXT).twice(4) == 8
    told = [record.getMessage() for record in caplog.records]
    assert sum("`penstock warm`" in text for text in told) == 1
    assert any("NUMBA_CACHE_DIR" in text for text in told)


def test_only_the_newest_texts_keep_their_code(load, tmp_path) -> None:
    for factor in range(2, KEPT_TEXTS + 5):
        assert load(TEXT.replace("2 *", f"{factor} *")).twice(1) == factor
    assert len(files(tmp_path)) == KEPT_TEXTS


@pytest.mark.parametrize("kept", ["written", "read", "neither"])
def test_code_lies_in_the_environment_or_with_the_user(
    kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    monkeypatch.setattr(os, "access", lambda *_: kept == "written")
    if kept == "read":
        (tmp_path / "environment/share/penstock").mkdir(parents=True)
    code_directory.cache_clear()
    root = tmp_path / ("user" if kept == "neither" else "environment/share")
    assert code_directory().parent == root / "penstock"
    code_directory.cache_clear()
