"""What people write, and what it asks.

Takes: SQL text, the catalogue.
Gives: statements, logical plans.
Never: costs, running anything. Alone imports sqlglot; duckdb only to type and check expressions.
"""
