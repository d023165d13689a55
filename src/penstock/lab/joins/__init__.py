"""The lab's experiments on standing joins: partitions, strategies, routing.

Takes: a size.
Gives: reports, one per experiment, with the checks that the engine's claims rest on.
Never: two sides measured on different data or at different times.
"""
