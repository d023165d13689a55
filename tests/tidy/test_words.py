"""Words: a class has its own name, a docstring is a sentence, a kind's word is a tour of it."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

import pytest

from penstock.kinds.table import KINDS
from tests.tidy.tree import PACKAGE, ROOT, place, sources, tracked

ROOMS = ("algebra", "language", "operators", "kinds", "lab")
WORDS = sorted({word for kind in KINDS.values() for word in kind.operators})


def test_every_class_has_a_name_of_its_own() -> None:
    found = defaultdict(list)
    for path in sources():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(place(path, node.lineno))
    double = {name: places for name, places in found.items() if len(places) > 1}
    assert not double, f"one name, one thing: {double}"


def test_docstrings_open_with_a_whole_sentence() -> None:
    """A tooltip shows one docstring alone: none goes on in the next."""
    broken = [f"{where}: {opening}" for where, opening in openings() if not is_sentence(opening)]
    assert not broken, broken


def openings() -> Iterator[tuple[str, str]]:
    """Give the first paragraph of every docstring, those of constants and attributes too."""
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            body = getattr(node, "body", None)
            for line in body if isinstance(body, list) else ():
                match line:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        yield place(path, line.lineno), " ".join(text.split("\n\n")[0].split())


def is_sentence(text: str) -> bool:
    """Say whether a text begins and ends as sentences do.

    >>> is_sentence("Rows per batch."), is_sentence("and so many"), is_sentence("Of a series,")
    (True, False, False)
    """
    return re.match(r"[^a-z]", text) is not None and text.endswith((".", "?", "!", ":", "…"))


@pytest.mark.parametrize("word", WORDS)
def test_a_kinds_word_is_a_tour_of_it(word: str) -> None:
    """`git grep -i band_join` leads through all rooms that know band joins, documents and tests."""
    places = {
        path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else ROOT).parts[0]
        for path in tracked()
        if path.suffix in {".py", ".md"} and word in path.read_text().lower()
    }
    assert places >= {*ROOMS, "docs", "tests"}, f"{word} is not met in all places"


def test_arrays_have_their_names_from_one_place() -> None:
    """Kernels see nothing of the other rooms, and name what they take themselves."""
    alias = re.compile(
        r"^(?:Ints|Rows|Flags|Floats|Words|Bytes) = npt\.NDArray\[(?!np\.uint8\]$).*|^Bytes = npt",
        re.MULTILINE,
    )
    named = {
        place(path)
        for path in sources()
        if "kernels" not in path.parts and alias.search(path.read_text())
    }
    assert named == {"src/penstock/vocabulary/batches.py"}
