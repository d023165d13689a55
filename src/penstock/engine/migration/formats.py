"""The formats of homes, and how each becomes the next."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

FORMAT = 3
"""Of everything in a home: raised when registry, state or results are kept in another way."""

MIGRATIONS = {2: "penstock.engine.migration.format_2"}
"""By the format that a home has, the module whose function `migrate(home, tell)` makes it the next;
they follow each other until the home has this Penstock's format."""

OLDEST = min(MIGRATIONS)
"""Older homes were made before there were migrations."""

Tell = Callable[[str], None]
"""Told what is being done."""


def migrate_format(format_: int, home: Path, tell: Tell) -> list[str]:
    """Bring a copy of a home to the next format, all but its marker.

    Gives what could not be brought over, each with its code. The module is imported here: who opens
    a home of this format need not wait for it.
    """
    notes: list[str] = import_module(MIGRATIONS[format_]).migrate(home, tell)
    return notes
