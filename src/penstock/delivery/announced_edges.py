"""What edges hold, as far as they have told: so what concerns none of them is not published.

Every edge has a root of its own, `<root>-edge-<name>`, below which it keeps a summary of its ranges
and says which one holds now. Only if all that are named have told is anything left out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

import numpy as np
import pyarrow as pa

from penstock.brokers.addresses import BrokerAddress, broker_at, edge_address
from penstock.brokers.message_format import MessageForm
from penstock.brokers.protocol import END, Broker, BrokerReading, Publication, ReplayGapError
from penstock.brokers.range_summaries import RangeSummary, SummaryNotice, announced
from penstock.vocabulary.batches import Flags

LOOK_S = 1.0
"""So often a publisher looks whether an edge holds other ranges."""
LOGGER = logging.getLogger("penstock.delivery")


class AnnouncedEdge:
    """One edge: what it told last that could be read."""

    def __init__(self, address: BrokerAddress) -> None:
        self._broker: Broker = broker_at(address)
        self._reading: BrokerReading | None = None
        self._notice: Publication | None = None
        """What was told and has not been read yet."""
        self.digest: str | None = None
        self.summary: RangeSummary | None = None

    def look(self) -> None:
        """Take what the edge told since."""
        try:
            self._look()
        except ReplayGapError:
            self.close()  # the next look reads what is there

    def _look(self) -> None:
        if self._reading is None:
            self._broker.kept()  # where nobody has told anything yet, there is a place for it now
            self._reading = self._broker.read([END])
        found = self._reading.take(0.0)
        while self._reading.is_behind:
            found += self._reading.take(1.0)
        for own in found:
            if self._notice is None or own.number > self._notice.number:
                self._notice = own
        notice = self._notice
        if notice is None or SummaryNotice.of_bytes(notice.payload).digest == self.digest:
            return
        table = announced(self._broker.kept(), notice)
        if table is not None:
            self.summary = RangeSummary(table)
            self.digest = SummaryNotice.of_bytes(notice.payload).digest

    def close(self) -> None:
        """Let the connections go; what was told stays known."""
        if self._reading is not None:
            self._reading.close()
        self._reading = None
        self._broker.close()


class AnnouncedEdges:
    """All edges of a subscription, by name."""

    def __init__(
        self, place: BrokerAddress, names: tuple[str, ...], clock_s: Callable[[], float] = monotonic
    ) -> None:
        self.names, self._clock_s = names, clock_s
        self._edges = {name: AnnouncedEdge(edge_address(place, name)) for name in names}
        self._looked_s: float | None = None
        self._was_told = False

    def look(self) -> None:
        """Take what edges told since; not more often than makes sense."""
        now_s = self._clock_s()
        if self._looked_s is not None and now_s - self._looked_s < LOOK_S:
            return
        self._looked_s = now_s
        for edge in self._edges.values():
            edge.look()
        silent = [name for name, edge in self._edges.items() if edge.digest is None]
        if silent and not self._was_told:
            LOGGER.warning(
                "No edge %s has told which ranges it holds: until all have, every message is "
                "published",
                " or ".join(silent),
            )
        self._was_told = bool(silent)

    @property
    def heard(self) -> dict[str, str]:
        """What is known of each; nothing, unless all have told."""
        known = {name: edge.digest for name, edge in self._edges.items()}
        return {n: own for n, own in known.items() if own} if all(known.values()) else {}

    def concerned(self, form: MessageForm, rows: pa.Table) -> Flags:
        """Say which rows may concern any of them."""
        found = np.zeros(len(rows), np.bool_)
        for edge in self._edges.values():
            assert edge.summary is not None, "what is not known leaves nothing out"
            found |= edge.summary.concerned(form, rows)
        return found

    def close(self) -> None:
        """Let the connections go."""
        self._looked_s = None
        for edge in self._edges.values():
            edge.close()
