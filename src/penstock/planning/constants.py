"""What a unit of a window join's work costs: built in, or fitted on this machine.

`penstock lab calibrate` measures the joins and writes a file. It is found through the environment
variable PENSTOCK_PLAN_CONSTANTS, else as `~/.config/penstock/plan-constants.json`; without one, the
built-in constants serve. They decide what is fast and, where rows must be dropped, how many.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from penstock.storage.fitted import FittedFile, from_zero_on

VARIABLE = "PENSTOCK_PLAN_CONSTANTS"
FILE = FittedFile(variable=VARIABLE, name="plan-constants.json", code="PLN-010", whose="planner's")
FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanConstants:
    """Coefficients of the cost library, in nanoseconds; W is the window that is worked on.

    A row that comes costs `read`, whether its drop box lets it pass or not. One that passes costs
    `arrive`, a result `emit`, and `arrive_byte` or `emit_byte` for every byte of the row, or of
    the rows that the result is made of. `batch` is spent in every
    second, however few the rows. A probe of a hashed window costs hash_probe + hash_probe_log *
    log2(1 + W), for the cache, and `hash_match` for every row whose key is equal; a probe of a
    looped one costs loop_probe + loop_row * W, and `loop_composite` * W more where the rows are
    such that joins made. Either costs `composite_probe` more where the window is of rows that
    joins made, `several_probe` more where more than one predicate is asked, and
    `composite_match` or `several_match` more for every row whose key is equal. The ordered
    index is modelled only: no executor has it.
    """

    arrive: float
    emit: float
    read: float = 0.0
    arrive_byte: float = 0.0
    emit_byte: float = 0.0
    batch: float = 0.0
    hash_probe: float
    hash_probe_log: float = 0.0
    hash_match: float
    hash_insert: float
    hash_insert_log: float = 0.0
    hash_invalidate: float
    hash_invalidate_log: float = 0.0
    composite_probe: float = 0.0
    composite_match: float = 0.0
    several_probe: float = 0.0
    several_match: float = 0.0
    loop_probe: float = 0.0
    loop_row: float
    loop_composite: float = 0.0
    loop_insert: float
    loop_invalidate: float
    ordered_step: float = 0.0
    ordered_match: float = 0.0
    terms: float
    """To ask one row the comparisons with constants."""
    residual: float
    """To ask one row what no kernel understands."""
    source: str

    def to_json(self) -> dict[str, Any]:
        """Describe the constants for a file."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> PlanConstants:
        """Give back the constants that `to_json` described; refuse what is not numbers >= 0."""
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']!r} is not {FORMAT}")
        if unknown := set(data) - {*NAMES, "format", "source"}:
            raise ValueError(f"there is no constant {', '.join(sorted(unknown))}")
        read = {name: from_zero_on(name, data[name]) for name in NAMES}
        free = [name for name in NEEDED if not read[name]]
        if free:
            raise ValueError(f"{', '.join(free)} cannot be 0")
        return cls(**read, source=str(data["source"]))


NAMES = tuple(field.name for field in fields(PlanConstants) if field.name != "source")
NEEDED = ("hash_probe", "loop_row")
"""Without these a join would be free, and any order of joins as good as any other."""


BUILT_IN = PlanConstants(
    arrive=41.1,
    emit=13.8,
    read=15.0,
    arrive_byte=1.02,
    emit_byte=0.346,
    batch=1.27e6,
    hash_probe=52.5,
    hash_probe_log=0.278,
    hash_match=3.94,
    hash_insert=0.0,
    hash_invalidate=0.0,
    composite_probe=44.0,
    composite_match=6.42,
    several_probe=13.2,
    several_match=6.91,
    loop_probe=48.0,
    loop_row=1.08,
    loop_composite=4.99,
    loop_insert=3.0,
    loop_invalidate=0.0,
    ordered_step=10.0,
    ordered_match=12.0,
    terms=0.5,
    residual=29.4,
    source="built in",
)
"""Fitted by `penstock lab calibrate --size full`, on two cores of an x86-64 machine."""


def load_constants() -> PlanConstants:
    """Give the fitted constants, or the built-in ones where none were stored."""
    return FILE.load(PlanConstants.from_json, BUILT_IN)


def save_constants(constants: PlanConstants, path: Path | None = None) -> Path:
    """Store constants where `load_constants` finds them; give the path."""
    return FILE.save(constants.to_json(), path)
