"""Sharing: which model queries have stages in common, decided by cost and risk.

`optimise` takes a plan, what is known of selectivities and costs, and settings, and gives a plan
with the moves that lead to it. It is a function: it has no clock, no chance and no memory.
"""
