SELECT product, sum(price * 2) / count(*) AS mean, count(DISTINCT place) FROM Offers WHERE price > 1 GROUP BY product HAVING mean > 3 -- {"view": "v", "refresh": "500 milliseconds"}
--> within 500000 us in the home, online
--> i0 Offers (product, price, place), changes by op
--> condition: "i0"."price" > 1
--> key g0: "i0"."product" is string
--> a0: count(*)
--> a1: sum("i0"."price" * 2)
--> a2: count_distinct("i0"."place")
--> having: ("a1" / "a0") > 3
--> output product: "g0" is string
--> output mean: "a1" / "a0" is double
--> output count(DISTINCT place): "a2" is int64

SELECT o.id, d.price - o.price AS gap FROM Offers o JOIN demand d ON o.product = d.product WHERE d.urgent -- {"view": "v", "refresh": "1 second", "policy": "naive"}
--> within 1000000 us in the home, naive
--> i0 Offers (id, product, price), changes by op
--> i1 demand (product, price, urgent), changes by op
--> condition: "i0"."product" = "i1"."product"
--> condition: "i1"."urgent"
--> output id: "i0"."id" is int64
--> output gap: "i1"."price" - "i0"."price" is double

SELECT min(price) AS low, max(price) AS high, count(*) FILTER (WHERE place > 3) AS far FROM Offers -- {"view": "v", "refresh": "2 minutes", "store": "postgresql://h/d"}
--> within 120000000 us in postgresql://h/d, online
--> i0 Offers (price, place), changes by op
--> a0: min("i0"."price")
--> a1: max("i0"."price")
--> a2: count(CASE WHEN "i0"."place" > 3 THEN 1 END)
--> output low: "a0" is double
--> output high: "a1" is double
--> output far: "a2" is int64

SELECT symbol, sum(size) AS traded FROM trades GROUP BY symbol -- {"view": "v", "refresh": "1 second"}
--> within 1000000 us in the home, online
--> i0 trades (symbol, size), changes by None
--> key g0: "i0"."symbol" is string
--> a0: sum("i0"."size")
--> output symbol: "g0" is string
--> output traded: "a0" is int64

SELECT product FROM Offers ORDER BY price LIMIT 3 -- {"view": "v", "refresh": "1 second"}
--> [VIEW-050] ORDER BY cannot be maintained from changes: the rows of a view have no order, and one that comes may push another out: order what you read. Leave it out of the view.
-->   at line 1, column 37
-->   SELECT product FROM Offers ORDER BY price LIMIT 3 -- {"view": "v", "refresh": "1 second"}
-->                                       ^

SELECT sum(price) FROM Offers WHERE price > :lo -- {"view": "v", "refresh": "1 second"}
--> [VIEW-052] The view has the parameter :lo. Write a constant, or make it a column of the view and let readers compare.
-->   at line 1, column 45
-->   SELECT sum(price) FROM Offers WHERE price > :lo -- {"view": "v", "refresh": "1 second"}
-->                                               ^

SELECT count(*) AS n FROM prices -- {"view": "v", "refresh": "1 second"}
--> [VIEW-054] 'prices' is looked up in another database, which does not tell when its rows change. Read it as a table with its changes, or join it where the view is read.
-->   at line 1, column 27
-->   SELECT count(*) AS n FROM prices -- {"view": "v", "refresh": "1 second"}
-->                             ^

SELECT count(*) AS n FROM Offers -- {"view": "v", "refresh": "soon"}
--> [CAT-006] 'soon' is not a duration. Write a number and a unit, as in '10 seconds', or give a timedelta or a number of seconds; units are microsecond, millisecond, second, minute, hour, day.
