"""The repository is about Penstock, for anyone, anywhere: no machine's paths, no registry's."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tests.tidy.tree import ROOT, place, tracked

# A path counts where it begins: `docs/work/` is nobody's machine.
STRANGE = re.compile(
    r"(?<![\w.])/(?:work|farm|root|home/\w+|opt/pypi)/"
    r"|index-url"
    r"|https?://\S*pypi"
    r"|file:///\w"
)
BINARY = {".parquet", ".arrow", ".png", ".ico", ".gz", ".xz", ".woff2", ".snapshot", ".delta"}


def test_files_name_no_machine_and_no_registry() -> None:
    found = [
        f"{place(path, number)}: {line.strip()[:100]}"
        for path in tracked()
        if path.suffix not in BINARY and path != Path(__file__)
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if STRANGE.search(line)
    ]
    assert not found, "\n".join(["paths of a machine or addresses of a registry:", *found])


def test_requirements_are_exact_pins() -> None:
    for path in sorted((ROOT / "requirements").glob("*.txt")):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            pin = re.fullmatch(r"[a-z0-9-]+==[\w.]+|-r [a-z]+\.txt|#.*", line)
            assert pin, f"{place(path, number)} is no pin: {line}"


def test_scripts_can_be_run() -> None:
    scripts = [ROOT / ".ci" / "run", *sorted((ROOT / "tools").glob("*.sh"))]
    closed = [place(path) for path in scripts if not os.access(path, os.X_OK)]
    assert not closed, f"without the executable bit: {closed}"


def test_the_changelog_says_what_changed() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    headings = re.findall(r"^## \[(.+?)\]", text, flags=re.MULTILINE)
    assert headings, "CHANGELOG.md has no version heading"
    assert headings[0] == "Unreleased" or re.fullmatch(r"\d+\.\d+\.\d+", headings[0])
