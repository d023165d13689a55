EXPLAIN SELECT t.symbol FROM trades t JOIN quotes q ON t.symbol = q.symbol WITHIN 5 SECONDS WHERE t.price BETWEEN 1 AND 2
--> SELECT t.symbol FROM trades t JOIN quotes q ON t.symbol = q.symbol WITHIN 5 SECONDS WHERE t.price BETWEEN 1 AND 2
-->   group            window_join-… (window_join on quotes, trades; a new group)
-->   class            window join
-->   mode             full
-->   keys             quotes.symbol = trades.symbol
-->   window           quotes.ts near trades.ts
-->   index            trades.price
-->   default plan     dynamic
-->   stabbing number  left changes 1, right changes 1
-->   hot groups       left changes 1, right changes 1
-->   hotspot coverage left changes 100.0 %, right changes 100.0 %

SUBSCRIBE soon TO SELECT t.symbol FROM trades t JOIN quotes q ON t.symbol = q.symbol WITHIN 5 SECONDS;
EXPLAIN SUBSCRIPTION soon
--> SELECT t.symbol FROM trades t JOIN quotes q ON t.symbol = q.symbol WITHIN 5 SECONDS
-->   group            window_join-… (window_join on quotes, trades; grouped with 1 standing query)
-->   class            window join
-->   mode             full
-->   keys             quotes.symbol = trades.symbol
-->   window           quotes.ts near trades.ts
-->   default plan     dynamic
-->   stabbing number  left changes 1, right changes 1
-->   hot groups       left changes 1, right changes 1
-->   hotspot coverage left changes 100.0 %, right changes 100.0 %
