"""Limits: how many rows per second and how many open streams an access token has."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from penstock.server.access import AccessToken
from penstock.vocabulary.errors import PenstockError


class TokenUse:
    """What is under way with one access token.

    Rows are a bucket that fills again by the second: it holds as many as a second allows.

    >>> now_s = 0.0
    >>> token = AccessToken(id="", digest="", scopes=(), rows_per_second=10)
    >>> use = TokenUse(token, clock=lambda: now_s)
    >>> use.grant(4), use.grant(40), use.grant(1)
    (4, 6, 0)
    >>> now_s = 0.5
    >>> use.grant(40)
    5
    """

    def __init__(self, token: AccessToken, clock: Callable[[], float] = monotonic) -> None:
        self.token = token
        self.streams = 0
        self._clock = clock
        self._rows = float(token.rows_per_second or 0)
        self._filled_s = clock()

    def grant(self, rows: int) -> int:
        """Say how many of some rows may go now."""
        allowed = self.token.rows_per_second
        if allowed is None:
            return rows
        now_s = self._clock()
        self._rows = min(self._rows + (now_s - self._filled_s) * allowed, float(allowed))
        self._filled_s = now_s
        granted = max(min(rows, int(self._rows)), 0)
        self._rows -= granted
        return granted

    @property
    def wait_s(self) -> float:
        """How long it takes until a row may go."""
        allowed = self.token.rows_per_second
        return 0.0 if allowed is None else max(1.0 - self._rows, 0.0) / allowed

    def take_at_once(self, rows: int) -> None:
        """Take rows that go together, or refuse them; beyond the limit the bucket is in debt."""
        if self.token.rows_per_second is None or not rows:
            return
        if not self.grant(1):
            raise PenstockError(
                "SRV-010",
                f"The access token {self.token.id} has {self.token.rows_per_second:,} rows per "
                "second, and had them.",
                "Try again in a moment.",
            )
        self._rows -= rows - 1

    def begin(self) -> None:
        """Open a stream, or refuse."""
        limit = self.token.connections
        if limit is not None and self.streams >= limit:
            raise PenstockError(
                "SRV-009",
                f"The access token {self.token.id} has {limit:,} streams open, its limit.",
                "Close one, or use a token with another limit.",
            )
        self.streams += 1

    def end(self) -> None:
        """Hear that a stream is closed."""
        self.streams -= 1
