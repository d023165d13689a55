"""LRU, as somebody would write it with a rule: its runs are compiled."""

from __future__ import annotations

from penstock.operators.bounded.policies import RECENT, CompiledPolicy, Rule


class Swift(CompiledPolicy):
    """The row goes that was used longest ago."""

    name = "SWIFT"

    def rule(self) -> Rule:
        return Rule(mode=RECENT)
