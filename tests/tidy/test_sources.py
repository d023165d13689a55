"""Sources keep their shape: rooms have cards, files and functions stay small, nothing is owed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.kernels.machine_code import REACHES
from tests.tidy.tree import PACKAGE, ROOT, place, sources, tracked

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
KERNEL_LINES_MAX = 120
ROOMS = sorted(path for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__")
OWED = re.compile(r"\b(?:TODO|FIXME|XXX)\b")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_every_room_opens_with_its_card(room: Path) -> None:
    opening = room / "__init__.py"
    assert opening.exists(), f"{place(room)} has no __init__.py, so no card"
    card = ast.get_docstring(ast.parse(opening.read_text())) or ""
    lines = [line.split(":")[0] for line in card.splitlines() if re.match(r"\w+: \S", line)]
    missing = [word for word in ("Takes", "Gives", "Never") if word not in lines]
    assert not missing, f"{place(opening)}: the card lacks {', '.join(missing)}"


def test_files_stay_small() -> None:
    sizes = {place(path): len(path.read_text().splitlines()) for path in sources()}
    large = {name: lines for name, lines in sizes.items() if lines > FILE_LINES_MAX}
    assert not large, f"more than {FILE_LINES_MAX} lines usually hide a second idea: {large}"


def test_functions_stay_small() -> None:
    large = {}
    for path in sources():
        is_kernel = path.is_relative_to(PACKAGE / "kernels")
        lines_max = KERNEL_LINES_MAX if is_kernel else FUNCTION_LINES_MAX
        for function in functions(path):
            if (lines := body_lines(function)) > lines_max:
                large[f"{place(path, function.lineno)} {function.name}"] = lines
    assert not large, (
        f"more than {FUNCTION_LINES_MAX} lines (kernels: {KERNEL_LINES_MAX}), docstring apart, "
        f"usually hide a second idea: {large}"
    )


def test_one_place_opens_databases() -> None:
    """Zone, threads and access to files are settled once; a lookup shares a user's own database."""
    allowed = {"expressions/connections.py", "operators/lookup/sources_duckdb.py"}
    openers = {
        str(path.relative_to(PACKAGE))
        for path in sources()
        if path.is_relative_to(PACKAGE) and "duckdb.connect(" in path.read_text()
    }
    assert {name for name in openers if not name.startswith("lab/")} == allowed


def test_nothing_is_owed() -> None:
    owed = [
        place(path, number)
        for path in tracked()
        if path.suffix in {".py", ".md", ".sh", ".toml", ".sql"} and path != Path(__file__)
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if OWED.search(line)
    ]
    assert not owed, f"do it now or open an issue: {owed}"


def functions(path: Path) -> Iterator[Function]:
    """Give every function of a file, methods and inner functions too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, Function):
            yield node


def body_lines(function: Function) -> int:
    """Count the lines of a function without its docstring."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def test_no_test_measures_time() -> None:
    """What a clock decides is judged in the lab: a busy machine must not fail a test.

    It may leave one out, if whoever runs all of them says until when.
    """
    may = {Path(__file__), ROOT / "tests" / "conftest.py"}
    clock = re.compile(r"\b(perf_counter|process_time)(_ns)?\(|\btime\.time\(")
    found = [
        place(path, number)
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if clock.search(line) and path not in may
    ]
    assert not found, found


def test_kernels_import_kernels_so_that_their_texts_are_followed() -> None:
    """Machine code is found by the texts that a module reaches, through imports of this form."""
    imports = re.compile(r"^[ ]*(?:import penstock|from penstock)\b.*", re.MULTILINE)
    for path in sorted((PACKAGE / "kernels").glob("*.py")):
        found = [line for line in imports.findall(path.read_text()) if not REACHES.match(line)]
        assert not found, f"{path.name}: {found}"


CHANGES_FILES = re.compile(
    r"(?<!disk)\.(?:mkdir|rmdir|unlink|write_bytes|write_text|hardlink_to|rename)\("
    r"|os\.(?:replace|rename|remove|link|fsync)\(|shutil\.(?:rmtree|copy|move)|\.open\(\"[wax]"
)
BESIDE_THE_DOOR = {
    "cli": "drawings, and demos whose home is thrown away",
    "lab": "what experiments need for a moment",
    "kernels": "machine code, made again if it is lost",
    "engine/migration": "a copy of a home, flushed as a whole before it takes its place",
    "engine/home_check.py": "a copy beside the home, before a repair",
    "engine/home.py": "the lock, which means nothing after a crash",
    "storage/files.py": "tables under temporary names, which the door hears of",
    "delivery/parts.py": "a file under a temporary name, which the door publishes",
    "spark/sources.py": "a directory of the user's",
    "spark/generated.py": "the null device",
}
"""What writes files without the door, and why that is right."""


def test_everything_durable_goes_through_one_door() -> None:
    """A crash between two writes is tried for every write that the door sees."""
    door = PACKAGE / "storage" / "disk.py"
    writers = {
        str(path.relative_to(PACKAGE))
        for path in sources()
        if path.is_relative_to(PACKAGE) and path != door and CHANGES_FILES.search(path.read_text())
    }
    astray = {name for name in writers if not name.startswith(tuple(BESIDE_THE_DOOR))}
    assert not astray, f"go through penstock.storage.disk: {astray}"
    unused = [own for own in BESIDE_THE_DOOR if not any(n.startswith(own) for n in writers)]
    assert not unused, f"needs no exception any more: {unused}"
