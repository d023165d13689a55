"""Figures of the server, as of its start."""

from __future__ import annotations

from penstock.vocabulary.figures import Figure, Tally

STREAMS_OPEN = Figure("streams_open", "Streams that are open.", "streams", "gauge")
STREAMS_OPENED = Figure("streams_opened", "Streams that were opened.", "streams")
CLIENTS_CUT_OFF = Figure(
    "clients_cut_off", "Clients that read too slowly and were cut off.", "clients"
)
ROWS_SENT = Figure("rows_sent", "Changes that were sent to clients.", "rows")
REQUESTS = Figure("requests", "Requests, by status.", "requests", labels=("status",))
SERVER_FIGURES = (STREAMS_OPEN, STREAMS_OPENED, CLIENTS_CUT_OFF, ROWS_SENT, REQUESTS)
"""What a server tells of itself."""


def nothing_told() -> Tally:
    """Give what a server tells at its start."""
    return Tally({figure: 0 for figure in SERVER_FIGURES if not figure.labels})
