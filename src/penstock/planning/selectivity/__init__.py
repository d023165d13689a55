"""Selectivity: how many segments a stage will make of those it is given, before anything runs.

Takes: plans of model queries, bins of the coefficients of their sources.
Gives: for every stage an estimate with a low and a high bound, and the bins of what it makes.
Never: running a plan, or looking at a segment.
"""
