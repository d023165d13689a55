EXPLAIN SELECT symbol FROM trades WHERE symbol = 'IBM' AND price BETWEEN 5 AND 6
--> SELECT symbol FROM trades WHERE symbol = 'IBM' AND price BETWEEN 5 AND 6
-->   group      filter-… (filter on trades; a new group)
-->   partition  by symbol
-->   index      stabbing index on price
-->   expect     1.00 candidates per event
-->   relation   trades
-->   verdict    ABUNDANT: it needs 0.06 % of one processor, and 80 % may be used.
-->   rate       1,000 rows/s [assumed]
-->   cost       0.6 µs for a row and all filters of the group [built-in]

SUBSCRIBE cheap TO SELECT symbol FROM trades WHERE symbol = 'KO' AND price BETWEEN 1 AND 2;
EXPLAIN SUBSCRIPTION cheap
--> SELECT symbol FROM trades WHERE symbol = 'KO' AND price BETWEEN 1 AND 2
-->   group      filter-… (filter on trades; grouped with 1 standing query)
-->   partition  by symbol
-->   index      stabbing index on price
-->   expect     1.00 candidates per event
-->   relation   trades
-->   verdict    ABUNDANT: it needs 0.06 % of one processor, and 80 % may be used.
-->   rate       1,000 rows/s [assumed]
-->   cost       0.6 µs for a row and all filters of the group [built-in]

EXPLAIN SELECT * FROM trades WHERE symbol LIKE 'Z%' OR price > 7 AND symbol IN ('A', 'B')
--> SELECT * FROM trades WHERE symbol LIKE 'Z%' OR price > 7 AND symbol IN ('A', 'B')
-->   group      filter-… (filter on trades; a new group)
-->   branch 1 of 2
-->   partition  by symbol
-->   index      stabbing index on price
-->   expect     1.00 candidates per event
-->   branch 2 of 2
-->   residual   c0 LIKE r0 (on candidates only)
-->   expect     1.00 candidates per event
-->   SLOW PATH  The branch has neither an equality nor a range: every event is tested for every query.
-->   relation   trades
-->   verdict    ABUNDANT: it needs 0.06 % of one processor, and 80 % may be used.
-->   rate       1,000 rows/s [assumed]
-->   cost       0.6 µs for a row and all filters of the group [built-in]
