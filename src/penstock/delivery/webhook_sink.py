"""A webhook: every batch is a POST of JSON lines, or several if it is large."""

from __future__ import annotations

from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pyarrow as pa

from penstock.delivery.row_texts import json_lines
from penstock.delivery.sink_kinds import SinkAddress, batch_of
from penstock.vocabulary.errors import PenstockError

TIMEOUT_S = 10.0
"""So long may a server take for a request; then it is tried again."""
REQUEST_BYTES_MAX = 1 << 20
"""A request has so many bytes at most; only a single change that is longer has more."""


class WebhookSink:
    """Posts batches; every answer but 2xx means that the request is tried again.

    A request may come twice, when its answer was lost or the engine was killed: `Idempotency-Key`
    is the same then. It ends with the token behind the request's last change.
    """

    def __init__(self, address: SinkAddress) -> None:
        self._url = address.resolved()
        if not urlsplit(self._url).hostname:
            raise PenstockError(
                "DEL-021",
                f"The sink of {address.subscription!r} at {address} names no server.",
                "Write https://host/path.",
            )
        self._whose = f"{address.engine}/{address.subscription}"
        self._answered: tuple[str, int] = ("", 0)
        """Of the batch that is being posted: its token, and how many of its changes were taken."""

    def write(self, table: pa.Table, token: str) -> None:
        """Post a batch; what was answered before a failure is not posted again."""
        if self._answered[0] != token:
            self._answered = token, 0
        for changes, body in json_lines(table).pieces(REQUEST_BYTES_MAX):
            if changes > self._answered[1]:
                self._post(bytes(body), f"{batch_of(token)}:{changes}")
                self._answered = token, changes

    def _post(self, body: bytes, token: str) -> None:
        key = f"{self._whose}/{token}".encode("ascii", "xmlcharrefreplace").decode()
        headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": key}
        request = Request(self._url, body, headers, method="POST")  # noqa: S310
        try:
            with urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310
                answer.read()
        except HTTPError as error:
            error.close()
            raise ConnectionError(f"the server answered {error.code} {error.reason}") from None
