"""Histograms over coefficients: how far off their estimates are, beside samples of the segments.

A threshold is chosen for every tenth of true selectivity; the error is the mean of the differences.
The published form (literal) and the repaired one work on the same bins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from time import thread_time

import numpy as np

from penstock.lab.draws import generator
from penstock.lab.models.coefficient_flights import flights
from penstock.lab.models.coefficients import (
    LENGTH_S,
    SHARES,
    STOCKS,
    LineSet,
    below,
    histogram_estimate,
    normal_lines,
    stock_lines,
    two_sided,
    uniform_lines,
)
from penstock.lab.report import (
    Cell,
    Chart,
    Check,
    Findings,
    HeatMap,
    Size,
    Table,
    at_least,
    at_most,
    chart,
    curves_of,
    sized,
)
from penstock.lab.timing import alternate, say
from penstock.planning.selectivity.filters import thresholds_passed
from penstock.planning.selectivity.samples import (
    baseline,
    bins_heaviest,
    bins_sampled,
    segments_sampled,
)

TOTAL = 20_000
RUNS = sized(6, 8, 20)
BITS = sized((2, 3, 4, 5, 6), (2, 3, 4, 5, 6), (2, 3, 4, 5, 6, 7, 8))
RATES = (0.01, 0.1, 0.4, 0.8)
DRAWS = sized(3, 20, 20)
STOCK_TOTAL = sized(2_000, 10_000, 20_000)
ROUNDS = sized(2, 15, 40)
REFERENCE = {
    ("uniform", 2): (0.0253, 0.0010), ("uniform", 4): (0.0068, 0.0006),
    ("uniform", 6): (0.0017, 0.0003), ("normal", 2): (0.0922, 0.0536),
    ("normal", 4): (0.0189, 0.0029), ("normal", 6): (0.0033, 0.0005),
}  # fmt: skip
"""Errors of a prototype, literal and repaired, by data and by the power of two of a grid."""
TIMED = ("bins", "sample")
SETS = {"uniform": uniform_lines, "normal": normal_lines}


def run(size: Size) -> Findings:
    """Estimate synthetic lines, stocks and flights by bins and by samples; time both."""
    errors = {name: _errors(name, size) for name in SETS}
    yield from _accuracy(errors, size)
    say("coefficient-histograms: overhead")
    yield from _overheads(size)
    say("coefficient-histograms: stocks")
    yield from _stocks(size)
    yield from _maps(size)
    say("coefficient-histograms: flights")
    yield from flights(size)


def mean_error(lines: LineSet, estimates: Sequence[float]) -> float:
    """Give the mean difference between estimates for all thresholds and the truth."""
    true = [lines.true(each) for each in lines.thresholds()]
    return float(np.abs(np.array(estimates) - true).mean())


def sampled(lines: LineSet, rate: float, chance: np.random.Generator) -> list[float]:
    """Give what a sample of the lines says for all thresholds."""
    least = lines.least[chance.random(len(lines.least)) < rate]
    return [float((least < each).mean()) if len(least) else 0.0 for each in lines.thresholds()]


def _errors(name: str, size: Size) -> dict[str, dict[int | float, float]]:
    """Give the errors of both forms by grid, and of samples by rate, on the mean of some runs."""
    found: dict[str, dict[int | float, list[float]]] = {
        "literal": {}, "repaired": {}, "sample": {}
    }  # fmt: skip
    for number in range(RUNS[size]):
        chance = generator(91, number, list(SETS).index(name))
        lines = SETS[name](chance, TOTAL)
        for bits in BITS[size]:
            bins = lines.bins(bits)
            for form in ("literal", "repaired"):
                told = [
                    histogram_estimate(bins, each, form == "literal") for each in lines.thresholds()
                ]
                found[form].setdefault(bits, []).append(mean_error(lines, told))
        for rate in RATES:
            for _ in range(DRAWS[size]):
                told = sampled(lines, rate, chance)
                found["sample"].setdefault(rate, []).append(mean_error(lines, told))
    return {
        form: {key: float(np.mean(each)) for key, each in by.items()} for form, by in found.items()
    }


def _accuracy(
    errors: Mapping[str, Mapping[str, Mapping[int | float, float]]], size: Size
) -> Findings:
    rows: list[dict[str, Cell]] = []
    for bits in BITS[size]:
        row: dict[str, Cell] = {"grid": f"{1 << bits}x{1 << bits}"}
        for name in SETS:
            for form in ("literal", "repaired"):
                row[f"{name}, {form}"] = errors[name][form][bits]
        rows.append(row)
    yield Table.of(f"Mean error by grid, {TOTAL:,} lines of {LENGTH_S:g} s", rows)
    rows = [
        {"sample (%)": 100 * rate, **{name: errors[name]["sample"][rate] for name in SETS}}
        for rate in RATES
    ]
    yield Table.of("Mean error of samples", rows)
    curves = {
        f"{name}, {form}": ([1 << bits for bits in BITS[size]],
                            [errors[name][form][bits] for bits in BITS[size]])
        for name in SETS for form in ("literal", "repaired")
    }  # fmt: skip
    for rate in (0.4, 0.8):
        height = float(np.mean([errors[name]["sample"][rate] for name in SETS]))
        ends = [1 << BITS[size][0], 1 << BITS[size][-1]]
        curves[f"sample of {100 * rate:g} %"] = (ends, [height, height])
    yield chart("Errors of bins and of samples", "bins per coefficient", "mean error", curves,
                log="xy")  # fmt: skip
    yield from _accuracy_checks(errors, size)


def _accuracy_checks(
    errors: Mapping[str, Mapping[str, Mapping[int | float, float]]], size: Size
) -> Iterator[Check]:
    off = [
        max(mine / theirs, theirs / mine)
        for (name, bits), pair in REFERENCE.items()
        for mine, theirs in zip(
            (errors[name][form][bits] for form in ("literal", "repaired")), pair, strict=True
        )
        if theirs > 0.001
    ]
    yield at_most("Table of errors: farthest factor from the reference", max(off), 1.5)
    for name in SETS:
        literal = [errors[name]["literal"][bits] for bits in BITS[size] if bits <= 6]
        worst = max(later / before for before, later in pairwise(literal))
        yield at_most(f"Literal, {name}: error over that of a grid half as fine", worst, 1.0)
    uniform, normal = errors["uniform"], errors["normal"]
    finest = uniform["literal"][6]
    yield at_most("Literal 64x64, uniform: over a 40 % sample", finest / uniform["sample"][0.4], 1)
    yield at_least("Literal 64x64, uniform: over an 80 % sample", finest / uniform["sample"][0.8],
                   1.0)  # fmt: skip
    repaired = uniform["repaired"][4]
    yield at_most("Repaired 16x16, uniform: over an 80 % sample",
                  repaired / uniform["sample"][0.8], 1.0)  # fmt: skip
    yield at_most("Repaired 16x16, normal: mean error", normal["repaired"][4], 0.004)


def _overheads(size: Size) -> Findings:
    """Time estimates: by bins, by bins of a sample, by some of the bins; and samples themselves."""
    rows: list[dict[str, Cell]] = []
    sets = [make(generator(92, place), TOTAL) for place, make in enumerate(SETS.values())]
    stocks = [stock_lines(generator(93, place), each, STOCK_TOTAL[size])
              for place, each in enumerate(STOCKS)]  # fmt: skip
    for name, group in (("stocks", stocks), *((each.name, [each]) for each in sets)):
        for bits in BITS[size]:
            rows += _methods(name, group, bits, size)
    yield Table.of("Error and processor time of an estimate", rows)
    for name in ("stocks", *SETS):
        own = curves_of(
            (str(row["by"]), row["us"], row["error"]) for row in rows if row["data"] == name
        )
        title = f"Error by overhead, {name}"
        yield chart(title, "microseconds per estimate", "mean error", own, log="xy")
    yield from _linear(sets[1], size)
    yield from _half_the_bins(size)


def _column(rows: Sequence[Mapping[str, Cell]], name: str) -> list[float]:
    return [float(each[name] or 0.0) for each in rows]


def _methods(
    name: str, group: Sequence[LineSet], bits: int, size: Size
) -> Iterator[dict[str, Cell]]:
    methods: dict[str, list[tuple[float, float, int]]] = {}
    for place, lines in enumerate(group):
        chance = generator(94, bits, place)
        every = lines.bins(bits)
        kept = lines.coefficients[chance.random(len(lines.coefficients)) < 0.1]
        own = {
            "all bins": every,
            "bins of a 10 % sample": LineSet(lines.name, kept).bins(bits),
            "half of the bins": bins_sampled(every, chance, 0.5),
        }
        for method, bins in own.items():
            told = [histogram_estimate(bins, each) for each in lines.thresholds()]
            sides = {"own": partial(histogram_estimate, bins, lines.thresholds()[4])}
            seconds = alternate(sides, ROUNDS[size], thread_time)["own"]
            methods.setdefault(method, []).append((seconds, mean_error(lines, told), len(bins)))
    for method, found in methods.items():
        seconds, error, count = np.mean(found, axis=0).tolist()
        yield {"data": name, "by": method, "grid": 1 << bits, "bins": round(count),
               "us": seconds * 1e6, "error": error}  # fmt: skip


def _linear(lines: LineSet, size: Size) -> Findings:
    """Time estimates by the number of bins, and samples by their rate."""
    middle = lines.thresholds()[4]
    every = lines.bins(8)
    chance = generator(95)
    rows: list[dict[str, Cell]] = []
    counts = np.linspace(0.1, 1.0, 8)
    for share in counts.tolist():
        bins = bins_sampled(every, chance, share)
        seconds = alternate({"own": partial(histogram_estimate, bins, middle)}, ROUNDS[size],
                            thread_time)["own"]  # fmt: skip
        sample = segments_sampled(lines.segments(), share, chance)
        by_sample = alternate({"own": partial(baseline, below(middle), sample)}, ROUNDS[size],
                              thread_time)["own"]  # fmt: skip
        rows.append({"bins": len(bins), "bins (us)": seconds * 1e6, "sample": len(sample),
                     "sample (us)": by_sample * 1e6})  # fmt: skip
    yield Table.of("Processor time by bins and by segments of a sample", rows)
    yield chart(
        "Time of an estimate", "bins, or segments of a sample", "microseconds",
        {kind: (_column(rows, kind), _column(rows, f"{kind} (us)")) for kind in TIMED},
    )  # fmt: skip
    for kind in TIMED:
        fit = np.corrcoef(_column(rows, kind), _column(rows, f"{kind} (us)"))[0, 1] ** 2
        yield at_least(f"Time is linear in the {kind} (R²)", float(fit), 0.9, timed=True)


def _half_the_bins(size: Size) -> Findings:
    """Half of the bins of a 16x16 grid: what they cost in error, and save in time."""
    errors: dict[str, list[float]] = {"all": [], "drawn": [], "heaviest": []}
    seconds = []
    for number in range(RUNS[size]):
        chance = generator(96, number)
        lines = normal_lines(chance, TOTAL)
        every, thresholds = lines.bins(4), lines.thresholds()
        own = {
            "all": every, "drawn": bins_sampled(every, chance, 0.5),
            "heaviest": bins_heaviest(every, 0.5),
        }  # fmt: skip
        for name, bins in own.items():
            told = [histogram_estimate(bins, each) for each in thresholds]
            errors[name].append(mean_error(lines, told))
        numbers = np.array(thresholds)
        sides = {
            name: partial(thresholds_passed, own[name], numbers, "<")
            for name in ("all", "heaviest")
        }
        took = alternate(sides, ROUNDS[size], thread_time)
        seconds.append(took["heaviest"] / took["all"])
    means = {name: float(np.mean(each)) for name, each in errors.items()}
    yield Table.of("Half of the bins of 16x16, normal lines", [
        {"bins": name, "mean error": mean, "over all": mean / means["all"]}
        for name, mean in means.items()
    ])  # fmt: skip
    yield at_most("The heaviest half of the bins: error over that of all",
                  means["heaviest"] / means["all"], 1.5)  # fmt: skip
    yield at_most("The heaviest half of the bins, ten thresholds at once: time over that of all",
                  float(np.median(seconds)), 0.6, timed=True)  # fmt: skip
    yield (
        f"A weighted draw of half of the bins has {means['drawn'] / means['all']:.2f} times the "
        "error of all; 1.5 is what is published of one draw, and single draws lie on both sides."
    )


def _stocks(size: Size) -> Findings:
    """Estimate every stock by the finest grid, and by a sample, selectivity by selectivity."""
    rows: list[dict[str, Cell]] = []
    curves: dict[str, tuple[list[float], list[float]]] = {}
    sets = [(each, stock_lines(generator(93, place), each, STOCK_TOTAL[size]))
            for place, each in enumerate(STOCKS)]  # fmt: skip
    made = [make(generator(92, place), TOTAL) for place, make in enumerate(SETS.values())]
    for name, lines in (*sets, *((each.name, each) for each in made)):
        bins = lines.bins(BITS[size][-1])
        true = np.array([lines.true(each) for each in lines.thresholds()])
        by_form = {
            form: np.abs([histogram_estimate(bins, each, form == "literal")
                          for each in lines.thresholds()] - true)
            for form in ("literal", "repaired")
        }  # fmt: skip
        chance = generator(97, len(rows))
        samples = {
            rate: np.mean([np.abs(np.array(sampled(lines, rate, chance)) - true)
                           for _ in range(DRAWS[size])], axis=0)
            for rate in (0.1, 0.4, 0.8)
        }  # fmt: skip
        curves[name] = list(SHARES), (samples[0.1] - by_form["repaired"]).tolist()
        rows.append({
            "data": name, "bins": len(bins), "literal": float(by_form["literal"].mean()),
            "repaired": float(by_form["repaired"].mean()),
            **{f"sample {100 * rate:g} %": float(each.mean()) for rate, each in samples.items()},
        })  # fmt: skip
    grid = 1 << BITS[size][-1]
    yield Table.of(f"Mean error by stock, grid {grid}x{grid}", rows)
    yield chart("Error of a 10 % sample less that of bins", "true selectivity", "difference",
                curves)  # fmt: skip


def _maps(size: Size) -> Iterator[Chart]:
    """Draw where the lines of two stocks and of both made sets lie."""
    sets = [stock_lines(generator(93, list(STOCKS).index(each)), each, STOCK_TOTAL[size])
            for each in ("4878", "6879")]  # fmt: skip
    sets.append(normal_lines(generator(92, 1), TOTAL))
    for lines in sets:
        heights, slopes = lines.coefficients.T
        counts, x, y = np.histogram2d(heights, two_sided(slopes), bins=48)
        yield Chart(
            title=f"Lines of {lines.name}", x_label="height",
            y_label="slope (two-sided logarithm)",
            heat=HeatMap(x=x.tolist(), y=y.tolist(), counts=counts.T.tolist()),
        )  # fmt: skip
