"""Names: users may choose any but a few that nobody could use."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.vocabulary.errors import PenstockError

RESERVED = "\x01"
"""A character that no column of users has in its name, for names of ours beside theirs."""


def is_name(name: object) -> bool:
    """Say whether something can be a name: a text in which there is something to be seen.

    >>> is_name("a b"), is_name(" "), is_name(5)
    (True, False, False)
    """
    return isinstance(name, str) and bool(name.strip()) and not {"\0", RESERVED} & set(name)


def check_names(relation: str, names: Sequence[str]) -> None:
    """Refuse columns that DuckDB and Spark could not name, or not tell apart.

    >>> check_names("t", ["a b", "_id", "select"])
    >>> check_names("t", ["price", "Price"])
    Traceback (most recent call last):
    penstock.vocabulary.errors.PenstockError: [CAT-013] 't' has the columns 'price' and 'Price'...
    """
    if not is_name(relation):
        raise PenstockError(
            "CAT-014",
            f"{relation!r} cannot be the name of a stream, a table or a view.",
            "Take a text that is not blank, without \\x00 and \\x01.",
        )
    known: dict[str, str] = {}
    for name in names:
        if not name or "\0" in name or RESERVED in name:
            raise PenstockError(
                "CAT-014",
                f"{name!r} cannot be the name of a column of {relation!r}.",
                "Take a name of one character or more, without \\x00 and \\x01.",
            )
        if name.lower() in known:
            raise PenstockError(
                "CAT-013",
                f"{relation!r} has the columns {known[name.lower()]!r} and {name!r}, and names are "
                "matched without regard to case.",
                "Rename one of them.",
            )
        known[name.lower()] = name
