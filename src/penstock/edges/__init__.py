"""Edges: small processes that tell subscribers what semantic messages mean for them.

Takes: ranges of subscribers, and messages from a broker.
Gives: each subscriber's value, or the rows of a join in his ranges; notifications of what changes.
Never: Spark, SQL, a home.
"""
