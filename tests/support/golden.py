"""Golden files: what was given once is given again, unless a change says so.

`PENSTOCK_UPDATE=1` rewrites the files; review reads the diff.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from penstock.vocabulary.errors import PenstockError

MARK = "--> "


def hold(path: Path, show: Callable[[str], list[str]]) -> None:
    """Hold a file of cases against what is shown of each now, or write it anew."""
    before = path.read_text()
    after = "\n".join(f"{case}\n{_shown(case, show)}" for case in cases(before))
    if os.environ.get("PENSTOCK_UPDATE") == "1":
        path.write_text(after)
        return
    assert after == before


def cases(text: str) -> list[str]:
    """Give the cases of a file, without what was shown of them."""
    blocks = re.split(r"\n\s*\n", text.strip())
    kept = ["\n".join(x for x in b.splitlines() if not x.startswith(MARK.strip())) for b in blocks]
    return [block for block in kept if block]


def _shown(case: str, show: Callable[[str], list[str]]) -> str:
    try:
        lines = show(case)
    except PenstockError as error:
        lines = str(error).splitlines()
    return "".join(f"{MARK}{line}".rstrip() + "\n" for line in lines)
