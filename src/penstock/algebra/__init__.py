"""Plan nodes: frozen facts, checked at birth.

Takes: parts.
Gives: logical nodes (what a standing query asks) and physical steps (what a group runs).
Never: execution, SQL parsing, files.
"""
