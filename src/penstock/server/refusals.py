"""Refusals: every error that a client is told, with its code and its status of HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from penstock.language.places import suggestion
from penstock.vocabulary.errors import PenstockError

STATUS = {
    "SRV-002": 401,
    "SRV-003": 401,
    "SRV-004": 401,
    "SRV-005": 403,
    "SRV-006": 404,
    "SRV-007": 422,
    "SRV-008": 413,
    "SRV-009": 429,
    "SRV-010": 429,
    "SRV-011": 503,
    "SRV-012": 500,
    "SRV-013": 422,
    "SRV-014": 408,
    "SRV-018": 405,
    "SRV-020": 503,
    "SRV-021": 503,
    "REG-001": 404,
    "REG-002": 409,
    "REG-017": 404,
    "REG-018": 409,
    "DEL-001": 422,
    "DEL-008": 410,
    "ENG-067": 422,
    "VIEW-065": 404,
}
OF_TEXTS = {"SQL", "CAT", "REG", "MJN", "LKP", "PLN", "AGG", "MDL"}
"""What these tell, and all that names a place in a text, is about what the client sent; all others
are troubles of the home."""


def status_of(error: PenstockError) -> int:
    """Give the status that an error is answered with.

    >>> [status_of(PenstockError(code, "", "")) for code in ("REG-001", "AGG-001", "ENG-065")]
    [404, 422, 503]
    """
    known = STATUS.get(error.code)
    if known is not None:
        return known
    is_of_text = error.place is not None or error.code.partition("-")[0] in OF_TEXTS
    return 422 if is_of_text else 503


def facts_of(error: PenstockError) -> dict[str, Any]:
    """Give what a client reads of an error."""
    facts: dict[str, Any] = {"code": error.code, "fact": error.fact, "remedy": error.remedy}
    if error.place is not None:
        facts["place"] = {"line": error.place.line, "column": error.place.column}
    return facts


def unknown_address(path: str) -> PenstockError:
    """Say that nothing is served there."""
    return PenstockError("SRV-006", f"Nothing is served at {path}.", "See /docs for what is.")


def unknown_method(method: str, path: str) -> PenstockError:
    """Say that this is not done there."""
    fact = f"{path} does not take {method}."
    return PenstockError("SRV-018", fact, "See /docs for what it takes.")


def bad_request(fact: str) -> PenstockError:
    """Say that a request is not as it should be."""
    return PenstockError("SRV-007", fact, "See /docs and /openapi.json for what is taken.")


def refuse_unknown(given: Iterable[str], known: Sequence[str]) -> None:
    """Refuse a parameter of an address that is not known there."""
    for name in given:
        if name not in known:
            fact = f"The request is not valid (query {name}: it is not known here)."
            remedy = f"Known are: {', '.join(known)}." if known else "Leave it out."
            raise PenstockError("SRV-007", fact, suggestion(name, known, remedy))


def body_too_large(bytes_max: int) -> PenstockError:
    """Say that a body is too large."""
    fact = f"The body has more than {bytes_max:,} bytes."
    return PenstockError("SRV-008", fact, "Give fewer rows, and add the others after them.")


def body_too_slow(seconds_max: float) -> PenstockError:
    """Say that a body did not come."""
    fact = f"The body did not come within {seconds_max:g} s."
    return PenstockError("SRV-014", fact, "Send it at once.")


def too_many_streams(connections_max: int) -> PenstockError:
    """Say that the server has no room for one more stream."""
    return PenstockError(
        "SRV-011",
        f"{connections_max:,} streams are open, and no more are taken.",
        "Try again later, or close some.",
    )


def too_busy(visits_max: int) -> PenstockError:
    """Say that too many wait for the home or its engine."""
    return PenstockError(
        "SRV-020",
        f"{visits_max:,} requests wait for the home or its engine, and no more are taken.",
        "Try again later; register many queries by one request with many rows.",
    )


def own_failure() -> PenstockError:
    """Say that the server failed, and nothing else: its log has the rest."""
    fact = "The server failed to do this."
    return PenstockError("SRV-012", fact, "Its log says why; try again, and report it.")


def unreadable_home() -> PenstockError:
    """Say that nothing new of the home can be read for now, and nothing else."""
    fact = "The home cannot be read at the moment."
    return PenstockError("SRV-021", fact, "The server's log says why; it is tried again.")


def ahead_of_log(token: str, newest: int) -> PenstockError:
    """Say that a resume token is of a batch that there is not."""
    return PenstockError(
        "SRV-013",
        f"The token {token!r} is ahead of the log, which ends with batch {newest:,}.",
        "Resume with a token of this home, with `start` or with `now`.",
    )
