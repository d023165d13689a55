"""What stores of views say when something is wrong; never with a password."""

from __future__ import annotations

import re
from urllib.parse import unquote

from penstock.algebra.views import ViewDefinition
from penstock.views.errors import StoreGoneError, StoreTextError, StoreTurnError
from penstock.views.layout import ViewLayout
from penstock.vocabulary.errors import PenstockError

HIDDEN = "***"
_SECRET = re.compile(r"(?i)(?<=://)[^:/@]*:(?P<a>.*)@|\bpassword=(?P<n>[^&\s]*)")


def masked(text: str, address: str) -> str:
    """Take an address's password out of a text, and make one line of it.

    >>> masked("no route to me:a%20b@db, 'a b'.", "postgresql://me:a%20b@db")
    "no route to me:***@db, '***'"
    """
    secrets = {found["a"] or found["n"] for found in _SECRET.finditer(address)}
    for secret in sorted({*secrets, *map(unquote, secrets)} - {""}, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return " ".join(text.split()).rstrip(".!?")


def unreachable(place: str, reason: str) -> PenstockError:
    """Say that a store cannot be opened."""
    return StoreGoneError(
        "VIEW-002",
        f"The store {masked(place, place)!r} cannot be opened: {masked(reason, place)}.",
        "Correct the address, or start its server; a DuckDB file belongs to one process at a time.",
    )


def gone(definition: ViewDefinition, place: str, reason: str) -> PenstockError:
    """Say that a store does not answer any more; what was asked of it may be asked again."""
    return StoreGoneError(
        "VIEW-007",
        f"The store of view {definition.name!r} does not answer: {masked(reason, place)}.",
        "Start its server again. Nothing is half done; the view goes on where it was.",
    )


def occupied(definition: ViewDefinition, by: str) -> PenstockError:
    """Say that the store has a view of the name which is not this one."""
    return StoreTurnError(
        "VIEW-003",
        f"The store has {by}.",
        "Drop that one first, or give this one another name. If its home is gone, say in the "
        f"store: DROP SCHEMA {ViewLayout(definition).schema} CASCADE.",
    )


def copied(definition: ViewDefinition, there: str) -> PenstockError:
    """Say that a home and its copy would take the turns of one view."""
    return StoreTurnError(
        "VIEW-017",
        f"View {definition.name!r} is kept by the home at {there} now, and one of the two is a "
        "copy of the other.",
        "Run one of them: remove the other, or move it out of the way.",
    )


def failed(definition: ViewDefinition, reason: str) -> PenstockError:
    """Say that the store could not do what maintains a view; nothing of it was done."""
    return StoreTextError(
        "VIEW-005",
        f"The store of view {definition.name!r} fails: {masked(reason, '')}.",
        "Nothing was changed. Correct what is named, in the rows or in the view, and go on.",
    )


def unsaid(definition: ViewDefinition, reason: str) -> PenstockError:
    """Say that PostgreSQL does not know a word of a view."""
    return PenstockError(
        "VIEW-055",
        f"PostgreSQL has no words for what view {definition.name!r} asks: {masked(reason, '')}.",
        "Write it in words that both databases have, or leave the view in DuckDB.",
    )


def too_large(definition: ViewDefinition, reason: str) -> PenstockError:
    """Say that a flush is more than the store can do at once, however often it is asked."""
    return StoreTextError(
        "VIEW-014",
        f"What the rows of view {definition.name!r} make is more than its store can do at once: "
        f"{masked(reason, '')}.",
        "Nothing was changed. Narrow the conditions of the view, or shorten the texts that it "
        "makes, and create it anew.",
    )


def unkept(definition: ViewDefinition, reason: str) -> PenstockError:
    """Say that a row holds a text that PostgreSQL cannot keep."""
    return StoreTextError(
        "VIEW-008",
        f"A row of view {definition.name!r} holds a text that PostgreSQL cannot keep: "
        f"{masked(reason, '')}.",
        "Nothing was changed. Take NUL characters out of the rows, or keep the view in DuckDB.",
    )


def unreadable(definition: ViewDefinition, reason: str) -> PenstockError:
    """Say that a reader's question cannot be answered."""
    return PenstockError(
        "VIEW-006",
        f"The question to view {definition.name!r} cannot be answered: {masked(reason, '')}.",
        "Write one SELECT in the SQL of the store, in which the view has its own name.",
    )


def old_server(place: str, version: int, least: int) -> PenstockError:
    """Say that a server is too old."""
    return PenstockError(
        "VIEW-011",
        f"{masked(place, place)!r} is PostgreSQL {version}, and views need {least} or newer.",
        "Keep the view in a newer server, or in DuckDB.",
    )
