"""Drawings of memory curves: nothing covers anything, nothing is cut, all curves have a name."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

import pytest

from penstock.operators.bounded.forecast_pictures import curve_svg

SVG = "{http://www.w3.org/2000/svg}"
SIZES = {"title": 9.4, "says": 6.4, "mark": 6.8, "name": 7.2, "told": 7.6}
LETTERS = {"start": 0.0, "middle": 0.5, "end": 1.0}
HIT_RATES = {
    "HEEB": [0.042, 0.09, 0.183, 0.321, 0.35, 0.367],
    "LRU": [0.042, 0.085, 0.163, 0.265, 0.306, 0.357],
    "LFU": [0.003, 0.005, 0.012, 0.023, 0.03, 0.047],
    "RAND": [0.041, 0.078, 0.145, 0.215, 0.231, 0.276],
    "LFD": [0.211, 0.298, 0.364, 0.367, 0.367, 0.367],
}
RECALLS = {
    "HEEB": [0.107, 0.185, 0.311, 0.567, 0.897, 0.951],
    "PROB": [0.053, 0.07, 0.086, 0.087, 0.107, 0.098],
    "HIST": [0.094, 0.171, 0.308, 0.549, 0.851, 0.911],
    "OPT": [0.45, 0.656, 0.9, 1.0, 1.0, 1.0],
}
NOTES = ["Both windows hold 500 rows, and beyond 484 of memory nothing is missed. "] * 4

Box = tuple[float, float, float, float]


def drawing(measure: str, curves: dict[str, list[float]], rows: list[int], asked: int) -> str:
    name = measure.replace(" ", "_")
    points = {
        each: [{"rows": n, name: share} for n, share in zip(rows, own, strict=True)]
        for each, own in curves.items()
    }
    own = points.pop("HEEB")
    facts = {
        "measure": measure,
        "asked_rows": asked,
        "asked_word": "advised",
        "expected": own[rows.index(asked)][name],
        "points": own,
        "notes": NOTES,
    }
    listed = {"others": points, "name": "HEEB", "best": "OPT"} if points else {}
    return curve_svg({**facts, **listed}, f"{measure.capitalize()} against memory")


def texts(tree: ElementTree.Element) -> dict[str, Box]:
    """Give where texts stand, but for the one that stands upright."""
    found = {}
    for each in tree.findall(f"{SVG}text"):
        said, kind = each.text or "", each.attrib["class"]
        width = SIZES[kind] * len(said)
        left = float(each.attrib["x"]) - LETTERS[each.attrib["text-anchor"]] * width
        y = float(each.attrib["y"])
        found[said] = left, y - 10, left + width, y + 3
    return found


@pytest.mark.parametrize(
    ("measure", "curves", "rows", "asked"),
    [
        ("hit rate", HIT_RATES, [4, 8, 16, 32, 41, 64], 41),
        ("recall", RECALLS, [8, 16, 32, 64, 128, 154], 154),
        ("recall", {"HEEB": RECALLS["HEEB"]}, [8, 16, 32, 64, 128, 154], 8),
    ],
)
def test_texts_stand_apart_and_on_the_paper(measure, curves, rows, asked):
    tree = ElementTree.fromstring(drawing(measure, curves, rows, asked))
    boxes = texts(tree)
    _, _, width, height = map(float, tree.attrib["viewBox"].split())
    for said, (left, top, right, bottom) in boxes.items():
        assert left >= 0, said
        assert top >= 0, said
        assert right <= width, said
        assert bottom <= height, said
    for (one, a), (other, b) in combinations(boxes.items(), 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], (one, other)
    notes = [
        each.text or "" for each in tree.findall(f"{SVG}text") if each.attrib["class"] == "says"
    ]
    assert " ".join(notes).split() == " ".join(NOTES).split()
    (upright,) = tree.findall(f"{SVG}g/{SVG}text")
    assert upright.text == measure
    assert any("rows" in said for said in boxes)


def test_curves_have_names_in_the_order_of_their_heights():
    tree = ElementTree.fromstring(drawing("recall", RECALLS, [8, 16, 32, 64, 128, 154], 154))
    named = [each for each in tree.findall(f"{SVG}text") if each.attrib["class"] == "name"]
    assert [each.text for each in named] == ["OPT", "HEEB", "HIST", "PROB"]
    kinds = [each.attrib["class"] for each in tree.findall(f"{SVG}path")]
    drawn = [kind for kind in kinds if kind == "curve" or kind.startswith("other")]
    assert all(drawn.count(kind) == 2 for kind in drawn)  # the curve, and its line beside the name
    assert {"curve", "other best"} < set(drawn)


def test_a_long_title_is_cut_and_told_whole():
    points = [{"rows": 5, "recall": 1.0}]
    tree = ElementTree.fromstring(curve_svg({"measure": "recall", "points": points}, "x" * 200))
    assert tree.findtext(f"{SVG}title") == "x" * 200
    assert tree.findtext(f"{SVG}text", "").endswith("…")
