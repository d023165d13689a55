"""Every error code is documented and met by a test, and every documented code exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"\b[A-Z]{3,4}-\d{3}\b")


def raised() -> set[str]:
    """Give all codes that the sources know."""
    return {
        code
        for path in (ROOT / "src").rglob("*.py")
        for code in re.findall(rf'"({CODE.pattern})"', path.read_text())
    }


def test_every_code_occurs_in_a_test() -> None:
    tests = [path for path in (ROOT / "tests").rglob("*") if path.suffix in {".py", ".sql"}]
    met = {code for path in tests for code in CODE.findall(path.read_text())}
    assert not raised() - met, "no test meets these errors"


def test_codes_and_their_page_agree() -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text()
    documented = re.findall(rf"^\| ({CODE.pattern}) \|", page, re.MULTILINE)
    assert len(documented) == len(set(documented))
    assert raised() == set(documented)
