"""Durable files, and connections to DuckDB.

Takes: bytes, Arrow tables, names.
Gives: files that are whole or absent, also after a power cut; databases that read a text alike.
Never: the meaning of what is stored.
"""
