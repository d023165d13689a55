SELECT * FROM trades
--> branch: every row
--> where: TRUE

SELECT t.* FROM Trades AS t WHERE TRUE
--> branch: every row
--> where: TRUE

SELECT * FROM trades WHERE price > 5
--> branch: price > $0
--> parameter $0: double = 5.0
--> where: e.".price" > 5

SELECT * FROM trades WHERE 10 >= price
--> branch: price <= $0
--> parameter $0: double = 10.0
--> where: 10 >= e.".price"

SELECT * FROM trades WHERE price BETWEEN 1 AND 2
--> branch: price >= $0 <= $1
--> parameter $0: double = 1.0
--> parameter $1: double = 2.0
--> where: e.".price" BETWEEN 1 AND 2

SELECT * FROM trades WHERE price > 1 AND price <= 3 AND 2 < price
--> branch: price > $0 > $2 <= $1
--> parameter $0: double = 1.0
--> parameter $1: double = 3.0
--> parameter $2: double = 2.0
--> where: e.".price" > 1 AND e.".price" <= 3 AND 2 < e.".price"

SELECT * FROM trades WHERE NOT (price BETWEEN 1 AND 2)
--> branch: price < $0
--> branch: price > $1
--> parameter $0: double = 1.0
--> parameter $1: double = 2.0
--> where: NOT (e.".price" BETWEEN 1 AND 2)

SELECT * FROM trades WHERE NOT (price >= 1 OR size = 2)
--> branch: price < $0; [c0 <> r0] of ['size'], ['$1']
--> parameter $0: double = 1.0
--> parameter $1: int64 = 2
--> where: NOT (e.".price" >= 1 OR e.".size" = 2)

SELECT * FROM trades WHERE size <> 3
--> branch: size < $0
--> branch: size > $1
--> parameter $0: int32 = 3
--> parameter $1: int32 = 3
--> where: e.".size" <> 3

SELECT * FROM trades WHERE symbol = 'IBM' AND price BETWEEN 120 AND 125
--> branch: symbol in ['$0']; price >= $1 <= $2
--> parameter $0: string = 'IBM'
--> parameter $1: double = 120.0
--> parameter $2: double = 125.0
--> where: e.".symbol" = 'IBM' AND e.".price" BETWEEN 120 AND 125

SELECT * FROM trades WHERE symbol IN ('a', 'b', NULL)
--> branch: symbol in ['$0', '$1']
--> parameter $0: string = 'a'
--> parameter $1: string = 'b'
--> where: e.".symbol" IN ('a', 'b', NULL)

SELECT * FROM trades WHERE symbol = 'a' OR symbol IN ('b', 'c') OR size = 4
--> branch: size in ['$3']
--> branch: symbol in ['$0', '$1', '$2']
--> parameter $0: string = 'a'
--> parameter $1: string = 'b'
--> parameter $2: string = 'c'
--> parameter $3: int32 = 4
--> where: e.".symbol" = 'a' OR e.".symbol" IN ('b', 'c') OR e.".size" = 4

SELECT * FROM trades WHERE active
--> branch: active in ['$0']
--> parameter $0: bool = True
--> where: e.".active"

SELECT * FROM trades WHERE NOT active AND price < -1.5
--> branch: active in ['$0']; price < $1
--> parameter $0: bool = False
--> parameter $1: double = -1.5
--> where: NOT e.".active" AND e.".price" < -1.5

SELECT * FROM trades WHERE size = 5.0 AND fee <= 1.5
--> branch: size in ['$0']; fee <= $1
--> parameter $0: int32 = 5
--> parameter $1: decimal128(10, 2) = Decimal('1.50')
--> where: e.".size" = 5.0 AND e.".fee" <= 1.5

SELECT * FROM trades WHERE size > 1 + 1
--> branch: size > $0
--> parameter $0: int32 = 2
--> where: e.".size" > 1 + 1

SELECT * FROM trades WHERE ratio > 1.1
--> branch: ratio > $0
--> parameter $0: float = 1.100000023841858
--> where: e.".ratio" > 1.1

SELECT * FROM trades WHERE ts >= '2024-01-01 10:00' AND at < TIMESTAMP '2024-01-02' + INTERVAL 1 DAY AND day = '2024-02-29'
--> branch: day in ['$2']; at < $1; ts >= $0
--> parameter $0: timestamp[us, tz=UTC] = datetime.datetime(2024, 1, 1, 10, 0, tzinfo=datetime.timezone.utc)
--> parameter $1: timestamp[us] = datetime.datetime(2024, 1, 3, 0, 0)
--> parameter $2: date32[day] = datetime.date(2024, 2, 29)
--> where: e.".ts" >= '2024-01-01 10:00' AND e.".at" < TIMESTAMP '2024-01-02' + INTERVAL 1 DAY AND e.".day" = '2024-02-29'

SELECT * FROM trades WHERE ts < DATE '2024-01-01'
--> branch: ts < $0
--> parameter $0: timestamp[us, tz=UTC] = datetime.datetime(2024, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)
--> where: e.".ts" < DATE '2024-01-01'

SELECT * FROM trades WHERE price = NULL
--> branch: price in ['$0']
--> parameter $0: double = None
--> where: e.".price" = NULL

SELECT * FROM trades WHERE price > NULL OR size > 3
--> branch: size > $1
--> parameter $1: int32 = 3
--> where: e.".price" > NULL OR e.".size" > 3

SELECT * FROM trades WHERE 1 = 1 AND (FALSE OR price > 3)
--> branch: price > $0
--> parameter $0: double = 3.0
--> where: 1 = 1 AND (FALSE OR e.".price" > 3)

SELECT * FROM trades WHERE (price > 1 OR size > 2) AND symbol = 'x'
--> branch: symbol in ['$1']; price > $0
--> branch: symbol in ['$3']; size > $2
--> parameter $0: double = 1.0
--> parameter $1: string = 'x'
--> parameter $2: int32 = 2
--> parameter $3: string = 'x'
--> where: (e.".price" > 1 OR e.".size" > 2) AND e.".symbol" = 'x'

SELECT t.price * 2 AS twice, t.symbol, lower(symbol), name: size + 1, t.info.a
FROM trades t -- a comment
WHERE t."odd name" > 1 /* another */ AND
  t.price > 2
--> branch: Odd Name > $0; price > $1
--> parameter $0: int64 = 1
--> parameter $1: double = 2.0
--> output twice: "price" * 2
--> output symbol: "symbol"
--> output lower(symbol): lower("symbol")
--> output name: "size" + 1
--> output a: "info".a
--> where: e.".Odd Name" > 1 AND e.".price" > 2

SELECT * EXCLUDE (tags, info) FROM trades WHERE 5 BETWEEN size AND size
--> branch: size >= $1 <= $0
--> parameter $0: int32 = 5
--> parameter $1: int32 = 5
--> output symbol: "symbol"
--> output price: "price"
--> output size: "size"
--> output fee: "fee"
--> output ratio: "ratio"
--> output active: "active"
--> output day: "day"
--> output at: "at"
--> output ts: "ts"
--> output Odd Name: "Odd Name"
--> where: 5 BETWEEN e.".size" AND e.".size"
