"""Plans of gates that follow what was counted: who shares, who leaves, what gates are given up."""

from __future__ import annotations

from penstock.algebra.model_streams import StreamGate, StreamPlan
from penstock.algebra.models import ModelCondition
from penstock.kinds.model_query.gate_cycle import StreamSeen
from penstock.kinds.model_query.gate_plans import GateCounts, is_worth, plan_gates
from penstock.models.sharing.covering import covering
from penstock.operators.model_query.figures import PASSED_FIRST, SPARED, STREAM_CHANGES, TAKEN
from penstock.vocabulary.figures import Tally
from tests.support.models import source
from tests.support.sharing import limit as compared

SOURCE = source(1)
ASKED: dict[str, ModelCondition] = {
    name: compared(0, "<", number, attributes=1)
    for name, number in {"low": 1.0, "lower": 2.0, "often": 9.0, "seldom": 3.0}.items()
}


def gate_of(*readers: str) -> StreamGate:
    return StreamGate(condition=covering([ASKED[each] for each in readers]), readers=readers)


def test_who_comes_to_find_much_leaves_its_gate() -> None:
    """The gate lets through what it finds, and all others behind it would ask again of that."""
    gate = gate_of("low", "lower", "often", "seldom")
    before = StreamPlan(gates=(gate,))
    passed = {"low": 0.05, "lower": 0.05, "often": 0.9, "seldom": 0.06}
    counts = GateCounts(segments=100.0, passed=passed, gates={gate: 0.92})
    found = plan_gates(ASKED, SOURCE, counts, before)
    assert is_worth(found, before)
    assert [each.readers for each in found.plan.gates] == [("low", "lower", "seldom")]
    seldom = {**passed, "often": 0.06}
    counts = GateCounts(segments=100.0, passed=seldom, gates={gate: 0.07})
    assert not is_worth(plan_gates(ASKED, SOURCE, counts, before), before)


def test_a_gate_is_made_anew_without_those_who_are_gone() -> None:
    """It would go on letting through what they asked for."""
    gate = gate_of("low", "lower", "often")
    before = StreamPlan(gates=(gate,))
    left = {name: own for name, own in ASKED.items() if name in {"low", "lower"}}
    counts = GateCounts(segments=100.0, passed={"low": 0.05, "lower": 0.05}, gates={gate: 0.6})
    found = plan_gates(left, SOURCE, counts, before)
    assert is_worth(found, before)
    assert [each.readers for each in found.plan.gates] == [("low", "lower")]
    assert found.plan.gates[0].condition == covering(list(left.values()))
    alone = {"low": ASKED["low"]}
    found = plan_gates(alone, SOURCE, counts, before)
    assert not found.plan.gates and is_worth(found, before)


def test_what_passes_is_of_the_segments_that_a_reader_was_shown() -> None:
    """One that came with the last batch, or rested, has not let less through for that."""
    seen = StreamSeen()
    whole = Tally({TAKEN: 40, SPARED: 60, PASSED_FIRST: 20})
    for batch in range(4):
        readers = {"always": whole, "late": whole if batch == 3 else Tally(), "resting": Tally()}
        seen.note(Tally({STREAM_CHANGES: 100}), readers)
    assert seen.counted(StreamPlan()).passed == {"always": 0.2, "late": 0.2}
