"""The places of a cascade's figures in its memory.

A cascade is a tree of joins. All it has is in one array of words: one array passes from kernel to
kernel at a fraction of the price of seven. A node or a part is known by the place where its words
begin; the names below are counted from there.

Leaves stand in the order of the tree, from left to right, then the joins, every one after those
below it; the root is last. So the leaves below a node are neighbours, and a composite of a node
holds one row number for each of them, in that order.
"""

from __future__ import annotations

SINGLE, CANDIDATE, OWN = 0, 3, 8
"""The first words: the row at hand in the shape of a composite, the number of a candidate, and for
every condition the range (its low end, its length less one) in which a candidate's value must be.

Ranges wrap around: all values but one are a range too.
"""

PARENT, SIBLING, LEFT = 0, 1, 2
"""The join above (the root has 0), its other side, and whether this node is its left side."""
HEAD, MEMBERS = 3, 4
"""Where the heads of the leaves below begin, and how many they are: a leaf has one.

A head is the first row that has not expired; 0 for tables.
"""
HASHED = 5
"""Whether the window is kept in buckets by its links; else those who probe it read it all."""
LINK, LINKS = 6, 7
"""Links that cross the join above, for this node's rows as candidates: parts."""
CONDITIONS = 8
"""How many parts from LINK on a candidate must pass: the links, then the tests."""
TERM, TERMS = 10, 11
"""Terms that are asked of this join's composites: parts."""
TABLE, TABLES = 12, 13
"""The tables among the leaves below: parts."""
BASE, CAPACITY = 14, 15
"""Where the window's rows or composites begin, and how many have room (leaves: a power of two)."""
STRIDE, WIDTH = 16, 17
"""Words of a leaf's row; words of a composite."""
USED, SWEPT = 18, 19
"""Composites in the pool, dead ones too, and how many there may be before those are swept out."""
BUCKET, SHIFT = 20, 21
"""Where the window's buckets begin; by how many bits a hash is shifted to give one."""
FRESH, FRESH_MADE, MADE = 22, 23, 24
"""Composites of the event at hand, those before terms were asked, and these since last told."""
KIND, SIZE = 25, 26
"""A leaf's window: one of the kinds below, and its rows or microseconds."""
FOLLOWING, COUNTER = 27, 28
"""A leaf's next row, and how many rows have counted."""
BROUGHT = 29
"""Composites of the join above that rows of this node made when they came, since last told."""
NODE_WORDS = 30

ROWS, RANGE, TABLE_KIND = 0, 1, 2

CHAINED, TIME, SEQUENCE, FIELDS = 0, 1, 2, 3
"""A leaf's row: the row before it in its bucket, its time, its place among rows that count, fields.

A table's row has 1 in the place of its time, 0 when it has been deleted.
"""
WORD, NEXT, IDS = 0, 1, 2
"""A composite: its key or the hash of its keys, the one before it in its bucket, row numbers."""

LEAF, FIELD, POSITION = 0, 1, 2
"""A part: a leaf, a field of its rows, and the leaf's position among those below the node."""
LOW, HIGH = 3, 4
"""The bounds of a term or of a difference."""
OP, OWN_LEAF, OWN_FIELD, OWN_POSITION = 5, 6, 7, 8
"""A link or a test: what it asks, and the field of the other side."""
ASKED, PASSED, FRESH_ASKED, FRESH_PASSED = 5, 6, 7, 8
"""How often a term was asked and was true: since last told, and in the event at hand."""
PART_WORDS = 9

LESS, LESS_EQUAL, UNEQUAL, DIFFERENCE, GREATER, GREATER_EQUAL, BACKWARDS, EQUAL = range(8)
"""What a part asks of (own value, candidate's value); BACKWARDS is own minus candidate's."""
