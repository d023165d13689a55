"""The lab's experiments on the planner of multi-way window joins.

Takes: a size.
Gives: reports, one per experiment, with the checks that the planner's claims rest on.
Never: a claim about plans that were not all costed by the same model.
"""
