"""Verdicts as sentences: what the planner tells people before a query starts."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.planning.figures import figure, percent, size
from penstock.planning.model import JoinModel
from penstock.planning.plan_costs import Costing
from penstock.planning.planned import EDGE, Resources, SheddingAccount, Verdict


def sentence_of(
    verdict: Verdict,
    model: JoinModel,
    resources: Resources,
    chosen: Costing,
    worst_cpu: float,
    account: SheddingAccount | None,
    running: Costing,
) -> str:
    """Say how a query fares: `chosen` is its plan, `running` the same behind its drop boxes."""
    order = "order" if len(model.inputs) > 1 else "order of filters"
    if verdict == "ABUNDANT":
        needs = f"Abundant: every {order} keeps up; the chosen one needs {_demand(chosen.cpu)}"
        return f"{needs}{_bound(resources)}{_edge(resources, chosen)}."
    if verdict == "TIGHT":
        needs = f"Tight: the chosen {order} needs {_demand(chosen.cpu)}{_bound(resources)}"
        edge = _edge(resources, chosen)
        return f"{needs}{edge}; the dearest would need {percent(worst_cpu)}."
    if resources.carries(chosen.cpu):
        return f"Insufficient: {_memory(resources, running)}."
    needs = f"Insufficient: the cheapest {order} needs {_demand(chosen.cpu)}{_bound(resources)}"
    if chosen.fixed_cpu >= resources.bound:
        alone = f"batches, and rows that come, alone take {percent(chosen.fixed_cpu)}"
        return f"{needs}; {alone}, so dropping cannot help."
    if account is None:
        return f"{needs}; nothing may be dropped, so rows will wait longer and longer."
    kept = f"with {_dropped(model, account.passes)} dropped it {left_words(account)}"
    lacks = "" if resources.holds(running) else f"; {_memory(resources, running)}"
    return f"{needs}; {kept}{lacks}."


def left_words(account: SheddingAccount) -> str:
    """Say what remains: how many rows, and how much of the full answer is among them."""
    found = f"{percent(account.found)} of the full answer"
    if account.exact_share >= 1.0 - EDGE:
        return f"gives {found}"
    return f"emits {percent(account.kept)} as many rows; {found} is among them"


def _demand(cpu: float) -> str:
    return f"{percent(cpu)} of one processor"


def _bound(resources: Resources) -> str:
    return "" if resources.bound == 1.0 else f", and {percent(resources.bound)} may be used"


def _edge(resources: Resources, chosen: Costing) -> str:
    return ", with nothing to spare" if chosen.cpu >= resources.bound * (1.0 - EDGE) else ""


def _memory(resources: Resources, costing: Costing) -> str:
    if resources.memory_bytes is not None:
        needed, given = size(costing.memory_bytes), size(resources.memory_bytes)
    else:
        needed = f"{figure(costing.memory_rows)} rows"
        given = f"{figure(resources.memory_rows or 0.0)} rows"
    return f"the best order keeps {needed} in memory, and {given} are allowed"


def _share(dropped: float) -> str:
    if dropped == 1.0:
        return "all"
    return "almost all" if percent(dropped) == percent(1.0) else percent(dropped)


def _dropped(model: JoinModel, passes: Sequence[float]) -> str:
    """List what is dropped of which inputs; those that lose the same share stand together."""
    groups: dict[str, list[str]] = {}
    for each, share in zip(model.inputs, passes, strict=True):
        if share < 1.0:
            groups.setdefault(_share(1.0 - share), []).append(each.name)
    parts = [
        f"{share} of {' and of '.join(names)}"
        if len(names) < 3
        else f"{share} of {', of '.join(names[:-1])} and of {names[-1]}"
        for share, names in groups.items()
    ]
    if not parts:
        return "nothing"
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
