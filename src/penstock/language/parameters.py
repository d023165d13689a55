"""Parameters of one standing query: named ones, and constants lifted out of the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa


@dataclass(slots=True)
class QueryParameters:
    """Types of all parameters, and values of those that were constants.

    >>> parameters = QueryParameters()
    >>> parameters.lift(5.0, pa.float64()), parameters.constants
    ('$0', {'$0': 5.0})
    """

    types: dict[str, pa.DataType] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)

    def lift(self, value: Any, type_: pa.DataType) -> str:
        """Make a constant a parameter, and name it."""
        name = f"${len(self.constants)}"
        self.types[name] = type_
        self.constants[name] = value
        return name

    def keep(self, names: set[str]) -> None:
        """Forget the lifted constants that no branch names."""
        for name in self.constants.keys() - names:
            del self.constants[name], self.types[name]
