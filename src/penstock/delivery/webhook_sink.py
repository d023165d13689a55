"""A webhook: every batch is one POST of JSON lines."""

from __future__ import annotations

import json
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pyarrow as pa
import pyarrow.compute as pc

from penstock.delivery.sink_kinds import SinkAddress

TIMEOUT_S = 10.0
"""So long may a server take for a batch; then it is tried again."""


class WebhookSink:
    """Posts batches; every answer but 2xx means that the batch is tried again.

    A batch may be posted twice, when its answer was lost: `Idempotency-Key` is the same then.
    """

    def __init__(self, address: SinkAddress) -> None:
        self._url = address.resolved()
        self._whose = f"{address.engine}/{address.subscription}"

    def write(self, table: pa.Table, token: str) -> None:
        """Post a batch."""
        key = f"{self._whose}/{token}".encode("ascii", "xmlcharrefreplace").decode()
        headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": key}
        request = Request(self._url, json_lines(table), headers, method="POST")  # noqa: S310
        try:
            with urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310
                answer.read()
        except HTTPError as error:
            error.close()
            raise ConnectionError(f"the server answered {error.code} {error.reason}") from None


def json_lines(table: pa.Table) -> bytes:
    r"""Write rows as JSON, one per line. NaN and infinity are null; times are texts.

    >>> json_lines(pa.table({"a": [1.5, float("nan")]}))
    b'{"a": 1.5}\n{"a": null}\n'
    """
    for at, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            column = table.column(at)
            nothing = pa.scalar(None, field.type)
            finite = pc.if_else(pc.is_finite(column), column, nothing)
            table = table.set_column(at, field, finite)
    return "".join(json.dumps(row, default=str) + "\n" for row in table.to_pylist()).encode()
