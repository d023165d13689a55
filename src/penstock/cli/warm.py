"""`penstock warm`: kernels compiled once, before anybody waits for them.

Nothing here needs Spark: `python -m penstock.cli.warm` does it before that is installed.
"""

from __future__ import annotations

from penstock.cli.screen import Screen
from penstock.delivery import parts
from penstock.kernels.machine_code import code_directory
from penstock.operators.warmth import packages, warm_all
from penstock.planning import warmth

OTHERS = {"planning": warmth.warm_up, "delivery": parts.warm_up}
"""What compiles kernels that no operator calls."""


def warm_kernels(screen: Screen, processes: int | None) -> None:
    """Compile every kernel that is not on disk, with progress, and say where they are."""
    found = {}
    with screen.bar("Compiling kernels (the first time: some minutes)") as bar:
        task = bar.add_task("Compiling kernels", total=len(packages()) + len(OTHERS))
        for package, count in warm_all(processes, OTHERS):
            found[package] = count
            bar.advance(task)
            if not screen.is_live:
                screen.progress.print(f"  {package}: {count} compiled")
    if screen.as_json:
        screen.result({"compiled": found, "directory": str(code_directory())})
    else:
        screen.progress.print(f"Kernels are in {code_directory()}")


if __name__ == "__main__":
    warm_kernels(Screen(), None)
