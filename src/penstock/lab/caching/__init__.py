"""The lab's experiments on joins and lookups within a budget of rows.

Takes: a size.
Gives: reports, one per experiment, with the checks that the policies' claims rest on.
Never: a policy that sees what has not yet come, except where it is called optimal.
"""
