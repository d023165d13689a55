"""Distinct values: every value of a column, told once to each standing query."""
