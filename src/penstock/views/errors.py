"""Why a store does not do what it is asked."""

from __future__ import annotations

from penstock.vocabulary.errors import PenstockError


class StoreGoneError(PenstockError):
    """The store does not answer: nothing was done, and the same may be asked again later."""


class StoreTurnError(PenstockError):
    """The store has taken other turns than are known of; nothing was done."""


class StoreTextError(PenstockError):
    """The view's own words cannot be evaluated over its rows; nothing was done."""
