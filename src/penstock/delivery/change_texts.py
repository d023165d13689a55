"""Changes as texts, one in a line: on a screen, in a pipe, for another program."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from penstock.delivery.changes import Change


def line_of(change: Change, title: str) -> str:
    r"""Write a change as one line that a person reads.

    >>> row = {"a": 1}
    >>> line_of(Change(id="x\ny", row=row, sign=1, batch=0, version=1, token="0:1"), "alerts")
    '+ alerts x\\ny {"a": 1}'
    """
    sign = "+" if change.sign > 0 else "-"
    shown = str(change.id)
    if not shown.isprintable():  # an id with a line break would look like two changes
        shown = json.dumps(shown, ensure_ascii=False)[1:-1]
    return f"{sign} {title} {shown} {row_text(change.row)}"


def row_text(row: Mapping[str, Any]) -> str:
    """Write values as JSON, as sinks do: `penstock.delivery.row_texts` writes whole tables.

    >>> row_text({"è": float("inf"), "at": datetime(2026, 1, 2), "b": b"@", "n": [Decimal("1.0")]})
    '{"è": null, "at": "2026-01-02T00:00:00", "b": "40", "n": ["1.0"]}'
    """
    return json.dumps(plain(row), ensure_ascii=False, default=str)


def plain(value: Any) -> Any:
    """Give a value as JSON has it: what is no finite number is None, times and decimals texts."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime | time):
        text = value.isoformat()
        seconds, point, rest = text.partition(".")
        zone = rest.lstrip("0123456789")
        digits = rest.removesuffix(zone).rstrip("0")
        return (f"{seconds}{point}{digits}{zone}" if point else text).replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): plain(own) for name, own in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value
