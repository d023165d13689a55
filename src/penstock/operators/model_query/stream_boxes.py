"""Boxes: the histograms of a model stream as figures, so that they reach whoever plans its gates.

A box is a range of each coefficient of an attribute and how long segments hold there, as a text.
Shards tell their own, and those of one text add up; others lie side by side.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.models.coefficient_bins import CoefficientBins
from penstock.models.source_histograms import SourceHistograms
from penstock.operators.model_query.figures import STREAM_BOXES
from penstock.vocabulary.figures import Tally


def told_boxes(histograms: SourceHistograms) -> Tally:
    """Tell the histograms of all attributes, as they were summarised last."""
    return Tally(
        {
            (STREAM_BOXES, attribute, box): count
            for attribute, bins in histograms.summaries.items()
            for box, count in boxes_of(bins).items()
        }
    )


def boxes_of(bins: CoefficientBins) -> dict[str, int]:
    """Write bins: the ranges of coefficients, and the length in seconds.

    >>> bins = CoefficientBins.of([[100.0, -0.5]], [[110.0, 0.5]], [20], 10.0)
    >>> boxes_of(bins), bins_of(boxes_of(bins)).ends.tolist()
    ({'100:110 -0.5:0.5 10': 20}, [10.0])
    """
    found: dict[str, int] = {}
    for low, high, length, count in zip(
        bins.low.tolist(), bins.high.tolist(), bins.ends.tolist(), bins.frequency.tolist(),
        strict=True,
    ):  # fmt: skip
        ranges = [f"{a:.9g}:{b:.9g}" for a, b in zip(low, high, strict=True)]
        text = " ".join([*ranges, f"{length:.6g}"])
        found[text] = found.get(text, 0) + int(count)
    return found


def bins_of(told: Mapping[str, int]) -> CoefficientBins | None:
    """Give back the bins of boxes; None: there are none."""
    if not told:
        return None
    read = [text.split(" ") for text in told]
    corners = np.array([[each.split(":") for each in ranges] for *ranges, _ in read], np.float64)
    lengths = np.array([length for *_, length in read], np.float64)
    # What is rounded may stand in the wrong order where a box is a point.
    return CoefficientBins.of(corners.min(2), corners.max(2), list(told.values()), lengths)


def boxes_by_attribute(told: Tally, attributes: int) -> tuple[CoefficientBins | None, ...]:
    """Give the bins of every attribute of a stream, as its operators told them."""
    found: list[dict[str, int]] = [{} for _ in range(attributes)]
    for figure, labels, count in told:
        if figure is STREAM_BOXES and count:
            found[int(labels[0])][labels[1]] = count
    return tuple(bins_of(own) for own in found)
