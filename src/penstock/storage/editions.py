"""Editions: files that are written again and again, and how often that was.

Each is sealed with the number of its edition, and behind it a witness beside it says the same
number. A file that is older than its witness was put back; one that is not there was removed. A
crash between the two leaves a witness that is one behind, and nothing is wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.storage.files import read_json, write_json
from penstock.storage.seals import sealed, unsealed

EDITION = "edition"


def witness_of(path: Path) -> Path:
    """Give where the number of a file's newest edition is.

    >>> witness_of(Path("home/statistics.json")).name
    'statistics.edition'
    """
    return path.with_suffix(f".{EDITION}")


def write_edition(path: Path, facts: dict[str, Any]) -> None:
    """Publish a JSON file in place of the edition before."""
    try:
        number = _number(witness_of(path)) + 1
    except ValueError:  # a check names it; what is written now is whole
        number = 1
    write_json(path, sealed({**facts, EDITION: number}))
    write_json(witness_of(path), sealed({EDITION: number}))


def edition_finding(path: Path) -> tuple[Path, str] | None:
    """Say which file of the two is wrong, and what: a witness, or what it is held against.

    Whether a file that is there is whole is for its reader to say.
    """
    witness = witness_of(path)
    try:
        newest = _number(witness)
    except ValueError:
        return witness, "is not as it was written"
    if newest and not path.exists():
        return path, "is missing"
    try:
        number = _number(path)
    except ValueError:
        return None
    if number and not newest:
        return witness, "is missing"
    return (path, "is older than the newest that was written") if number < newest else None


def _number(path: Path) -> int:
    """Read the number of an edition; 0 if there is none, ValueError if it is not whole."""
    try:
        data = read_json(path)
        return int(unsealed(data)[EDITION]) if EDITION in data else 0
    except FileNotFoundError:
        return 0
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("it is not as it was written") from error
