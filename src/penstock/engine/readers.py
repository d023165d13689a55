"""Readers: what subscriptions and groups find in the result log of a home."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from time import monotonic, sleep
from typing import Any

import pyarrow as pa

from penstock.delivery.batch_tables import TAIL, with_tail
from penstock.delivery.change_iterators import ChangeIterator, followed
from penstock.delivery.changes import (
    Change,
    ChangeReader,
    Failing,
    Selecting,
    changes_of,
    is_of_log,
    parse_token,
)
from penstock.delivery.courier import Courier
from penstock.delivery.cursors import Cursors
from penstock.delivery.log import ResultLog
from penstock.delivery.sheets import HEAD, SheetSelection, no_changes
from penstock.delivery.sink_pool import SinkPool
from penstock.delivery.sinks import SinkRunner
from penstock.engine.claims import RegistryClaims
from penstock.engine.home import Home
from penstock.engine.registration import as_ids
from penstock.engine.selections import events_of, of_ids, selection_of_group
from penstock.expressions.allowances import EvaluationError
from penstock.registry.store import Registry
from penstock.vocabulary.errors import PenstockError

LOOK_S = 0.05
"""So often does a reader beside another process's engine look for a new batch."""
NOTHING = pa.table({name: pa.nulls(0) for name in (*HEAD, *TAIL)})


class HomeReaders:
    """A home's result log, open for readers and sinks.

    Parameters
    ----------
    failing
        Told of outputs that failed on the values of a row.
    running
        Says whether more batches may come.
    tell
        `(subscription, text)`: told how its sinks fare.
    raise_failure
        Raises what ended the run, if that was a failure.
    """

    def __init__(
        self,
        home: Home,
        registry: Registry,
        failing: Failing,
        running: Callable[[], bool],
        tell: Callable[[str, str], None],
        raise_failure: Callable[[], None],
    ) -> None:
        self._raise_failure = raise_failure
        self._home, self._registry, self._running = home, registry, running
        self._tell, self._told_dear = tell, set[str]()
        self.log = ResultLog(home.path / "results")
        self.reader = ChangeReader(self.log, failing, self._too_dear)
        self.claims = RegistryClaims(registry)
        self.courier = Courier(self.log, self.reader, self.claims, running)
        self.sinks = SinkPool(Cursors(home.path / "sinks"), tell)

    def _too_dear(self, name: str, error: EvaluationError) -> None:
        """Tell once that a subscription's outputs are not computed any more."""
        if name not in self._told_dear:
            self._told_dear.add(name)
            words = f"its outputs are suspended: who follows it gets an error. {error}"
            self._tell(name, f"Standing query {name}: {words} To try again: RESUME {name}.")

    def resume(self, name: str) -> bool:
        """Compute a subscription's outputs again; say whether they were suspended."""
        self._told_dear.discard(name)
        return self.reader.try_again(self._selections(name))

    def changes(
        self,
        name: str,
        since: str | None,
        follow: bool,
        timeout_s: float | None,
        ids: Iterable[Any] | None = None,
    ) -> ChangeIterator:
        """Iterate over a subscription's changes; those that follow are handed new ones."""
        self._refuse_ahead(since)
        if follow and ids is None and self._running():
            return followed(self.courier, name, since, timeout_s, self._raise_failure)
        selecting = self._selecting(name, ids)
        if follow and self._is_going():
            return ChangeIterator(
                lambda: self._beside(name, selecting, since, timeout_s),
                lambda: self._beside_in_loop(name, selecting, since, timeout_s),
            )
        return ChangeIterator(
            lambda: self.reader.changes(selecting, since),
            lambda: self._beside_in_loop(name, selecting, since, 0.0),
        )

    def _is_going(self) -> bool:
        """Say whether more batches may come: of another process's engine nobody knows."""
        return self._home.is_read_only or self._running()

    def _selections(self, name: str) -> list[SheetSelection]:
        """Give what to look for, as of now: a batch may have run under a version just published."""
        self._registry.refresh()
        return self.claims.selections(name)

    def _selecting(self, name: str, ids: Iterable[Any] | None) -> Selecting:
        def whole() -> list[SheetSelection]:
            return self._selections(name)

        return whole if ids is None else of_ids(whole, as_ids(ids), name)

    def _beside(
        self, name: str, selecting: Selecting, since: str | None, timeout_s: float | None
    ) -> Iterator[Change]:
        """Follow what is found without being told: the log is looked at again and again."""
        came_s = monotonic()
        was_going = True

        def waiting() -> bool:
            nonlocal was_going
            sleep(LOOK_S)
            self._registry.refresh()
            is_time_left = timeout_s is None or monotonic() - came_s < timeout_s
            # What ends while somebody looks is looked at once more.
            goes_on, was_going = was_going, self._is_going()
            return goes_on and is_time_left and name in self._registry.subscriptions

        for change in self.reader.changes(selecting, since, waiting):
            came_s = monotonic()
            yield change
        self._raise_failure()

    async def _beside_in_loop(
        self, name: str, selecting: Selecting, since: str | None, timeout_s: float | None
    ) -> AsyncIterator[Change]:
        """Do the same in an event loop: files are read in a thread, and nobody waits there."""
        number, seen = parse_token(since)
        came_s = monotonic()
        goes_on = True
        while True:
            is_going = self._is_going()
            found = await asyncio.to_thread(self._changes_of, selecting, number, seen)
            if found is not None:
                for change in found:
                    came_s = monotonic()
                    yield change
                number, seen = number + 1, 0
                continue
            is_time_left = timeout_s is None or monotonic() - came_s < timeout_s
            if not (goes_on and is_time_left and name in self._registry.subscriptions):
                if not goes_on:
                    self._raise_failure()
                return
            goes_on = is_going
            await asyncio.sleep(LOOK_S)

    def _changes_of(self, selecting: Selecting, batch: int, seen: int) -> list[Change] | None:
        """Read one batch's changes; None where the log ends."""
        logged = self.log.read(batch)
        if logged is None:
            self._registry.refresh()
            return None
        pieces = self.reader.pieces(logged, selecting())
        return list(changes_of(pieces, batch, logged.version, seen))

    def read(
        self, name: str, since: str | None = None, ids: Iterable[Any] | None = None
    ) -> pa.Table:
        """Read a subscription's changes so far as one table."""
        self._refuse_ahead(since)
        return self._read(self._selecting(name, ids), since)

    def _refuse_ahead(self, since: str | None) -> None:
        """Refuse a token of another home: what came before it here would be passed over."""
        if since is None:
            return
        newest = max(self.log.newest(), self.log.first() - 1)
        if not is_of_log(*parse_token(since), newest):
            raise PenstockError(
                "DEL-017",
                f"The token {since!r} is ahead of the log, which ends with batch {newest:,}.",
                "Resume with a token of this home, or with None to begin at the start.",
            )

    def before_last(self, name: str, count: int, ids: Iterable[Any] | None = None) -> str:
        """Give the token behind which the last `count` changes of a subscription come."""
        selections = self._selecting(name, ids)()
        left = count
        first = self.log.first()
        for number in range(self.log.newest(), first - 1, -1):
            logged = self.log.read(number)
            if logged is None:
                break
            found = sum(map(len, self.reader.pieces(logged, selections)))
            if found >= left:
                return f"{number}:{found - left}"
            left -= found
        return f"{first}:0"

    def read_group(self, group: str, since: str | None = None) -> pa.Table:
        """Read the changes of a whole group; ids are query numbers, columns all there are."""
        selection = selection_of_group(self._registry, group)
        return self._read(lambda: [selection], since)

    def _read(self, selecting: Selecting, since: str | None) -> pa.Table:
        parts = []
        for logged, seen, pieces in self.reader.batches(selecting, since):
            tables = [piece.table() for piece in pieces]
            left = _behind(tables, seen)
            parts += [with_tail(rows, logged.batch, logged.version) for rows in left]
        return _whole(parts) if parts else self._nothing(selecting())

    def _nothing(self, selections: Sequence[SheetSelection]) -> pa.Table:
        """Give the columns that changes will have; of what stands no more, only Penstock's own."""
        if not selections or selections[-1].group not in self._registry.steps:
            return NOTHING
        newest = selections[-1]
        rows = no_changes(newest, events_of(self._registry, newest.group))
        return with_tail(rows, 0, 0)

    def feed(self, runner: SinkRunner) -> None:
        """Feed a sink that was added, if the engine runs; else the next run will."""
        if self._running():
            self.sinks.begin(self.courier, [runner])


def _whole(parts: list[pa.Table]) -> pa.Table:
    """Put the changes of batches together; a text that was altered may have other types since."""
    try:
        return pa.concat_tables(parts, promote_options="permissive")
    except pa.ArrowTypeError:
        known: dict[str, pa.DataType] = {}
        for part in parts:
            for field in part.schema:
                before = known.setdefault(field.name, field.type)
                if not _is_one_type(before, field.type):
                    token = f"{part['_batch'][0]}:0"
                    raise PenstockError(
                        "DEL-016",
                        f"{field.name!r} was {before}, and is {field.type} from batch "
                        f"{part['_batch'][0]} on, since the text was altered: one table has no "
                        "place for both.",
                        f"Read from there on, read(since={token!r}), or all by changes().",
                    ) from None
        raise


def _is_one_type(one: pa.DataType, other: pa.DataType) -> bool:
    schemas = [pa.schema([("x", each)]) for each in (one, other)]
    try:
        pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowTypeError:
        return False
    return True


def _behind(tables: list[pa.Table], seen: int) -> list[pa.Table]:
    """Leave out the first rows of several tables."""
    left = []
    for table in tables:
        if seen < table.num_rows:
            left.append(table.slice(seen) if seen else table)
        seen = max(0, seen - table.num_rows)
    return left
