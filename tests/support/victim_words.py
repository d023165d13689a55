"""What victims of every kind say and do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import penstock as ps


def say(line: str) -> None:
    """Tell the one who watches."""
    print(line, flush=True)


def register_or_drop(
    engine: ps.Engine,
    names: Sequence[str],
    subscribe: Callable[[ps.Engine, int], None],
    drops: Callable[[int], bool],
    rows_each: int,
) -> bool:
    """Register the next subscription that is missing, or drop one query of the next that is due.

    Says whether there was anything to do.
    """
    for number, name in enumerate(names):
        if name not in engine.desk.registry.subscriptions:
            subscribe(engine, number)
            return True
        if drops(number) and len(engine.subscription(name)) == rows_each:
            engine.subscription(name).drop([0])
            say(f"ack {name}-0")
            return True
    return False
