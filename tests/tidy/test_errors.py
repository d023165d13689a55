"""Every error code is documented, and every documented code exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"\b[A-Z]{3}-\d{3}\b")


def test_codes_and_their_page_agree() -> None:
    raised = {
        code
        for path in (ROOT / "src").rglob("*.py")
        for code in re.findall(rf'"({CODE.pattern})"', path.read_text())
    }
    page = (ROOT / "docs" / "reference" / "errors.md").read_text()
    documented = re.findall(rf"^\| ({CODE.pattern}) \|", page, re.MULTILINE)
    assert len(documented) == len(set(documented))
    assert raised == set(documented)
