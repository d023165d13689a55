"""Planning: from what a standing query asks to what a group runs.

Takes: logical nodes, facts about groups.
Gives: physical steps, explanations.
Never: running anything.
"""
