"""Counts in words: one thing, or so many of them."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """Say how many of something there are.

    >>> counted(1, "row"), counted(2_000, "row"), counted(0, "standing query", "standing queries")
    ('1 row', '2,000 rows', '0 standing queries')
    """
    return f"1 {one}" if number == 1 else f"{number:,} {many or one + 's'}"
