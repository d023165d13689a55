"""Sharing: model queries that have stages in common, run as one.

A *workload* finds the expressions that queries have in common; `covering` gives the condition that
is implied by each of theirs; a *shared plan* runs a plan of `penstock.algebra.sharing`, and tells
every query what it would have been told alone.
"""
