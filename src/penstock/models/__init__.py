"""Models: streams as piecewise polynomials of time, and plans that run on their segments.

Takes: plans of `penstock.algebra.models`, rows in the order of their event times.
Gives: segments with a sign: what an answer gains, and what it loses again.
Never: Spark, SQL, standing queries: who asks what of a plan's output is the operator's.
"""
