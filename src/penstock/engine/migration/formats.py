"""The formats of homes, and how each becomes the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

FORMAT = 4
"""Of everything in a home: raised when registry, state or results are kept in another way."""

MIGRATIONS = {
    2: "penstock.engine.migration.format_2",
    3: "penstock.engine.migration.format_3",
}
"""By the format that a home has, the module whose function `migrate(home, tell)` makes it the next;
they follow each other until the home has this Penstock's format. What operators keep is brought
over at the end, once."""

OLDEST = min(MIGRATIONS)
"""Older homes were made before there were migrations."""

Tell = Callable[[str], None]
"""Told what is being done."""

GroupNames = dict[str, str]
"""What groups, and ports of groups, are called from now on, by what they were called."""


def migrate_format(format_: int, home: Path, tell: Tell) -> GroupNames:
    """Bring a copy of a home to the next format, all but its marker and what operators keep.

    Gives the groups' new names. The module is imported here: who opens a home of this format need
    not wait for it.
    """
    names: GroupNames = import_module(MIGRATIONS[format_]).migrate(home, tell)
    return names


def bring_state(
    home: Path, facts: dict[str, Any], begun: int, names: GroupNames, tell: Tell
) -> list[str]:
    """Bring over what operators keep; gives what begins anew, each with its code."""
    module = import_module("penstock.engine.migration.kept_state")
    notes: list[str] = module.bring_over(home, facts, begun, names, tell)
    return notes


def followed(names: Mapping[str, str], later: Mapping[str, str]) -> GroupNames:
    """Give the new names after two migrations.

    >>> followed({"a": "b"}, {"b": "c", "d": "e"})
    {'b': 'c', 'd': 'e', 'a': 'c'}
    """
    return {**later, **{old: later.get(new, new) for old, new in names.items()}}
