"""What live model queries know that numbers do not say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.models.sources import SegmentSource
from penstock.operators.protocol import LiveFacts
from penstock.vocabulary.batches import Floats
from penstock.vocabulary.codec import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundInForce(Node):
    """How far rows of an attribute may be from the models of now, over all keys of a source."""

    stream: str
    attribute: str
    smallest: float
    largest: float
    keys: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts(LiveFacts):
    """The bounds in force."""

    SHOWN = ("bounds",)

    bounds: tuple[BoundInForce, ...]


def tolerances_of(source: SegmentSource) -> Floats:
    """Give how far rows may be from the models of a source: (keys, attributes)."""
    found: Floats = np.asarray(source.arrays()["models"])[:, :, -1]
    return found


def model_facts(sources: Sequence[SegmentSource]) -> ModelFacts:
    """Say the bounds in force of sources."""
    found = []
    for source in sources:
        allowed = tolerances_of(source)
        for place, attribute in enumerate(source.source.attributes):
            own = allowed[:, place]
            if len(own):
                found.append(
                    BoundInForce(
                        stream=source.source.relation,
                        attribute=attribute.name,
                        smallest=float(own.min()),
                        largest=float(own.max()),
                        keys=len(own),
                    )
                )
    return ModelFacts(bounds=tuple(found))
