"""Why nothing can be changed in a home that is open here, or it cannot be read."""

from __future__ import annotations

from pathlib import Path

from penstock.vocabulary.errors import PenstockError


def only_read() -> PenstockError:
    """Say that a home is another process's."""
    return PenstockError(
        "REG-024",
        "This home is open only to be read, and nothing can be registered, changed or dropped "
        "here.",
        "Do it in the process whose engine runs, or open the home without `read_only`.",
    )


def closed() -> PenstockError:
    """Say that a home was given up, so that it may be another process's by now."""
    return PenstockError(
        "ENG-069",
        "The engine was closed: its home may be open in another process by now.",
        "Open the home again: `Engine(home)`.",
    )


def missing(path: Path) -> PenstockError:
    """Say that a version is not there, and those behind it are."""
    return PenstockError(
        "REG-023",
        f"Version {int(path.name):,} of the registry is missing: {path}.",
        "Restore the home directory from a copy, or begin a new one.",
    )
