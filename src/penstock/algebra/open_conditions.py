"""Open conditions: those of a query AS MESSAGES whose values whoever reads the messages has.

`quantity BETWEEN :lo AND :hi` is asked of no row by the engine. The messages have the column, under
a name that says the condition, and each subscriber of an edge has a `lo` and a `hi` of his own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

RANGES_MAX = 2
"""Open ranges of one query: an edge indexes its subscribers' ranges as boxes."""
EQUALITY = re.compile(r"(?P<column>.+) = :(?P<equals>\w+)", re.DOTALL)
RANGE = re.compile(
    r"(:(?P<low>\w+) (?P<above><=?) )?(?P<column>.+?)( (?P<below><=?) :(?P<high>\w+))?", re.DOTALL
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCondition:
    """A range of a column whose ends are parameters, or an equality with one.

    `column` is what the text calls it, and `made` what joined rows do.
    """

    column: str
    made: str = ""
    equals: str | None = None
    low: str | None = None
    high: str | None = None
    low_closed: bool = True
    high_closed: bool = True

    @property
    def is_range(self) -> bool:
        """Whether it is a range."""
        return self.equals is None

    @property
    def name(self) -> str:
        """Name the column of messages that it is asked of.

        >>> OpenCondition(column="s.n", low="lo", high="hi", high_closed=False).name
        ':lo <= s.n < :hi'
        >>> OpenCondition(column="product", equals="sold").name
        'product = :sold'
        """
        if self.equals is not None:
            return f"{self.column} = :{self.equals}"
        low = "" if self.low is None else f":{self.low} <{'=' * self.low_closed} "
        high = "" if self.high is None else f" <{'=' * self.high_closed} :{self.high}"
        return f"{low}{self.column}{high}"

    @staticmethod
    def of_name(name: str) -> OpenCondition | None:
        """Read what a column is named by; None if it says no condition.

        >>> OpenCondition.of_name("n < :hi")
        OpenCondition(column='n', made='', equals=None, low=None, high='hi', low_closed=True, \
high_closed=False)
        >>> OpenCondition.of_name("n") is None
        True
        """
        if (found := EQUALITY.fullmatch(name)) is not None:
            return OpenCondition(column=found["column"], equals=found["equals"])
        found = RANGE.fullmatch(name)
        if found is None or (found["low"] is None and found["high"] is None):
            return None
        return OpenCondition(
            column=found["column"], low=found["low"], high=found["high"],
            low_closed=found["above"] != "<", high_closed=found["below"] != "<",
        )  # fmt: skip


def open_conditions(names: list[str]) -> tuple[OpenCondition, ...]:
    """Give the conditions that the last columns of messages are named by.

    >>> [each.column for each in open_conditions(["a", "n < :hi", "p = :p"])]
    ['n', 'p']
    """
    found: list[OpenCondition] = []
    for name in reversed(names):
        own = OpenCondition.of_name(name)
        if own is None:
            break
        found.append(own)
    return tuple(reversed(found))
