"""Fitted constants: where a machine's own are kept, and how they are read and stored.

`penstock lab calibrate` measures and writes files. A file is found through an environment
variable, else in `~/.config/penstock`; without one the built-in constants serve.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from penstock.storage.disk import make_directory
from penstock.storage.files import read_json, write_json
from penstock.vocabulary.errors import PenstockError

Constants = TypeVar("Constants")


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedFile:
    """A file of constants; `code` and `whose` are for the error about one that cannot be used."""

    variable: str
    name: str
    code: str
    whose: str

    @property
    def path(self) -> Path:
        """Where the file is kept."""
        given = os.environ.get(self.variable)
        return Path(given) if given else Path.home() / ".config" / "penstock" / self.name

    def load(self, read: Callable[[dict[str, Any]], Constants], built_in: Constants) -> Constants:
        """Read the file, or give the built-in constants where there is none.

        A file that the variable names must exist. A file that cannot be used is an error, because
        one who quietly falls back is a riddle.
        """
        path = self.path
        if not path.exists() and not os.environ.get(self.variable):
            return built_in
        try:
            return read(read_json(path))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
            raise PenstockError(
                self.code,
                f"The {self.whose} cost constants in {path} cannot be used: {reason}.",
                f"Run `penstock lab calibrate`, or remove the file and unset {self.variable}.",
            ) from error

    def save(self, data: dict[str, Any], path: Path | None = None) -> Path:
        """Store constants where `load` finds them, or in a file that is named; give the path."""
        path = path or self.path
        make_directory(path.parent)
        write_json(path, data)
        return path


def from_zero_on(name: str, value: object) -> float:
    """Read a number from 0 on, or refuse.

    >>> from_zero_on("arrive", 3)
    3.0
    """
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not math.isfinite(number := float(value)) or number < 0:  # type: ignore[arg-type]
        raise ValueError(f"{name} is {value!r}, not a number from 0 on")
    return number
