"""Explanations: what EXPLAIN says, as facts and as text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How a standing query is, or would be, processed.

    `branches` holds, for each branch of the group, what the operator's kind says of it.
    """

    sql: str
    group: str
    relation: str
    operator: str
    queries: int
    is_new: bool
    branches: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """Give the facts for machines."""
        return {
            "sql": self.sql,
            "group": self.group,
            "relation": self.relation,
            "operator": self.operator,
            "queries": self.queries,
            "is_new": self.is_new,
            "branches": list(self.branches),
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """Give the facts for people."""
        others = "a new group" if self.is_new else f"grouped with {self.queries:,} standing queries"
        lines = [
            " ".join(self.sql.split()),
            f"  group      {self.group} ({self.operator} on {self.relation}; {others})",
        ]
        for number, branch in enumerate(self.branches):
            if len(self.branches) > 1:
                lines.append(f"  branch {number + 1} of {len(self.branches)}")
            lines += [f"  {label:<10} {value}" for label, value in _branch_lines(branch)]
        lines += [f"  note       {note}" for note in self.notes]
        return "\n".join(lines)


def _branch_lines(branch: dict[str, Any]) -> list[tuple[str, str]]:
    lines = []
    if branch.get("partitioned_by"):
        lines.append(("partition", f"by {', '.join(branch['partitioned_by'])}"))
    if branch.get("indexed_on"):
        lines.append(("index", f"stabbing index on {branch['indexed_on']}"))
    if branch.get("verified"):
        lines.append(("verify", f"{', '.join(branch['verified'])} in the same pass"))
    if branch.get("residual"):
        lines.append(("residual", f"{branch['residual']} (on candidates only)"))
    expected = branch.get("expected_candidates_per_event")
    if expected is not None:
        lines.append(("expect", f"{expected:,.2f} candidates per event"))
    if branch.get("slow_path"):
        lines.append(("SLOW PATH", str(branch["slow_path"])))
    return lines
