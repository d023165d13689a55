"""Edges: small processes that tell subscribers what semantic messages mean for them.

Takes: ranges of subscribers, and messages from a broker.
Gives: each subscriber's value, and a notification when it changes.
Never: Spark, SQL, a home.
"""
