"""Why a store does not do what it is asked."""

from __future__ import annotations

from penstock.vocabulary.errors import PenstockError


class StoreGoneError(PenstockError):
    """The store does not answer: nothing was done, and the same may be asked again later."""


class StoreTurnError(PenstockError):
    """The store has taken other turns than are known of, or is another home's; nothing was done."""


class StoreTextError(PenstockError):
    """The store cannot do what the view asks of it over its rows; nothing was done."""
