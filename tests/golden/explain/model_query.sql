EXPLAIN SELECT symbol, price FROM trades MODEL price KEY symbol WHERE price > 110 ERROR WITHIN 0.5 %
--> SELECT symbol, price FROM trades MODEL price KEY symbol WHERE price > 110 ERROR WITHIN 0.5 %
-->   group           model_query-… (model_query on trades; a new group)
-->   class           model query
-->   tells           segments
-->   sources         stream trades, key symbol, models price of degree 1 by sliding, horizon 10 s, within price 0.5 %
-->   each query asks price > its own
-->   bounds          every output 0.5 %
-->   bound led back  price: trades.price 0.5 %, gain 1
-->   shards          symbol
-->   queries         1
-->   source shared   model_stream-…, which no other shape reads yet

SUBSCRIBE crossing TO SELECT symbol, starts, ends, price, status FROM trades MODEL price = price + 0.5 * t KEY symbol WHERE symbol = 'IBM' AND price * price < 12100 ERROR WITHIN 0.5 HORIZON 30 SECONDS; EXPLAIN SUBSCRIPTION crossing
--> SELECT symbol, starts, ends, price, status FROM trades MODEL price = price + 0.5 * t KEY symbol WHERE symbol = 'IBM' AND price * price < 12100 ERROR WITHIN 0.5 HORIZON 30 SECONDS
-->   group           model_query-… (model_query on trades; grouped with 1 standing query)
-->   class           model query
-->   tells           segments, expected and then confirmed or withdrawn
-->   sources         stream trades, key symbol, models price of degree 1 from columns, horizon 30 s, within price 0.5
-->   each query asks symbol = its own AND price² < its own
-->   bounds          every output 0.5
-->   bound at        source: price ± 0.5
-->   bound led back  price: trades.price 0.5, gain 1
-->   shards          symbol
-->   queries         1
-->   source shared   model_stream-…, which no other shape reads yet

EXPLAIN SELECT a.symbol, a.price - b.price AS spread FROM trades a MODEL price KEY symbol JOIN quotes b MODEL price KEY symbol ON a.symbol = b.symbol AND a.price < b.price ERROR WITHIN 2
--> SELECT a.symbol, a.price - b.price AS spread FROM trades a MODEL price KEY symbol JOIN quotes b MODEL price KEY symbol ON a.symbol = b.symbol AND a.price < b.price ERROR WITHIN 2
-->   group          model_query-… (model_query on trades, quotes; a new group)
-->   class          model query
-->   tells          segments
-->   sources        stream trades, key symbol, models price of degree 1 by sliding, horizon 10 s, within price 1
-->   sources        stream quotes, key symbol, models price of degree 1 by sliding, horizon 10 s, within price 1
-->   equations      join: key 1 = key 1 AND trades.price - quotes.price < 0, map: spread = trades.price - quotes.price
-->   bounds         every output 2
-->   bound at       source: trades.price ± 1, source: quotes.price ± 1, join: trades.price ± 1, join: quotes.price ± 1, map: spread ± 2
-->   bound led back spread: trades.price 1, gain 1, spread: quotes.price 1, gain 1
-->   split          equi
-->   shards         one
-->   queries        1
-->   source shared  no: rows of several streams stand in one order, which is the query's own

EXPLAIN SELECT symbol, avg(price) AS mean FROM trades [SIZE 10 SECONDS ADVANCE 2 SECONDS] MODEL price KEY symbol GROUP BY symbol ERROR WITHIN 1
--> SELECT symbol, avg(price) AS mean FROM trades [SIZE 10 SECONDS ADVANCE 2 SECONDS] MODEL price KEY symbol GROUP BY symbol ERROR WITHIN 1
-->   group          model_query-… (model_query on trades; a new group)
-->   class          model query
-->   tells          values every 2 s
-->   sources        stream trades, key symbol, models price of degree 1 by sliding, horizon 10 s, within price 1
-->   equations      window: mean = avg(price) over 10 s every 2 s by key 1, gaps hold
-->   bounds         every output 1
-->   bound at       source: price ± 1, window: mean ± 1
-->   bound led back mean: trades.price 1, gain 1
-->   shards         symbol
-->   queries        1
-->   source shared  model_stream-…, which no other shape reads yet

EXPLAIN SELECT one, other, avg(far) AS mean FROM (SELECT a.symbol AS one, b.symbol AS other, sqrt(pow(a.price - b.price, 2)) AS far FROM trades a MODEL price KEY symbol JOIN trades b MODEL price KEY symbol ON a.symbol <> b.symbol) [SIZE 10 SECONDS ADVANCE 2 SECONDS] AS pairs GROUP BY one, other HAVING avg(far) < 3 ERROR WITHIN 1
--> SELECT one, other, avg(far) AS mean FROM (SELECT a.symbol AS one, b.symbol AS other, sqrt(pow(a.price - b.price, 2)) AS far FROM trades a MODEL price KEY symbol JOIN trades b MODEL price KEY symbol ON a.symbol <> b.symbol) [SIZE 10 SECONDS ADVANCE 2 SECONDS] AS pairs GROUP BY one, other HAVING avg(far) < 3 ERROR WITHIN 1
-->   group          model_query-… (model_query on trades; a new group)
-->   class          model query
-->   tells          values every 2 s
-->   sources        stream trades 1, key symbol, models price of degree 1 by sliding, horizon 10 s, within price 0.45
-->   sources        stream trades 2, key symbol, models price of degree 1 by sliding, horizon 10 s, within price 0.45
-->   equations      join: key 1 <> key 1, map: far = sqrt(trades 1.price² - 2·trades 1.price·trades 2.price + trades 2.price²) ± 0.1, window: mean = avg(far) over 10 s every 2 s by key 1, key 2, gaps hold, filter: mean < 3
-->   pairs          only those that come within 3.1 of each other, around that time
-->   bounds         every output 1
-->   bound at       source: trades 1.price ± 0.45, source: trades 2.price ± 0.45, join: trades 1.price ± 0.45, join: trades 2.price ± 0.45, map: far ± 1, window: mean ± 1, filter: mean ± 1
-->   bound led back mean: trades 1.price 0.45, gain 1, mean: trades 2.price 0.45, gain 1
-->   split          equi
-->   shards         one
-->   queries        1
-->   source shared  model_stream-…, which no other shape reads yet
