"""The gate: what every request passes, whatever it asks.

Bodies are read here, within a size and a time. What fails without a code is told with one, and
without its traceback, which the log has. Every request is logged, without its query string: that
may hold an access token.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from time import monotonic
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.server.figures import REQUESTS
from penstock.server.refusals import (
    body_too_large,
    body_too_slow,
    facts_of,
    own_failure,
    status_of,
    unknown_address,
)
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figures import Tally

LOG = logging.getLogger("penstock.server")
BODY_BYTES_MAX = 4 << 20
BODY_S = 10.0
"""A body has so many bytes and comes within so long."""
RETRY = {429: "1", 503: "5"}
"""After so many seconds a client may try again."""


class JsonAnswer(Response):
    """An answer in JSON, of plain ASCII: half a pair of surrogates breaks nothing."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Write a value."""
        return json.dumps(content, separators=(",", ":"), default=str).encode()


def refusal(error: PenstockError, headers: Mapping[str, str] | None = None) -> JsonAnswer:
    """Give the answer that tells an error."""
    status = status_of(error)
    more = {"Retry-After": RETRY[status]} if status in RETRY else {}
    if status in {408, 413}:  # what is left of the body is not read
        more["Connection"] = "close"
    if status == 401:
        more["WWW-Authenticate"] = "Bearer"
    return JsonAnswer(facts_of(error), status, {**more, **(headers or {})})


class RequestGate:
    """Passes requests on to an application."""

    def __init__(self, app: ASGIApp, told: Tally) -> None:
        self._app, self._told = app, told

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        began_s, status = monotonic(), 0

        async def watched(message: Message) -> None:
            nonlocal status
            if "status" in message:
                status = message["status"]
            elif message["type"] == "websocket.accept":
                status = 101
            elif message["type"] == "websocket.close" and not status:
                await refusal(unknown_address(scope["path"]))(scope, receive, watched)
                return
            await send(message)

        try:
            if scope["type"] == "http" and scope["method"] in {"POST", "PUT", "PATCH", "DELETE"}:
                receive = _replayed(await _body(scope, receive), receive)
            await self._app(scope, receive, watched)
        except PenstockError as error:
            await refusal(error)(scope, receive, watched)
        except (ClientDisconnect, OSError) as error:
            LOG.info("A client went: %s", type(error).__name__)
        except Exception:
            LOG.exception("%s %s failed", scope.get("method", "WebSocket"), scope["path"])
            if not status:
                await refusal(own_failure())(scope, receive, watched)
        finally:
            self._told[REQUESTS, status] += 1
            LOG.info(
                "%s %s %s %d %.0f ms", (scope.get("client") or ("?",))[0],
                scope.get("method", "WebSocket"), scope["path"], status,
                (monotonic() - began_s) * 1e3,
            )  # fmt: skip


async def _body(scope: Scope, receive: Receive) -> bytes:
    """Read a body, or refuse it."""
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    if lengths and lengths[0].isdigit() and int(lengths[0]) > BODY_BYTES_MAX:
        raise body_too_large(BODY_BYTES_MAX)
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                body += message.get("body", b"")
                if len(body) > BODY_BYTES_MAX:
                    raise body_too_large(BODY_BYTES_MAX)
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise body_too_slow(BODY_S) from None


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Give a body that was read, then what comes behind it."""
    is_given = False

    async def given() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return given
