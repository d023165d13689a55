"""The repository as its files: sources, documents, everything that is or would be tracked."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "penstock"
LEFTOVERS = re.compile(r"^(\.(?!ci/|gitignore|editorconfig|pre-commit)|build/|dist/)|__pycache__")


@cache
def tracked() -> tuple[Path, ...]:
    """Every file that git tracks or would offer to track; outside git, every file but leftovers."""
    if (ROOT / ".git").exists():
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        names = listed.stdout.split("\0")
    else:
        names = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*")]
        names = [name for name in names if not LEFTOVERS.search(name)]
    return tuple(path for name in sorted(set(names)) if (path := ROOT / name).is_file())


def sources() -> list[Path]:
    """Every Python file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def documents() -> list[Path]:
    """README, CONTRIBUTING and all of docs/."""
    named = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")]
    return [path for path in named if path.exists()] + sorted((ROOT / "docs").rglob("*.md"))


def place(path: Path, line: int | None = None) -> str:
    """Name a file, and a line in it, as an editor opens it."""
    name = path.relative_to(ROOT).as_posix()
    return name if line is None else f"{name}:{line}"
