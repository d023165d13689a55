"""The registry: the durable, versioned set of standing queries.

Takes: drafts of changes (relations, groups, subscriptions, query changes).
Gives: immutable numbered versions, announcements, and the changes between two versions.
Never: SQL, Spark, the meaning of a group.
"""
