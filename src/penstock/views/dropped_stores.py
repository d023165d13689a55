"""Dropped stores: views that were dropped under an engine which still writes them elsewhere.

A view goes with a version of the registry, and batches before that one still ask for its store. So
a note in the home says what is to be taken away, until no batch can ask for it any more. A note
outlives a crash, and a server that does not answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from penstock.algebra.views import ViewStep
from penstock.storage.disk import make_directory, remove
from penstock.storage.files import read_json, write_json
from penstock.storage.seals import SEAL, sealed, unsealed
from penstock.views.addresses import open_view, view_file
from penstock.views.owners import DIRECTORY
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.findings import Finding

SUFFIX = ".dropped"
ANOTHER = {"VIEW-003", "VIEW-017"}
"""The store has another view of that name, or another home keeps it: this one is gone."""


def note_dropped(step: ViewStep, home: str | Path, query: int) -> None:
    """Note that the store of a view is to be taken away."""
    path = view_file(step, home, query).with_suffix(SUFFIX)
    make_directory(path.parent)
    write_json(path, sealed(step.to_json()))


def dropped(home: str | Path) -> Iterator[tuple[Path, ViewStep]]:
    """Give the notes, and the views that they are of."""
    for path in sorted((Path(home) / DIRECTORY).glob(f"*{SUFFIX}")):
        yield path, _noted(path)


def damaged_notes(home: Path) -> Iterator[tuple[Finding, str]]:
    """Say which notes are not as they were written, each with a remedy."""
    for path in sorted((home / DIRECTORY).glob(f"*{SUFFIX}")):
        try:
            _noted(path)
        except PenstockError as error:
            yield Finding(error.code, path, "is not as it was written"), error.remedy


def _noted(path: Path) -> ViewStep:
    try:
        data = read_json(path)
        return ViewStep.from_json(unsealed(data) if SEAL in data else data)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise PenstockError(
            "VIEW-015",
            f"{path}, the note of a view in PostgreSQL that was dropped, is not as it was written.",
            "Remove it; drop the view's schema, penstock_<view>, there if it is still there.",
        ) from None


def is_waited_for(step: ViewStep, home: str | Path) -> bool:
    """Say whether a view's place in its store is still that of one which was dropped."""
    place = (step.store, step.definition.name)
    return any((each.store, each.definition.name) == place for _, each in dropped(home))


def reclaim_dropped(home: str | Path, standing: Collection[Path] = ()) -> None:
    """Take away the stores of views that were dropped; call when no batch can ask for them.

    A view that stands after all, as its drop was noted and then not published, keeps its store.
    """
    kept = {path.stem for path in standing}
    for path, step in dropped(home):
        if path.stem not in kept:
            _take_away(step, home)
        remove(path)


def _take_away(step: ViewStep, home: str | Path) -> None:
    try:
        store = open_view(step, home, 0)
    except PenstockError as error:
        if error.code not in ANOTHER:
            raise
        return
    try:
        store.drop()
    finally:
        store.close()
