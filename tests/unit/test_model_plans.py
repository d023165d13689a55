"""Stages over segments: the vectors of the specification, points, windows, limits and storage."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.algebra.models import (
    MappedAttribute,
    ModelEnvelope,
    ModelFilter,
    ModelJoin,
    ModelMap,
    ModelWindow,
)
from penstock.models import groups, maps, stores
from penstock.models.merging import merged
from penstock.models.plans import SegmentPlan
from penstock.models.sampling import sample
from penstock.models.segments import Segments
from penstock.models.storage import from_table, read_table, to_table, write_table
from penstock.vocabulary.errors import PenstockError
from tests.support.models import ALWAYS, compared, polynomial, segments, source


def window(function: Any, size: float, degree: int = 1, **more: Any) -> ModelWindow:
    """Make a window over a source, by key."""
    own: dict[str, Any] = {"group": (0,), "gap": "hold", "attribute": 0} | more
    return ModelWindow(
        input=source(degree), function=function, name="w", size_us=round(size * 1e6),
        slide_us=10**6, **own,
    )  # fmt: skip


def told(given: Segments) -> list[tuple[int, float, float, list[float]]]:
    """Give sign, begin, end and the model by powers of time itself, without zeros behind."""
    found = []
    for n in range(len(given)):
        base = given.reference[n] * 1e-6
        model = np.polynomial.Polynomial(given.coefficients[n, 0])
        moved = model(np.polynomial.Polynomial([-base, 1.0])).coef.round(9)
        own = [*np.trim_zeros(moved, "b").tolist()]
        low, high = round(base + given.low[n], 9), round(base + given.high[n], 9)
        found.append((int(given.sign[n]), low, high, own))
    return found


def test_vector_1_a_filter_restricts() -> None:
    condition = compared("<", (-110.0, (0,)), (1.0, (1,)))
    plan = SegmentPlan(ModelFilter(input=source(), condition=condition))
    said = plan.push(0, segments([((1,), 0, 0, 10, [[100, 2]], 1, 1)]))
    assert told(said) == [(1, 0.0, 5.0, [100.0, 2.0])]


def test_a_filter_that_always_holds_gives_the_segment_itself() -> None:
    condition = compared("<", (-1e9, (0,)), (1.0, (1,)))
    plan = SegmentPlan(ModelFilter(input=source(), condition=condition))
    given = segments([((1,), 0, 0, 10, [[100, 2]], 1, 1)])
    assert plan.push(0, given) is given


def test_vector_2_an_envelope_changes_hands_and_takes_back() -> None:
    plan = SegmentPlan(ModelEnvelope(input=source(), function="max", attribute=0, name="m"))
    a, b = ((1,), 0, 0, 2, [[0, 1]], 1, 1), ((2,), 0, 0, 2, [[2, -1]], 1, 2)
    assert told(plan.push(0, segments([a, b]))) == [(1, 0, 1, [2, -1]), (1, 1, 2, [0, 1])]
    gone = segments([((2,), 0, 0.5, 2, [[2, -1]], -1, 2)])
    assert told(plan.push(0, gone)) == [(-1, 0.5, 1, [2, -1]), (1, 0.5, 1, [0, 1])]


def test_vector_3_sums_and_averages() -> None:
    one = SegmentPlan(window("sum", 2)).push(0, segments([((1,), 0, 0, 4, [[1, 1]], 1, 1)]))
    assert told(one) == [(1, 2, 4, [0, 2])]
    two = segments([((1,), 0, 0, 2, [[1]], 1, 1), ((1,), 0, 2, 5, [[0, 1]], 1, 2)])
    assert told(SegmentPlan(window("sum", 3)).push(0, two)) == [(1, 3, 5, [3, -1, 0.5])]
    third = [round(each / 3, 9) for each in (3, -1, 0.5)]
    assert told(SegmentPlan(window("avg", 3)).push(0, two)) == [(1, 3, 5, third)]


def test_vector_4_a_sliding_maximum() -> None:
    hill = segments([((1,), 0, 0, 1, [[0, 1]], 1, 1), ((1,), 0, 1, 3, [[2, -1]], 1, 2)])
    said = SegmentPlan(window("max", 1)).push(0, hill)
    assert told(said) == [(1, 1, 2, [1]), (1, 2, 3, [3, -1])]


def test_windows_sum_exactly_in_any_segmentation() -> None:
    """Acceptance check 3: 1e-9 of exact integration; one model has no power more than it had."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        model = rng.normal(size=4)
        cuts = np.sort(rng.uniform(0, 20, 6))
        ends = [0.0, *cuts, 20.0]
        rows = [
            ((1,), 0, low, high, [model.tolist()], 1, n)
            for n, (low, high) in enumerate(pairwise(ends))
        ]
        said = SegmentPlan(window("sum", 5, degree=3)).push(0, segments(rows))
        assert len(said) == 1
        assert said.coefficients[0, 0, 4] == 0.0
        exact = np.polynomial.Polynomial(model).integ()
        for at in np.linspace(5.01, 19.99, 30):
            found = np.polyval(said.coefficients[0, 0, ::-1], at - said.reference[0] * 1e-6)
            assert found == pytest.approx(exact(at) - exact(at - 5), rel=1e-9, abs=1e-9)


def test_windows_over_different_models_are_integrated_exactly() -> None:
    rng = np.random.default_rng(4)
    ends = np.concatenate(([0.0], np.sort(rng.uniform(0, 30, 12)), [30.0]))
    models = rng.normal(size=(13, 3))
    rows = [((1,), 0, ends[n], ends[n + 1], [models[n].tolist()], 1, n) for n in range(len(models))]
    said = SegmentPlan(window("avg", 4, degree=2)).push(0, segments(rows))
    for at in rng.uniform(4.0, 30.0, 100):
        total = 0.0
        for n, model in enumerate(models):
            low, high = max(ends[n], at - 4), min(ends[n + 1], at)
            whole = np.polynomial.Polynomial(model).integ()
            total += whole(high) - whole(low) if low < high else 0.0
        begin, end = said.reference * 1e-6 + said.low, said.reference * 1e-6 + said.high
        (place,) = np.flatnonzero((begin <= at) & (at < end))
        model = said.coefficients[place, 0, ::-1]
        found = np.polyval(model, at - said.reference[place] * 1e-6)
        assert found == pytest.approx(total / 4, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("values", [3, 7])
def test_constant_segments_change_a_sliding_maximum_as_often_as_theory_says(values: int) -> None:
    """Acceptance check 4: 2 / (n + 1) pieces per segment, within 2 %."""
    rng = np.random.default_rng(8)
    total = 40_000
    rows = Segments(
        np.zeros((total, 1), np.int64), np.arange(total) * 10**6, np.zeros(total), np.ones(total),
        np.zeros((total, 1, 9)), np.ones(total, np.int8), np.arange(total),
    )  # fmt: skip
    rows.coefficients[:, 0, 0] = rng.uniform(size=total)
    said = SegmentPlan(window("max", values - 1, degree=0)).push(0, rows)
    assert len(said) / total == pytest.approx(2 / (values + 1), rel=0.02)


def test_points_meet_ranges_and_win_envelopes() -> None:
    equal = compared("=", (-1.0, (0, 1)), (1.0, (1, 0)))
    plan = SegmentPlan(ModelJoin(left=source(), right=source(), condition=equal))
    assert not len(plan.push(0, segments([((1,), 0, 0, 4, [[0, 1]], 1, 1)])))
    crossing = plan.push(1, segments([((2,), 0, 0, 4, [[3, -1]], 1, 2)]))
    assert crossing.points.tolist() == [True]
    assert crossing.low.tolist() == [1.5]
    envelope = SegmentPlan(ModelEnvelope(input=source(), function="max", attribute=0, name="m"))
    rows = segments([((1,), 0, 0, 4, [[1]], 1, 1), ((2,), 0, 1.5, 1.5, [[9]], 1, 2)])
    said = sorted(told(envelope.push(0, rows)))
    assert said == [(1, 0, 4, [1]), (1, 1.5, 1.5, [9])]
    gone = segments([((2,), 0, 1.5, 1.5, [[9]], -1, 2)])
    assert told(envelope.push(0, gone)) == [(-1, 1.5, 1.5, [9])]
    highest = SegmentPlan(window("max", 1, group=()))
    assert told(highest.push(0, rows)) == [(1, 1, 1.5, [1]), (1, 1.5, 2.5, [9]), (1, 2.5, 4, [1])]
    assert told(SegmentPlan(window("sum", 1, group=())).push(0, rows)) == [(1, 1, 4, [1])]


def test_functions_are_met_within_their_tolerance() -> None:
    square = polynomial((1.0, (0,)), (1.0, (2,)))
    attributes = (
        MappedAttribute(name="d", polynomial=square, function="sqrt", tolerance=1e-3),
        MappedAttribute(
            name="r", polynomial=polynomial((1.0, (1,))), function="ratio", divisor=square,
            tolerance=1e-3,
        ),
        MappedAttribute(name="a", polynomial=polynomial((1.0, (1,))), function="abs"),
    )  # fmt: skip
    plan = SegmentPlan(ModelMap(input=source(), attributes=attributes, key=(0,)))
    row = ((1,), 0, 0.0, 10.0, [[-4, 1]], 1, 1)
    said = plan.push(0, segments([row]))
    for at in np.linspace(0.001, 9.999, 500):
        (place,) = np.flatnonzero((said.low <= at) & (at < said.high))
        found = [np.polyval(model[::-1], at) for model in said.coefficients[place]]
        x = at - 4
        exact = [np.sqrt(1 + x * x), x / (1 + x * x), abs(x)]
        assert np.abs(np.subtract(found, exact)).max() <= 1e-3 * 1.0001
    # What takes a part back takes the same lines back.
    rest = plan.push(0, segments([(*row[:2], 3.3, *row[3:5], -1, 1)]))
    inside = said.high > 3.3
    np.testing.assert_array_equal(rest.coefficients, said.coefficients[inside])
    np.testing.assert_array_equal(rest.high, said.high[inside])


def test_a_ratio_has_no_value_where_its_divisor_is_0() -> None:
    ratio = MappedAttribute(
        name="r", polynomial=polynomial((1.0, (0,))), divisor=polynomial((1.0, (1,))),
        function="ratio", tolerance=0.1,
    )  # fmt: skip
    plan = SegmentPlan(ModelMap(input=source(), attributes=(ratio,), key=(0,)))
    said = plan.push(0, segments([((1,), 0, 0, 4, [[-2, 1]], 1, 1)]))
    assert not ((said.low <= 2.0) & (said.high > 2.0)).any()
    assert said.high[said.high < 2.0].max() > 2.0 - 1e-3


def test_samples_are_multiples_inside_and_points_where_they_are() -> None:
    rows = segments(
        [((1,), 500_000, 0.0, 3.0, [[1, 2]], 1, 1), ((1,), 0, 0.3, 0.3, [[7]], 1, 2),
         ((1,), 0, 1.2, 1.3, [[7]], 1, 3)]
    )  # fmt: skip
    index, at, values = sample(rows, 1_000_000)
    assert index.tolist() == [0, 0, 0, 1]
    assert at.tolist() == [1_000_000, 2_000_000, 3_000_000, 300_000]
    assert values[:, 0].tolist() == [2.0, 4.0, 6.0, 7.0]


def test_neighbours_with_one_model_are_merged() -> None:
    rows = segments(
        [((1,), 0, 0, 1, [[1, 2]], 1, 1), ((1,), 10**6, 0, 2, [[3, 2]], 1, 2),
         ((1,), 0, 3, 4, [[1, 2.1]], 1, 3), ((2,), 0, 3, 4, [[1, 2.1]], 1, 4)]
    )  # fmt: skip
    assert told(merged(rows)) == [(1, 0, 3, [1, 2]), (1, 3, 4, [1, 2.1]), (1, 3, 4, [1, 2.1])]


def test_segments_are_kept_as_parquet(tmp_path: Path) -> None:
    rows = segments(
        [((1,), 7, 0, 1, [[1, 2], [0]], 1, 1), ((2,), 9, 0.5, 2, [[3], [1, 0, 4]], -1, 2)]
    )
    key = pa.table({"symbol": ["A", "B"]})
    write_table(to_table(rows, key, ["x", "y"]), tmp_path / "segments.parquet")
    table = read_table(tmp_path / "segments.parquet")
    assert table["x"].to_pylist() == [[1.0, 2.0], [3.0]]
    back = from_table(table, rows.key, ["x", "y"])
    for name in ("key", "reference", "low", "high", "coefficients", "sign", "serial"):
        np.testing.assert_array_equal(getattr(back, name), getattr(rows, name))
    with pytest.raises(PenstockError, match="MDL-056"):
        from_table(table, rows.key, ["z"])
    wide = table.set_column(4, "x", pa.array([[0.0] * 10] * 2))
    with pytest.raises(PenstockError, match="MDL-057"):
        from_table(wide, rows.key, ["x", "y"])


def test_limits_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    ninth = MappedAttribute(name="m", polynomial=polynomial((1.0, (9,))))
    with pytest.raises(PenstockError, match="MDL-052"):
        SegmentPlan(ModelMap(input=source(), attributes=(ninth,), key=(0,)))
    root = MappedAttribute(name="m", polynomial=polynomial((1.0, (1,))), function="sqrt")
    with pytest.raises(PenstockError, match="MDL-054"):
        SegmentPlan(ModelMap(input=source(), attributes=(root,), key=(0,)))
    rows = segments([((1,), 0, n, n + 1, [[n]], 1, n) for n in range(600)])
    monkeypatch.setattr(groups, "ROOM_MAX", 256)
    with pytest.raises(PenstockError, match="MDL-055"):
        SegmentPlan(window("max", 1)).push(0, rows)
    monkeypatch.setattr(stores, "SEGMENTS_MAX", 100)
    with pytest.raises(PenstockError, match="MDL-051"):
        SegmentPlan(ModelJoin(left=source(), right=source(), condition=ALWAYS)).push(0, rows)
    monkeypatch.setattr(maps, "PIECES_MIN", 8)
    monkeypatch.setattr(maps, "PIECES_MAX", 16)
    fine = MappedAttribute(
        name="m", polynomial=polynomial((1.0, (0,)), (1.0, (2,))), function="sqrt", tolerance=1e-7
    )
    with pytest.raises(PenstockError, match="MDL-053"):
        SegmentPlan(ModelMap(input=source(), attributes=(fine,), key=(0,))).push(
            0, segments([((1,), 0, 0, 10, [[-4, 1]], 1, 1)])
        )
