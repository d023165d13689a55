"""What a unit of each strategy's work costs: published, built in, or fitted on this machine.

`penstock lab calibrate` measures the strategies and writes a file. It is found through the
environment variable PENSTOCK_CONSTANTS, else as `~/.config/penstock/constants.json`; without one,
the built-in constants serve. They decide what is fast, never what is right.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from penstock.storage.fitted import FittedFile, from_zero_on

VARIABLE = "PENSTOCK_CONSTANTS"
FILE = FittedFile(variable=VARIABLE, name="constants.json", code="ENG-030", whose="router's")
FORMAT = 1
CHOICES = ("join", "selection", "scan", "hot")
"""The strategies that a tuple can be sent to, in the order of their numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """What the terms of one strategy's cost are multiplied with; see `costs` for the terms.

    `data`, `queries`, `matches` and `probes` are the paper's. The others are added: without them
    the fit is poor for tuples that few or very many queries accept. `call` comes once per batch,
    however few its tuples: a part of a batch that saves less joins another part. `cold` is the
    share that a tuple costs more for every doubling of the queries beyond WARM.
    """

    base: float = 0.0
    data: float = 0.0
    queries: float = 0.0
    matches: float = 0.0
    probes: float = 0.0
    visits: float = 0.0
    overlaps: float = 0.0
    hits: float = 0.0
    groups: float = 0.0
    call: float = 0.0
    cold: float = 0.0


WARM = 100_000
"""A tree of so many rectangles still lies in the processor's cache."""
APART = ("call", "cold")
TERMS = tuple(field.name for field in fields(Coefficients) if field.name not in APART)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostConstants:
    """The coefficients of all strategies; costs are in `unit` per tuple.

    `shift` guards the logarithm: log(shift + max(1, x)). With 0, a tuple that joins one row would
    make a scan of all queries look free.
    """

    join: Coefficients
    selection: Coefficients
    scan: Coefficients
    hot: Coefficients
    source: str
    unit: str = "ns"
    shift: float = 1.0

    def of(self, choice: str) -> Coefficients:
        """Give the coefficients of a strategy."""
        found: Coefficients = getattr(self, choice)
        return found

    def to_json(self) -> dict[str, Any]:
        """Describe the constants for a file."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> CostConstants:
        """Give back the constants that `to_json` described; refuse what is not numbers >= 0."""
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']!r} is not {FORMAT}")
        return cls(
            **{choice: _coefficients(choice, data[choice]) for choice in CHOICES},
            source=str(data["source"]),
            unit=str(data["unit"]),
            shift=from_zero_on("shift", data["shift"]),
        )


def _coefficients(choice: str, data: dict[str, Any]) -> Coefficients:
    if unknown := set(data) - {*TERMS, *APART}:
        raise ValueError(f"{choice} has no term {', '.join(sorted(unknown))}")
    read = {name: from_zero_on(f"{choice}.{name}", value) for name, value in data.items()}
    if not any(read.values()):
        raise ValueError(f"{choice} costs nothing")
    return Coefficients(**read)


PAPER = CostConstants(
    join=Coefficients(data=0.25, probes=4.34),
    selection=Coefficients(data=0.64, queries=42.49, matches=1.19),
    scan=Coefficients(data=0.36, matches=0.17),
    hot=Coefficients(data=0.19, queries=70.19, matches=1.17, probes=0.08),
    source="Table II of the paper",
    unit="unstated",
    shift=0.0,
)
"""The published fit, tuple at a time on a Sun Blade 150; its units are not given."""

BUILT_IN = CostConstants(
    join=Coefficients(base=24.1, visits=284.0, overlaps=26.9, hits=0.034, call=6.95e3, cold=0.15),
    selection=Coefficients(base=56.2, matches=6.37, visits=1.33, call=13.7e3, cold=0.15),
    scan=Coefficients(matches=0.057, visits=0.286, overlaps=7.99, call=6.95e3),
    hot=Coefficients(base=436.0, matches=5.38, visits=4.72, hits=0.83, groups=143.0, call=34e3),
    source="built in",
)
"""Fitted on whole batches of 20,000 to 500,000 queries, on two cores of an x86-64 machine."""


def load_constants() -> CostConstants:
    """Give the fitted constants, or the built-in ones where none were stored."""
    return FILE.load(CostConstants.from_json, BUILT_IN)


def save_constants(constants: CostConstants, path: Path | None = None) -> Path:
    """Store constants where `load_constants` finds them; give the path."""
    return FILE.save(constants.to_json(), path)
