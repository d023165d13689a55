"""Operators: the plain objects that do a group's work.

Takes: a physical step, query changes, batches of events (Arrow tables).
Gives: results, deltas, snapshots.
Never: Spark, the wall clock, unseeded randomness, files.
"""
