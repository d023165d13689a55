"""Partitions: standing ranges in groups around common points, kept small under updates.

Takes: slots with closed ranges of keys, inserted and deleted in bulk.
Gives: the group of every slot, a stabbing point per group, the groups that changed; hotspots.
Never: queries, rows or data; a clock or chance.
"""

from __future__ import annotations

from penstock.operators.join.partition.hotspots import HotspotTracker
from penstock.operators.join.partition.maintenance import (
    LazyPartition,
    RefinedPartition,
    maintainer,
)
from penstock.operators.join.partition.protocol import Grouping

__all__ = ["Grouping", "HotspotTracker", "LazyPartition", "RefinedPartition", "maintainer"]
