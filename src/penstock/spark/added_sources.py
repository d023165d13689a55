"""Sources that are added to a query with a checkpoint.

Spark keeps offsets by the place of a source among all, and refuses a query with more of them. A new
source is always the last, and Spark itself writes `-` for one that has brought nothing yet: so that
is written behind the offsets that are there. Manifests of older batches say what they said.
"""

from __future__ import annotations

from pathlib import Path

from penstock.spark.provenance import parsed_offsets, sums_file
from penstock.storage import disk
from penstock.storage.files import write_file

NOTHING_YET = "\n-"


def widen_offsets(checkpoint: Path, sources: int) -> None:
    """Let every file of offsets speak of so many sources; what is there already stays."""
    directory = checkpoint / "offsets"
    for file in sorted(directory.iterdir()) if directory.is_dir() else ():
        if not file.name.isdecimal():
            continue
        text = file.read_text(encoding="utf-8")
        missing = sources - len(parsed_offsets(text))
        if missing > 0:
            disk.remove(sums_file(file))
            write_file(file, (text + NOTHING_YET * missing).encode())


def is_widened(text: str, told: str) -> bool:
    r"""Say whether offsets are those that were told, with sources that were added since.

    >>> is_widened("v1\n{}\n{}\n-", "v1\n{}\n{}"), is_widened("v1\n{}\n{}", "v1\n{}\n{}")
    (True, False)
    """
    added = text.removeprefix(told)
    return text.startswith(told) and bool(added) and not added.replace(NOTHING_YET, "")
