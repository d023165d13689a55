"""Expressions: what DuckDB makes of a user's words, row by row.

Takes: DuckDB expressions, and a table with the columns that they name.
Gives: a value for every row, and which rows failed; connections that read a text alike.
Never: what a value is for, files, parsing of statements.
"""
