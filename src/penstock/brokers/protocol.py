"""What every broker does: it keeps what is published, each once, and gives it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

PUBLISH_BYTES_MAX = 900_000
"""A payload has so many bytes at most: NATS refuses more than a megabyte, headers included."""

END = "end"
"""Whoever publishes batches under several subjects publishes something short under this one last.

So a reader of it needs to look at the others only when it comes."""

REST = "rest"
"""What a publisher that leaves out what concerns nobody needs itself, to go on behind a crash."""


@dataclass(frozen=True, slots=True)
class Publication:
    """Something to publish; batch and part say whether it came before.

    Parts of a batch are numbered in the order in which they are published.
    """

    subject: str
    """Words with dots between them, below the root of the broker's address."""
    payload: bytes
    batch: int
    part: int

    @property
    def number(self) -> tuple[int, int]:
        """Where it stands among all of its subject."""
        return self.batch, self.part


class ReplayGapError(Exception):
    """Something that was published is no longer there for a reader that comes late."""


class BrokerReading(Protocol):
    """What was published under some subjects, in order, from a position on."""

    @property
    def is_behind(self) -> bool:
        """Whether something that was there at the beginning has not been taken yet."""

    def take(self, timeout_s: float, /) -> list[Publication]:
        """Wait for what comes next, no longer than so; ConnectionError: try again later.

        What comes again is left out, or has its old number. If something is missing for good:
        `ReplayGapError`.
        """

    def close(self) -> None:
        """Read no more."""


class Broker(Protocol):
    """A place in a broker, under one root: ConnectionError means "try again later"."""

    def keeps(self, subject: str, rounds: int, nbytes: int, /) -> bool:
        """Say whether one who comes late surely reads so many publications of a subject again.

        `nbytes` is what all subjects have had meanwhile.
        """

    def publish(self, publications: Sequence[Publication], /) -> str:
        """Publish all of them, in order, each once; give the position behind them."""

    def newest(self, subject: str, /) -> Publication | None:
        """Give what was published last under a subject."""

    def keep(self, values: Mapping[str, bytes], /) -> None:
        """Keep values by name, the newest of each; none is empty."""

    def kept(self) -> dict[str, bytes]:
        """Give all that is kept."""

    def read(self, subjects: Sequence[str], after: str = "", /) -> BrokerReading:
        """Read what was published under subjects behind a position; from the first, without one."""

    def close(self) -> None:
        """Let the connection go; whatever is asked next opens another."""
