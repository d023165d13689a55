"""Errands: statements that another process leaves in a home for the engine that runs it.

One process at a time writes a home. Another that wants something changed leaves a script in the
directory `errands`; the engine takes it, carries it out between two batches as if its own process
had said it, and leaves an answer. Taking and withdrawing are renamings of one file, so that one of
them comes first: whoever is told that nobody took an errand knows that it never will be done.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

import pyarrow as pa

from penstock.engine.home import user_of_home
from penstock.engine.registration import RowRefusal
from penstock.storage.disk import make_directory, remove, rename
from penstock.storage.files import read_json, write_json, write_table
from penstock.storage.seals import sealed, unsealed
from penstock.vocabulary.errors import PenstockError

LOG = logging.getLogger("penstock.engine")
DIRECTORY = "errands"
ASKED, TAKEN, WITHDRAWN, ANSWER = ".asked", ".taken", ".withdrawn", ".answer"
ROWS = ".rows"
"""Where the rows of a read lie, beside its answer."""
LOOK_S = 0.2
"""So often does an engine look for errands, and who asked for an answer."""
TAKEN_S_MAX = 10.0
"""Who asks waits so long until the engine takes the errand."""
ANSWER_S_MAX = 60.0
"""And then so long for the answer: a registration compiles, and waits for others."""

Read = Callable[[str, bool], pa.Table]
"""`(sql, fresh)`: gives the rows that a reader's SELECT over a view asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of a script: the version it stands from, and the first rows that were refused."""

    version: int
    refused: int = 0
    refusals: list[RowRefusal] = field(default_factory=list)


CarryOut = Callable[[str, Path], Done]
"""`(script, directory)`: carries a script out, its paths seen from there."""


class Errands:
    """Takes and answers what other processes ask while the engine of a home runs."""

    def __init__(self, home: Path, carry_out: CarryOut, read: Read | None = None) -> None:
        self._root, self._carry_out, self._read = home / DIRECTORY, carry_out, read
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        for left in self._root.glob("*"):  # by those whose engine is gone
            remove(left)

    def begin(self) -> None:
        """Take errands from now on."""
        if self._thread is None:
            self._closing.clear()
            self._thread = threading.Thread(target=self._run, name="penstock-errands", daemon=True)
            self._thread.start()

    def finish(self) -> None:
        """Take no more, when the one in hand is answered."""
        self._closing.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._thread = None

    def _run(self) -> None:
        while not self._closing.wait(LOOK_S):
            self.take()

    def take(self) -> None:
        """Take what is asked now, and answer it."""
        for asked in sorted(self._root.glob(f"*{ASKED}")):
            try:
                self._take(asked)
            except (OSError, PenstockError):  # a full disk: who asked is told nothing
                LOG.exception("The errand %s could not be answered", asked)

    def _take(self, asked: Path) -> None:
        taken = asked.with_suffix(TAKEN)
        try:
            rename(asked, taken)
        except FileNotFoundError:
            return  # it was withdrawn
        write_json(asked.with_suffix(ANSWER), sealed(self._answer(taken)))
        remove(taken)

    def _answer(self, taken: Path) -> dict[str, Any]:
        try:
            errand = unsealed(read_json(taken))
            if "sql" in errand:
                assert self._read is not None, "an engine reads its views"
                rows = self._read(errand["sql"], errand["fresh"])
                write_table(taken.with_suffix(ROWS), rows)
                return {"rows": rows.num_rows}
            return asdict(self._carry_out(errand["script"], Path(errand["directory"])))
        except PenstockError as error:
            return {"code": error.code, "fact": error.fact, "remedy": error.remedy}
        except Exception as error:
            LOG.exception("An errand failed")
            fact = f"The engine could not do what was asked ({type(error).__name__}: {error})."
            return {"code": "ENG-066", "fact": fact, "remedy": "Its log says more."}


def ask(home: Path, script: str) -> Done:
    """Let the engine of another process carry a script out; say what came of it.

    Raises
    ------
    PenstockError
        What the engine refused; ENG-065 if no engine took the script, and nothing is changed;
        ENG-066 if one took it and did not answer.
    """
    return answered(home, leave(home, script))


def leave(home: Path, script: str) -> Path:
    """Leave a script for the engine of another process; give the file."""
    return _left(home, {"script": script, "directory": str(Path.cwd())})


def answered(home: Path, asked: Path) -> Done:
    """Wait until a script that was left is carried out; as `ask`."""
    told, _ = _told(home, asked)
    refusals = [RowRefusal(**each) for each in told.get("refusals", [])]
    return Done(version=told["version"], refused=told.get("refused", 0), refusals=refusals)


def ask_rows(home: Path, sql: str, fresh: bool) -> pa.Table:
    """Let the engine of another process read a view; raises as `ask` does."""
    _, rows = _told(home, _left(home, {"sql": sql, "fresh": fresh}))
    assert rows is not None, "an answer to a read has rows"
    return rows


def _left(home: Path, errand: dict[str, Any]) -> Path:
    """Leave an errand where the engine of a home looks for it."""
    root = home / DIRECTORY
    make_directory(root)
    asked = root / f"{uuid4().hex}{ASKED}"
    write_json(asked, sealed(errand))
    return asked


def _told(home: Path, asked: Path) -> tuple[dict[str, Any], pa.Table | None]:
    """Wait for the answer to an errand, and clear away what was left of both."""
    rows = asked.with_suffix(ROWS)
    try:
        told = _answer_to(asked, home)
        if "code" in told:
            raise PenstockError(told["code"], told["fact"], told["remedy"])
        # Read wholly: the file goes.
        return told, pa.ipc.open_file(rows.read_bytes()).read_all() if "rows" in told else None
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise PenstockError(
            "ENG-066",
            f"The answer of the engine of {home} cannot be read ({error}).",
            "See `penstock list` for what stands, and try again if need be.",
        ) from None
    finally:
        for suffix in (ASKED, WITHDRAWN, ANSWER, ROWS):
            remove(asked.with_suffix(suffix))


def _answer_to(asked: Path, home: Path) -> dict[str, Any]:
    """Wait for the answer, or withdraw what was asked."""
    answer = asked.with_suffix(ANSWER)
    if not _comes(answer, TAKEN_S_MAX):
        try:
            rename(asked, asked.with_suffix(WITHDRAWN))
        except FileNotFoundError:  # it is being done
            if not _comes(answer, ANSWER_S_MAX):
                raise PenstockError(
                    "ENG-066",
                    f"The engine of {home} took what was asked, and did not answer.",
                    "See `penstock list` for what stands, and try again if need be.",
                ) from None
        else:
            raise PenstockError(
                "ENG-065",
                f"Process {user_of_home(home) or '?'} has {home} open, and no engine that runs "
                "there took what was asked; nothing was changed.",
                "Start that engine or end that process, and try again.",
            )
    return unsealed(read_json(answer))


def _comes(path: Path, patience_s: float) -> bool:
    end_s = monotonic() + patience_s
    while not path.exists():
        if monotonic() > end_s:
            return False
        sleep(LOOK_S / 4)
    return True
