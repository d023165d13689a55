"""The broker of this process: for receivers that live beside the engine, and without a network."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence

from penstock.brokers.addresses import BrokerAddress
from penstock.brokers.protocol import Publication, ReplayGapError

KEPT_MAX = 100_000
ROUNDS = 256


class MemoryShelf:
    """What one root of this process holds; everyone who names the root shares it."""

    def __init__(self, publications_max: int) -> None:
        self.changed = threading.Condition()
        self.publications: deque[tuple[int, Publication]] = deque(maxlen=publications_max)
        self.count = 0
        self.newest: dict[str, Publication] = {}
        self.kept: dict[str, bytes] = {}


_shelves: dict[tuple[str, str], MemoryShelf] = {}
_shelves_lock = threading.Lock()


class InProcessBroker:
    """Keeps the last so many publications in memory; `?keep=` says how many."""

    def __init__(self, address: BrokerAddress) -> None:
        with _shelves_lock:
            made = MemoryShelf(address.number("keep", KEPT_MAX))
            self._shelf = _shelves.setdefault((address.host, address.root), made)

    def keeps(self, _subject: str, rounds: int, _nbytes: int) -> bool:
        """Say whether so many publications are surely read again: far fewer than are kept."""
        return rounds < ROUNDS

    def publish(self, publications: Sequence[Publication]) -> str:
        """Publish all of them, each once."""
        shelf = self._shelf
        with shelf.changed:
            for own in publications:
                newest = shelf.newest.get(own.subject)
                if newest is None or newest.number < own.number:
                    shelf.count += 1
                    shelf.publications.append((shelf.count, own))
                    shelf.newest[own.subject] = own
            shelf.changed.notify_all()
            return str(shelf.count)

    def newest(self, subject: str) -> Publication | None:
        """Give what was published last under a subject."""
        return self._shelf.newest.get(subject)

    def keep(self, values: Mapping[str, bytes]) -> None:
        """Keep values by name."""
        with self._shelf.changed:
            self._shelf.kept.update(values)

    def kept(self) -> dict[str, bytes]:
        """Give all that is kept."""
        with self._shelf.changed:
            return dict(self._shelf.kept)

    def read(self, subjects: Sequence[str], after: str = "") -> ShelfReading:
        """Read what was published under subjects behind a position."""
        return ShelfReading(self._shelf, frozenset(subjects), int(after or 0))

    def close(self) -> None:
        """Do nothing: what is in the process stays."""


class ShelfReading:
    """Reads a shelf."""

    def __init__(self, shelf: MemoryShelf, subjects: frozenset[str], after: int) -> None:
        self._shelf, self._subjects, self._after = shelf, subjects, after
        self._target = shelf.count

    @property
    def is_behind(self) -> bool:
        """Whether something that was there at the beginning has not been taken yet."""
        return self._after < self._target

    def take(self, timeout_s: float) -> list[Publication]:
        """Wait for what comes next."""
        shelf = self._shelf
        with shelf.changed:
            shelf.changed.wait_for(lambda: shelf.count > self._after, timeout_s)
            held = shelf.publications
            if held and held[0][0] > self._after + 1:
                raise ReplayGapError("it is no longer kept in memory")
            found = [own for at, own in held if at > self._after and own.subject in self._subjects]
            self._after = shelf.count
            return found

    def close(self) -> None:
        """Read no more."""
