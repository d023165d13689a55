"""Durable files.

Takes: bytes, Arrow tables, names.
Gives: files that are whole or absent, also after a power cut.
Never: the meaning of what is stored.
"""
