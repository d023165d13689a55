"""Bounded joins and lookups: the rows that are worth most, within a budget that is never exceeded.

Takes: laws of streams, a weighting of the ticks to come, a budget of rows, keys as they arrive.
Gives: curves, scores and score tables for compiled loops, policies and what they choose to keep.
Never: a row above the budget, a wall clock, chance that no seed was given for.
"""
