"""Errors: a stable code, a fact, a remedy, and where in the text it happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.vocabulary.environment import UnsetVariableError, veiled, with_variables


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a text an error was found; lines and columns count from 1.

    >>> print(Place(line=1, column=8, text="SELECT prise FROM trades"))
    line 1, column 8
      SELECT prise FROM trades
             ^
    """

    line: int
    column: int
    text: str

    def __str__(self) -> str:
        lines = self.text.splitlines() or [""]
        shown = lines[min(self.line, len(lines)) - 1]
        return f"line {self.line}, column {self.column}\n  {shown}\n  {' ' * (self.column - 1)}^"


class PenstockError(Exception):
    """Every error that Penstock raises on purpose.

    >>> print(PenstockError("REG-004", "Range [3, 1] on price is empty.", "Swap the bounds."))
    [REG-004] Range [3, 1] on price is empty. Swap the bounds.

    One about an option names it: who has the text knows its place.
    """

    def __init__(
        self,
        code: str,
        fact: str,
        remedy: str,
        place: Place | None = None,
        option: str | None = None,
    ) -> None:
        self.code = code
        self.fact = veiled(fact)
        self.remedy = veiled(remedy)
        self.place = place
        self.option = option
        super().__init__(str(self))

    def __str__(self) -> str:
        text = f"[{self.code}] {self.fact} {self.remedy}"
        return text if self.place is None else f"{text}\n  at {self.place}"

    def __reduce__(self) -> tuple[type[PenstockError], tuple[Any, ...]]:
        return type(self), (self.code, self.fact, self.remedy, self.place, self.option)


def resolved_text(text: str, whose: str, code: str = "ENG-060") -> str:
    """Put the environment's values in the place of `${NAME}`; refuse one that is not set."""
    try:
        return with_variables(text)
    except UnsetVariableError as unset:
        raise PenstockError(
            code,
            f"{whose} needs the environment's variable {unset.name}, and it is not set.",
            f"Set {unset.name} where the engine, and Spark's workers, are started.",
        ) from None
