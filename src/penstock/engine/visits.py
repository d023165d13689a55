"""Visits: what a process changes or reads in a home whose engine may run in another one.

If nobody has the home open, it is opened for a moment; else the engine that runs there is asked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

from penstock.engine.desk import Desk
from penstock.engine.errands import DIRECTORY, Done, ask, ask_rows
from penstock.engine.home import IN_USE
from penstock.engine.scripts import execute
from penstock.expressions.quotation import quoted
from penstock.language.parser import parse
from penstock.language.statements import Subscribe
from penstock.storage.disk import make_directory, remove
from penstock.storage.files import write_file
from penstock.vocabulary.errors import PenstockError


def carried_out(home: Path, script: str) -> Done:
    """Carry out a script on a home, or let the engine that runs there do it."""
    try:
        desk = Desk(home)
    except PenstockError as error:
        if error.code != IN_USE:
            raise
        return ask(home, script)
    try:
        return execute(desk, script).done(desk.registry.version)
    finally:
        desk.close()


def read_view(home: Path, sql: str, fresh: bool) -> pa.Table:
    """Read a view of a home, or let the engine that runs there do it."""
    try:
        desk = Desk(home)
    except PenstockError as error:
        if error.code != IN_USE:
            raise
        return ask_rows(home, sql, fresh)
    try:
        return desk.kept.read(sql, fresh)
    finally:
        desk.close()


def subscribed(
    home: Path, name: str, sql: str, rows: Sequence[Any] | None = None, key: str | None = None
) -> Done:
    """Register a query, or one for every row, on a home.

    The text may be a stranger's: it is a SELECT with its options, and names neither files nor
    sinks. Rows lie in the home until they are registered.
    """
    place = home / DIRECTORY / f"{uuid4().hex}.json"
    script = f"SUBSCRIBE {quoted(name)} TO {sql}\n"
    path = None if rows is None else str(place)
    if path is not None:
        each = path.replace("'", "''")
        script += f"FOR EACH ROW OF '{each}'" + (f" KEY {quoted(key)}" if key else "")
    _refuse_more_than_a_query(script, name, path)
    if rows is None:
        return carried_out(home, script)
    make_directory(place.parent)
    write_file(place, json.dumps(list(rows)).encode())
    try:
        return carried_out(home, script)
    finally:
        remove(place)


def _refuse_more_than_a_query(script: str, name: str, path: str | None) -> None:
    """Refuse a text that says anything beside what it was asked for."""
    match parse(script):
        case [Subscribe(name=own, each=each, sinks=())] if own == name:
            if path == (None if each is None else each.path) and (not each or not each.frame):
                return
    raise PenstockError(
        "ENG-067",
        "The text is more than one query: it names files, frames or sinks, or has several "
        "statements.",
        "Give one SELECT, and the rows of its parameters beside it.",
    )
