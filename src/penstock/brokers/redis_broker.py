"""Redis: a stream for each subject, whose ids are batch and part, and a hash of what is kept.

An id that is not above the newest is refused by Redis, so what is published again is kept once. An
entry under `end` says which other subjects have news: a reader waits for that stream alone, since
to name all of them with every question takes more bytes than the news.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from penstock.brokers.addresses import BrokerAddress, client
from penstock.brokers.protocol import END, Publication, ReplayGapError

KEPT_MAX = 100_000
TIMEOUT_S = 10.0
TAKEN_MAX = 1_000
"""So many entries are read at once from one subject."""
AGAIN = "equal or smaller than the target stream top item"
PAYLOAD, BESIDE = b"payload", b"beside"
Number = tuple[int, int]


class FoundEntries(NamedTuple):
    """Entries of a subject, and the subjects that have news beside them."""

    subject: str
    taken: list[Publication]
    beside: frozenset[str]


class RedisBroker:
    """Streams `<root>:<subject>` of the database `?db=`; `?keep=` says how many entries each."""

    def __init__(self, address: BrokerAddress) -> None:
        self._redis: Any = client("redis", "redis", "A broker at redis://")
        self._keep_max = address.number("keep", KEPT_MAX)
        self._root = address.root
        self._connection = self._redis.Redis(
            host=address.host, port=address.port, db=int(address.options.get("db", 0)),
            username=address.user, password=address.password,
            socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, retry=None,
        )  # fmt: skip

    def keeps(self, _subject: str, rounds: int, _nbytes: int) -> bool:
        """Say whether so many publications are surely read again: half of those that are kept."""
        return 2 * rounds < self._keep_max

    def publish(self, publications: Sequence[Publication]) -> str:
        """Publish all of them, each once: one that stands behind a newer one is there already."""
        with self._asked() as redis, redis.pipeline(transaction=True) as pipeline:
            before = list[str]()
            for own in publications:
                fields = {PAYLOAD: own.payload}
                if own.subject == END and before:
                    fields[BESIDE] = " ".join(dict.fromkeys(before)).encode()
                before.append(own.subject)
                pipeline.xadd(
                    self.key(own.subject), fields, f"{own.batch}-{own.part + 1}",
                    maxlen=self._keep_max, approximate=True,
                )  # fmt: skip
            for answer in pipeline.execute(raise_on_error=False):
                if isinstance(answer, Exception) and AGAIN not in str(answer):
                    raise answer
        newest = max((own.number for own in publications), default=(0, -1))
        return f"{newest[0]}-{newest[1] + 1}"

    def newest(self, subject: str) -> Publication | None:
        """Give what was published last under a subject."""
        with self._asked() as redis:
            found = redis.xrevrange(self.key(subject), count=1)
        return _publication(subject, *found[0]) if found else None

    def keep(self, values: Mapping[str, bytes]) -> None:
        """Keep values by name."""
        if values:
            with self._asked() as redis:
                redis.hset(self.key("kept"), mapping=dict(values))

    def kept(self) -> dict[str, bytes]:
        """Give all that is kept."""
        with self._asked() as redis:
            return {name.decode(): value for name, value in redis.hgetall(self.key("kept")).items()}

    def read(self, subjects: Sequence[str], after: str = "") -> RedisReading:
        """Read what was published under subjects behind a position."""
        return RedisReading(self, subjects, _number(after or "0-0"))

    def close(self) -> None:
        """Let the connection go."""
        self._connection.close()

    def key(self, subject: str) -> str:
        """Give the key of a subject."""
        return f"{self._root}:{subject}"

    def entries(self, after: Mapping[str, Number], timeout_s: float) -> list[FoundEntries]:
        """Give what stands behind numbers, by subject; wait if there is nothing."""
        asked = {self.key(own): f"{at[0]}-{at[1]}" for own, at in after.items()}
        block_ms = max(int(min(timeout_s, TIMEOUT_S / 2) * 1_000), 1) if timeout_s > 0 else None
        with self._asked() as redis:
            answer = redis.xread(asked, count=TAKEN_MAX, block=block_ms)
        skipped = len(self._root) + 1
        pairs = answer.items() if isinstance(answer, dict) else answer
        found = []
        for key, entries in pairs:
            subject = key.decode()[skipped:]
            # An answer of the newer protocol holds lists of lists of entries.
            own = entries[0] if isinstance(answer, dict) else entries
            beside = {name for _, each in own for name in each.get(BESIDE, b"").decode().split()}
            taken = [_publication(subject, *each) for each in own]
            found.append(FoundEntries(subject, taken, frozenset(beside)))
        return found

    def removed(self, subject: str) -> Number:
        """Give the newest number that was removed from a subject, to make room."""
        with self._asked() as redis:
            if not redis.exists(self.key(subject)):
                return 0, 0
            told = redis.xinfo_stream(self.key(subject))
        return _number(told["max-deleted-entry-id"].decode())

    @contextmanager
    def _asked(self) -> Iterator[Any]:
        """Turn what Redis' client raises when nobody answers into what all brokers raise."""
        try:
            yield self._connection
        except (self._redis.ConnectionError, self._redis.TimeoutError) as error:
            raise ConnectionError(f"Redis does not answer: {error}") from None


def _number(text: str) -> Number:
    batch, _, part = text.partition("-")
    return int(batch), int(part)


def _publication(subject: str, id_: bytes, fields: Mapping[bytes, bytes]) -> Publication:
    batch, part = _number(id_.decode())
    return Publication(subject, fields[PAYLOAD], batch, part - 1)


class RedisReading:
    """Reads some streams side by side; what is taken at once is in order across them."""

    def __init__(self, broker: RedisBroker, subjects: Sequence[str], after: Number) -> None:
        self._broker = broker
        self._after = dict.fromkeys(subjects, after)
        self.is_behind = True

    def take(self, timeout_s: float) -> list[Publication]:
        """Wait for what comes next."""
        found = self._news(timeout_s)
        if not found and self.is_behind:
            self.is_behind = False
            return []
        for subject, entries, _ in found:
            may_lack = self.is_behind or len(entries) == TAKEN_MAX
            if may_lack and self._broker.removed(subject) > self._after[subject]:
                raise ReplayGapError("it is no longer in the stream")
        # Of a subject that has more, nothing behind its last may be given of the others.
        full = [entries[-1].number for _, entries, _ in found if len(entries) == TAKEN_MAX]
        upto = min(full, default=None)
        taken = []
        for subject, entries, _ in found:
            own = [each for each in entries if upto is None or each.number <= upto]
            if own:
                self._after[subject] = own[-1].batch, own[-1].part + 1
                taken += own
        return sorted(taken, key=lambda each: each.number)

    def _news(self, timeout_s: float) -> list[FoundEntries]:
        """Give what is behind the last that was taken, of all subjects; wait if nothing is."""
        if self.is_behind or END not in self._after:
            return self._broker.entries(self._after, 0.0 if self.is_behind else timeout_s)
        found = self._broker.entries({END: self._after[END]}, timeout_s)
        beside = {own for each in found for own in each.beside}
        asked = {own: at for own, at in self._after.items() if own in beside}
        return [*found, *(self._broker.entries(asked, 0.0) if asked else [])]

    def close(self) -> None:
        """Read no more."""
