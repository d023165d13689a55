"""Kinds: what the house knows of each capability, one package for each.

Takes: a query's text and tree, what is registered, what was recorded.
Gives: one value per kind, in one table: what it claims, how it binds, explains and verifies.
Never: another kind's affairs. Whoever stands above asks the table, and no kind by its name.
"""
