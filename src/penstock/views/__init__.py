"""Views: stores in which a view, its base rows and its queues live, and when each is flushed.

Takes: a definition in the store's own SQL, changes of base relations (Arrow tables).
Gives: how the view's rows changed, its rows, schedules of maintenance.
Never: Spark, users' dialects, which batch something belongs to beyond its number.
"""
