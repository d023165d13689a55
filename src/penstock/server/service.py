"""The service: one server for one home, from its start to its end."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.responses import Response

from penstock import __version__
from penstock.server.gate import RequestGate, refusal
from penstock.server.lines import ClientLine
from penstock.server.page import page_of
from penstock.server.reception import Reception
from penstock.server.refusals import bad_request, own_failure, unknown_address, unknown_method
from penstock.server.routes import router
from penstock.vocabulary.errors import PenstockError

BACKLOG = 2_048
"""So many connections wait until they are taken: a thousand clients may come at once."""
END_S = 5
"""Requests that are under way have so long when the server ends."""
MESSAGE_BYTES_MAX = 4_096
"""What a client says on a WebSocket is not listened to."""
NO_TELEMETRY = TelemetryConfig(tracing=False, metrics=False, logs=False, auto_configure=False)
TOLD = (
    "The changes of standing queries as they come, and the queries themselves. Every request but "
    "those for /health, /docs and /openapi.json needs an access token."
)


def application(reception: Reception) -> FastAPI:
    """Make what answers requests."""
    app = FastAPI(
        title="Penstock", version=__version__, description=TOLD, docs_url=None, redoc_url=None,
        telemetry=NO_TELEMETRY,
    )  # fmt: skip
    app.state.reception = reception
    app.include_router(router)

    @app.get("/docs", response_class=HTMLResponse, include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(page_of(app.openapi()))

    @app.exception_handler(PenstockError)
    async def refused(_request: Request, error: PenstockError) -> Response:
        return refusal(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(_request: Request, error: RequestValidationError) -> Response:
        told = [f"{' '.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:3]]
        return refusal(bad_request(f"The request is not valid ({'; '.join(told)})."))

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        path, headers = request.url.path, error.headers
        if error.status_code == 404:
            return refusal(unknown_address(path))
        if error.status_code == 405:
            return refusal(unknown_method(request.method, path), headers)
        if error.status_code < 500:
            return refusal(bad_request(f"The request is not valid ({error.detail})."))
        return refusal(own_failure())

    @app.exception_handler(Exception)
    async def failed(_request: Request, _error: Exception) -> Response:
        return refusal(own_failure())  # the gate logs it

    return app


class HomeServer(uvicorn.Server):
    """A server that ends its streams when it ends, and leaves signals to who runs it."""

    def __init__(self, config: uvicorn.Config, reception: Reception) -> None:
        super().__init__(config)
        self._reception = reception

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Take no signals."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End streams, then connections."""
        await self._reception.close()
        await super().shutdown(sockets)


async def serve(path: Path, listening: socket.socket, began: Callable[[HomeServer], None]) -> None:
    """Serve a home on a socket until the server that `began` was told of ends."""
    reception = Reception(path)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    config = uvicorn.Config(
        RequestGate(application(reception), reception.told),
        http=ClientLine,
        ws="websockets-sansio",
        ws_max_size=MESSAGE_BYTES_MAX,
        ws_per_message_deflate=False,
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=END_S,
    )
    server = HomeServer(config, reception)
    began(server)
    await server.serve([listening])


def listen(host: str, port: int) -> socket.socket:
    """Take an address, or refuse one that cannot be had."""
    taken = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((host, port))
        taken.listen(BACKLOG)
        taken.setblocking(False)
    except OSError as error:
        taken.close()
        raise PenstockError(
            "SRV-019",
            f"The server cannot listen at {host}:{port}: {error}.",
            "Choose another --port, or an address of this machine as --host.",
        ) from None
    return taken


def serve_until_signal(path: Path, host: str, port: int, tell: Callable[[str], None]) -> None:
    """Serve a home until Ctrl-C or SIGTERM; `tell` is told the address."""
    listening = listen(host, port)

    def began(server: HomeServer) -> None:
        def end() -> None:
            server.should_exit = True

        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, end)
        tell(f"http://{host}:{listening.getsockname()[1]}")

    asyncio.run(serve(path, listening, began))
