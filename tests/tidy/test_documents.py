"""Documents tell the truth: what they name exists, what they show runs."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.language.dialect import Penstock
from penstock.language.nodes import UnknownStatementNode
from tests.tidy.tree import PACKAGE, ROOT, documents, place

FILES = frozenset({"json", "log", "md", "sql", "toml", "yaml"})
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", documents(), ids=place)
def test_dotted_names_import(path: Path) -> None:
    names = set(re.findall(r"\bpenstock(?:\.[A-Za-z_]\w*)+", path.read_text()))
    lost = [
        name
        for name in sorted(names)
        if name.rpartition(".")[2] not in FILES and not is_importable(name)
    ]
    assert not lost, f"{place(path)} names what does not exist: {', '.join(lost)}"


@pytest.mark.parametrize("path", documents(), ids=place)
def test_named_files_exist(path: Path) -> None:
    named = set(re.findall(r"`([\w./-]+/[\w.-]*)`", path.read_text()))
    rooted = [name for name in sorted(named) if is_ours(name)]
    lost = [name for name in rooted if not any((base / name).exists() for base in (ROOT, PACKAGE))]
    assert not lost, f"{place(path)} names files that do not exist: {', '.join(lost)}"


@pytest.mark.parametrize("path", documents(), ids=place)
def test_python_blocks_run_or_parse(path: Path) -> None:
    for line, code in blocks(path, "python"):
        if not code.startswith(">>>"):
            ast.parse(code, filename=place(path, line))
            continue
        example = doctest.DocTestParser().get_doctest(code, {}, place(path), str(path), line)
        said: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        assert runner.run(example, out=said.append).failed == 0, "".join(said)


@pytest.mark.parametrize("path", documents(), ids=place)
def test_sql_blocks_are_what_the_engine_understands(path: Path) -> None:
    for line, sql in blocks(path, "sql"):
        for statement in Penstock().parse(sql):
            assert not isinstance(statement, UnknownStatementNode), place(path, line)


def test_the_readme_names_targets_that_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z]+):", makefile, flags=re.MULTILINE))
    commands = set(re.findall(r"\bmake ([a-z]+)\b", code_of(ROOT / "README.md")))
    assert commands, "README.md shows no make command"
    assert commands <= targets, f"README.md names unknown targets: {commands - targets}"


def is_importable(name: str) -> bool:
    """Say whether a dotted name is a module, or something that a module or class holds."""
    parts = name.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        return all((found := getattr(found, part, None)) is not None for part in parts[split:])
    return False


def is_ours(name: str) -> bool:
    """Say whether a path starts at the root or in a room."""
    first = name.split("/", maxsplit=1)[0]
    return (ROOT / first).is_dir() or (PACKAGE / first).is_dir()


def blocks(path: Path, language: str) -> Iterator[tuple[int, str]]:
    """Give the fenced blocks of a language, with the line on which each begins."""
    text = path.read_text()
    for match in FENCE.finditer(text):
        if match[1] == language:
            yield text.count("\n", 0, match.start(2)) + 1, match[2]


def code_of(path: Path) -> str:
    """Give all that a document shows as code, fenced or inline."""
    text = path.read_text()
    inline = re.findall(r"`[^`\n]+`", text)
    return "\n".join([match[2] for match in FENCE.finditer(text)] + inline)
