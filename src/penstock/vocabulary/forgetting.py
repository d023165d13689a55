"""Forgetting: what is remembered by name goes when nobody is called so any more."""

from __future__ import annotations

from collections.abc import Collection, MutableMapping
from typing import TypeVar

Remembered = TypeVar("Remembered")


def keep_named(remembered: MutableMapping[str, Remembered], names: Collection[str]) -> None:
    """Forget all but what has one of these names; others may write meanwhile.

    >>> counts = {"stands": 1, "is gone": 2}
    >>> keep_named(counts, {"stands"})
    >>> counts
    {'stands': 1}
    """
    for name in [name for name in list(remembered) if name not in names]:
        remembered.pop(name, None)
