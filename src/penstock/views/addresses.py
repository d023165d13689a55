"""Addresses: where the store of a view is, and how it is opened."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from penstock.algebra.physical import digest
from penstock.algebra.views import ViewStep
from penstock.storage.disk import make_directory, remove, remove_tree
from penstock.storage.files import write_json
from penstock.storage.seals import sealed
from penstock.views.owners import DIRECTORY, OWNER, owner_of
from penstock.views.protocol import ViewStore
from penstock.views.refusals import occupied, unreachable
from penstock.views.rehearsals import least_refresh, refuse_short_bound
from penstock.vocabulary.errors import PenstockError

COOLDOWN_S = 2.0
"""How long a store that does not answer is left alone."""
UNREADABLE = ("?", "\\")
"""What DuckDB reads as the end of a path, or as a slash."""
SUFFIX = ".duckdb"


def view_file(step: ViewStep, home: str | Path, query: int) -> Path:
    """Give the file of a view that lives in its home; another view of the name has another."""
    return Path(home) / DIRECTORY / f"{digest(step)}-{query}{SUFFIX}"


def open_view(step: ViewStep, home: str | Path | None, query: int) -> ViewStore:
    """Open the store of a view, and make in it what is not there yet."""
    stores = importlib.import_module("penstock.views.stores")
    owner = None
    if step.store:
        address = step.store
        owner = None if home is None else owner_of(home)
    elif home is None:
        address = ":memory:"
    else:
        path = view_file(step, home, query)
        refuse_path(home)
        try:
            make_directory(path.parent)
        except PenstockError as error:  # changes wait, as for every store that cannot be opened
            raise unreachable(str(path), error.fact) from None
        address = str(path)
    store: ViewStore = stores.open_store(step.definition, address, owner)
    try:
        store.create()
    except BaseException:
        store.close()
        raise
    return store


def check_address(step: ViewStep) -> None:
    """Refuse an address that is none of a store."""
    if step.store:
        refuse_scheme(step.store)


def claim_store(step: ViewStep, home: str | Path) -> None:
    """Make the store of a view that lives elsewhere, for this home, before the view stands on it.

    What cannot be reached, does not know the view's words, or has the same view of another home is
    refused: of two that take turns by their numbers, each would be given what the other's told. So
    is one whose bound is shorter than the least refresh takes there.
    """
    path = Path(home) / DIRECTORY / OWNER
    if not path.exists():
        make_directory(path.parent)
        write_json(path, sealed({"owner": uuid4().hex}))
    store = open_view(step, home, 0)
    try:
        if store.taken():
            raise occupied(step.definition, f"a view {step.definition.name!r} that has begun")
        refuse_short_bound(step, least_refresh(store))
        store.create()
    finally:
        store.close()


def forget_files(home: str | Path, standing: Sequence[Path]) -> list[Path]:
    """Remove the files of views that stand no more."""
    kept = {path.name for path in standing}
    gone = []
    for path in sorted((Path(home) / DIRECTORY).glob(f"*{SUFFIX}*")):
        # DuckDB has more beside a file than its log: `.wal.checkpoint`, when it was killed, and a
        # directory of what it spilled.
        if path.name.partition(SUFFIX)[0] + SUFFIX not in kept:
            remove_tree(path) if path.is_dir() else remove(path)
            gone.append(path)
    return gone


def refuse_path(home: str | Path) -> None:
    """Refuse to keep a view in a home whose path DuckDB would take for another."""
    found = [character for character in UNREADABLE if character in str(Path(home).absolute())]
    if found:
        raise PenstockError(
            "VIEW-013",
            f"The home {str(home)!r} has {' and '.join(found)} in its path, and DuckDB, which keeps"
            " the views of a home, cannot open files there.",
            "Move the home, or keep the view in PostgreSQL: STORE 'postgresql://…'.",
        )


def refuse_scheme(address: str) -> None:
    """Refuse an address that is none of PostgreSQL."""
    if not address.startswith(("postgresql://", "postgres://")):
        raise PenstockError(
            "VIEW-061",
            f"{address.partition(':')[0]!r} is no store of views.",
            "Write STORE 'postgresql://…', or leave STORE out: the view then lives in the home.",
            option="store",
        )
