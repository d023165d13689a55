"""Routes: what is served, request by request."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from heapq import nsmallest
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Depends, Header, Path, Query, Request, WebSocket
from fastapi.requests import HTTPConnection
from fastapi.responses import PlainTextResponse, Response
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from penstock.delivery.row_texts import json_lines
from penstock.engine.registration import record_of
from penstock.engine.visits import carried_out, read_view, subscribed
from penstock.expressions.quotation import quoted
from penstock.kinds.kept_views import notice_of, staleness_of
from penstock.server.access import ONE, READ, REGISTER
from penstock.server.answers import (
    Dropped,
    Health,
    NewSubscription,
    RefusalAnswer,
    RefusedRow,
    Registered,
    SubscriptionAnswer,
    SubscriptionList,
    ViewRows,
)
from penstock.server.gate import refusal
from penstock.server.limits import TokenUse
from penstock.server.lines import TRANSPORT
from penstock.server.reception import START, Reception, StreamRequest
from penstock.server.refusals import refuse_unknown
from penstock.vocabulary.errors import PenstockError

EXPOSITION = "text/plain; version=0.0.4"
LISTED_MAX = 1_000
VIEW_ROWS_MAX = 10_000
NameInPath = Annotated[str, Path(min_length=1, max_length=200)]


def refused(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Say which refusals a route has beside those that all have."""
    common = (401, 403, 408, 413, 422, 429, 503)
    return {status: {"model": RefusalAnswer} for status in sorted({*common, *statuses})}


async def understood(asked: HTTPConnection) -> None:
    """Refuse parameters that the route does not have: `ids` for `id` would mean all of them."""
    route = asked.scope.get("route")
    if isinstance(route, APIRoute):
        known = [each.alias for each in route.dependant.query_params]
        refuse_unknown(asked.query_params, known)


router = APIRouter(dependencies=[Depends(understood)])


def reception_of(request: Request) -> Reception:
    """Give the server's reception."""
    found: Reception = request.app.state.reception
    return found


async def admitted(
    reception: Annotated[Reception, Depends(reception_of)],
    authorization: Annotated[str | None, Header()] = None,
) -> TokenUse:
    """Admit a request by its access token."""
    return reception.admit(_bearer(authorization))


def _bearer(authorization: str | None) -> str | None:
    scheme, _, text = (authorization or "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else None


Received = Annotated[Reception, Depends(reception_of)]
Use = Annotated[TokenUse, Depends(admitted)]


@router.get("/health", responses={503: {"model": RefusalAnswer}})
async def health(reception: Received) -> Health:
    """Say whether the server is there and can follow its home. Takes no access token."""
    if reception.home.failure is not None:
        raise reception.home.failure
    return Health(status="ok")


@router.get("/metrics", response_class=PlainTextResponse, responses=refused())
async def metrics(reception: Received, use: Use) -> Response:
    """Give figures as Prometheus reads them: the engine's since the server's start, and its own."""
    use.token.needs(READ)
    text = await reception.home.do(reception.metrics)
    return Response(text, media_type=EXPOSITION)


@router.get("/subscriptions", responses=refused())
async def subscriptions(
    reception: Received,
    use: Use,
    after: Annotated[str, Query(max_length=200, description="Those behind this name.")] = "",
    limit: Annotated[int, Query(ge=1, le=LISTED_MAX)] = LISTED_MAX,
) -> SubscriptionList:
    """List the subscriptions that the access token may read, by name."""

    def listed() -> SubscriptionList:
        desk = reception.home.desk
        desk.registry.refresh()
        readable = (
            name
            for name in list(desk.registry.subscriptions)
            if name > after and use.token.may_read(name)
        )
        names = nsmallest(limit + 1, readable)
        found = [_answer(reception, name) for name in names[:limit]]
        return SubscriptionList(
            subscriptions=found, next=names[limit - 1] if len(names) > limit else None
        )

    return await reception.home.do(listed)


class EventStream(Response):
    """A subscription's changes as server-sent events, for as long as the client stays."""

    media_type = "text/event-stream"

    def __init__(self, reception: Reception, use: TokenUse, asked: StreamRequest) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._reception, self._use, self._asked = reception, use, asked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events."""
        transport: asyncio.Transport = scope["state"][TRANSPORT]
        opening = self._reception.stream(self._use, self._asked, transport.abort)
        async with opening as stream:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})

            async def put(text: bytes) -> None:
                await send({"type": "http.response.body", "body": text, "more_body": True})

            async def listen() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                stream.leave()

            listening = asyncio.create_task(listen())
            try:
                await stream.run(put)
            finally:
                listening.cancel()
            if not stream.is_gone:
                await send({"type": "http.response.body", "body": b"", "more_body": False})


@router.get(
    "/subscriptions/{name:path}/changes",
    response_class=Response,
    responses={200: {"content": {EventStream.media_type: {}}}, **refused(404, 410)},
)
async def changes(
    reception: Received,
    name: NameInPath,
    after: Annotated[
        str, Query(max_length=64, description="A resume token, `start` or `now`.")
    ] = START,
    id_: Annotated[str | None, Query(alias="id", max_length=1_000)] = None,
    follow: Annotated[bool, Query(description="Wait for what comes.")] = True,
    token: Annotated[
        str | None, Query(max_length=200, description="The access token, for browsers.")
    ] = None,
    authorization: Annotated[str | None, Header()] = None,
    last_event_id: Annotated[str | None, Header(max_length=64)] = None,
) -> Response:
    """Give a subscription's changes as server-sent events, each with its resume token as `id`.

    `Last-Event-ID` goes before `after`, so that a browser that connects again goes on. The same
    address takes a WebSocket, which is sent JSON objects of a `token` and the `changes` up to it.
    """
    use = reception.admit(_bearer(authorization) or token)
    use.token.needs(f"{ONE}{name}")
    asked = StreamRequest(
        name=name, form="events", after=last_event_id or after, id_=id_, follow=follow
    )
    return EventStream(reception, use, asked)


@router.websocket("/subscriptions/{name:path}/changes")
async def changes_by_messages(
    socket: WebSocket,
    name: str,
    after: str = START,
    id_: Annotated[str | None, Query(alias="id")] = None,
    token: str | None = None,
) -> None:
    """Give a subscription's changes as messages."""
    reception: Reception = socket.app.state.reception
    transport: asyncio.Transport = socket.scope["state"][TRANSPORT]
    asked = StreamRequest(name=name, form="messages", after=after, id_=id_, follow=True)
    try:
        refuse_unknown(socket.query_params, ("after", "id", "token"))
        use = reception.admit(_bearer(socket.headers.get("authorization")) or token)
        use.token.needs(f"{ONE}{name}")
        async with reception.stream(use, asked, transport.abort) as stream:
            await socket.accept()

            async def put(text: bytes) -> None:
                await socket.send_text(text.decode())

            async def listen() -> None:
                while (await socket.receive())["type"] != "websocket.disconnect":
                    pass
                stream.leave()

            listening = asyncio.create_task(listen())
            try:
                with suppress(WebSocketDisconnect):
                    await stream.run(put)
            finally:
                listening.cancel()
            if not stream.is_gone:
                await socket.close()
    except PenstockError as error:
        await socket.send_denial_response(refusal(error))


@router.get("/subscriptions/{name:path}", responses=refused(404))
async def subscription(reception: Received, use: Use, name: NameInPath) -> SubscriptionAnswer:
    """Say what a subscription asks, and how many standing queries it has."""
    use.token.needs(f"{ONE}{name}")
    return await reception.home.do(lambda: _answer(reception, name))


def _answer(reception: Reception, name: str) -> SubscriptionAnswer:
    desk = reception.home.desk
    record = record_of(desk.registry, name)
    return SubscriptionAnswer(
        name=name,
        queries=desk.registry.standing(name),
        state="suspended" if name in desk.suspended.subscriptions() else "stands",
        group=record.group,
        sql=record.sql,
    )


@router.post("/subscriptions", status_code=201, responses=refused(409))
async def subscribe(reception: Received, use: Use, asked: NewSubscription) -> Registered:
    """Register a query, or one per row of parameters, while the engine runs or while none does."""
    use.token.needs(REGISTER)
    name = asked.name or f"subscription_{uuid4().hex[:12]}"
    rows = asked.parameters

    def register() -> Registered:
        registry = reception.home.desk.registry
        registry.refresh()
        if name in registry.subscriptions:
            raise PenstockError(
                "REG-002",
                f"A subscription {name!r} stands already.",
                "Drop it first, or choose another name.",
            )
        done = subscribed(reception.home.path, name, asked.sql, rows, asked.key)
        registry.refresh()
        stands = registry.standing(name) if name in registry.subscriptions else 0
        given = 1 if rows is None else len(rows)
        return Registered(
            name=name,
            version=done.version,
            queries=stands,
            given=given,
            refused=done.refused,
            refusals=[
                RefusedRow(row=each.row, code=each.code, reason=each.reason)
                for each in done.refusals
            ],
        )

    return await reception.home.visit(register)


@router.delete("/subscriptions/{name:path}", responses=refused(404))
async def drop(
    reception: Received,
    use: Use,
    name: NameInPath,
    ids: Annotated[list[str] | None, Query(alias="id", description="Only these ids.")] = None,
) -> Dropped:
    """Drop a subscription, or some of its standing queries; what was found stays."""
    use.token.needs(REGISTER)

    def dropped() -> Dropped:
        record_of(reception.home.desk.registry, name)
        listed = ", ".join("'" + each.replace("'", "''") + "'" for each in ids or ())
        which = f" WHERE ID IN ({listed})" if ids else ""
        done = carried_out(reception.home.path, f"DROP SUBSCRIPTION {quoted(name)}{which}")
        return Dropped(name=name, version=done.version)

    return await reception.home.visit(dropped)


@router.get("/views/{name:path}", response_model=ViewRows, responses=refused(404))
async def view(
    reception: Received,
    use: Use,
    name: NameInPath,
    fresh: Annotated[bool, Query(description="First bring in everything that waits.")] = False,
    limit: Annotated[int, Query(ge=1, le=VIEW_ROWS_MAX)] = VIEW_ROWS_MAX,
) -> Response:
    """Read rows of a view: as of its last flushes, or fresh within its bound."""
    use.token.needs(f"{ONE}{name}")

    def read() -> Response:
        desk = reception.home.desk
        desk.registry.refresh()
        known = desk.registry.catalog.get(name.lower())
        if known is None or not known.keeps or known.flows:
            raise PenstockError("VIEW-065", f"There is no view {name!r}.", "See `penstock list`.")
        sql = f"SELECT * FROM {quoted(name)} LIMIT {limit}"
        rows = read_view(reception.home.path, sql, fresh)
        use.take_at_once(rows.num_rows)
        lines = bytes(json_lines(rows).whole())[:-1].replace(b"\n", b",")
        columns = json.dumps(rows.column_names).encode()
        notice, stale = notice_of(rows), staleness_of(rows)
        told = b"" if notice is None else b',"notice":%s' % json.dumps(notice).encode()
        if stale is not None:
            told += b',"staleness":%s' % json.dumps(stale.to_json()).encode()
        body = b'{"columns":%s,"rows":[%s]%s}' % (columns, lines, told)
        return Response(body, media_type="application/json")

    return await reception.home.visit(read)
