"""Findings: what is wrong with a file of a home, said with a code and the file's name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with one file.

    >>> str(Finding("VER-004", Path("a.parquet"), "is missing"))
    '[VER-004] a.parquet is missing.'
    """

    code: str
    file: Path
    fact: str

    def __str__(self) -> str:
        return f"[{self.code}] {self.file} {self.fact}."
