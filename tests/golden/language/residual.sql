SELECT * FROM trades WHERE lower(symbol) LIKE 'a%' AND 5 < size * 2 AND price > 1
--> branch: price > $0; [c0 * 2 > r0 AND lower(c1) LIKE r1] of ['size', 'symbol'], ['$2', '$1']
--> parameter $0: double = 1.0
--> parameter $1: string = 'a%'
--> parameter $2: int64 = 5
--> where: lower(e.".symbol") LIKE 'a%' AND 5 < e.".size" * 2 AND e.".price" > 1

SELECT * FROM trades WHERE size * 2 > 5 AND price > 1 AND lower(symbol) LIKE 'b%'
--> branch: price > $0; [c0 * 2 > r0 AND lower(c1) LIKE r1] of ['size', 'symbol'], ['$1', '$2']
--> parameter $0: double = 1.0
--> parameter $1: int64 = 5
--> parameter $2: string = 'b%'
--> where: e.".size" * 2 > 5 AND e.".price" > 1 AND lower(e.".symbol") LIKE 'b%'

SELECT * FROM trades WHERE size <> 1 AND price > 2
--> branch: price > $0; [c0 <> r0] of ['size'], ['$1']
--> parameter $0: double = 2.0
--> parameter $1: int64 = 1
--> where: e.".size" <> 1 AND e.".price" > 2

SELECT * FROM trades WHERE symbol NOT IN ('a', 'b')
--> branch: [c0 NOT IN (r0, r1)] of ['symbol'], ['$0', '$1']
--> parameter $0: string = 'a'
--> parameter $1: string = 'b'
--> where: e.".symbol" NOT IN ('a', 'b')

SELECT * FROM trades WHERE NOT symbol LIKE 'x%'
--> branch: [NOT (c0 LIKE r0)] of ['symbol'], ['$0']
--> parameter $0: string = 'x%'
--> where: NOT e.".symbol" LIKE 'x%'

SELECT * FROM trades WHERE symbol = 'a' AND symbol = 'b'
--> branch: symbol in ['$0']; [c0 = r0] of ['symbol'], ['$1']
--> parameter $0: string = 'a'
--> parameter $1: string = 'b'
--> where: e.".symbol" = 'a' AND e.".symbol" = 'b'

SELECT * FROM trades WHERE symbol > 'a'
--> branch: [c0 > r0] of ['symbol'], ['$0']
--> parameter $0: string = 'a'
--> where: e.".symbol" > 'a'

SELECT * FROM trades WHERE size < 5.5
--> branch: [c0 < 5.5] of ['size'], []
--> where: e.".size" < 5.5

SELECT * FROM trades WHERE fee > 1.005
--> branch: [c0 > 1.005] of ['fee'], []
--> where: e.".fee" > 1.005

SELECT * FROM trades WHERE ratio > 1.1::DOUBLE
--> branch: [c0 > 1.1::DOUBLE] of ['ratio'], []
--> where: e.".ratio" > 1.1::DOUBLE

SELECT * FROM trades WHERE ratio IN (1.3, 2e0)
--> branch: [c0 IN (1.3, 2e0)] of ['ratio'], []
--> where: e.".ratio" IN (1.3, 2e0)

SELECT * FROM trades WHERE day > TIMESTAMP '2024-01-01 10:00'
--> branch: [c0 > TIMESTAMP '2024-01-01 10:00'] of ['day'], []
--> where: e.".day" > TIMESTAMP '2024-01-01 10:00'

SELECT * FROM trades WHERE active IS TRUE
--> branch: [c0 IS TRUE] of ['active'], []
--> where: e.".active" IS TRUE

SELECT * FROM trades WHERE date_trunc('day', ts) = '2024-01-01'
--> branch: [date_trunc('day', c0) = r0] of ['ts'], ['$0']
--> parameter $0: timestamp[us, tz=UTC] = datetime.datetime(2024, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)
--> where: date_trunc('day', e.".ts") = '2024-01-01'

SELECT * FROM trades WHERE regexp_matches(symbol, 'a', 'i')
--> branch: [regexp_matches(c0, 'a', 'i')] of ['symbol'], []
--> where: regexp_matches(e.".symbol", 'a', 'i')

SELECT * FROM trades WHERE tags[1] = 'a' AND info.a > 3
--> branch: [c0.a > r0 AND c1[1] = r1] of ['info', 'tags'], ['$1', '$0']
--> parameter $0: string = 'a'
--> parameter $1: int64 = 3
--> where: e.".tags"[1] = 'a' AND e.".info".a > 3

SELECT * FROM trades WHERE len(list_filter(tags, lambda x: x = 'a')) > 2
--> branch: [len(list_filter(c0, lambda x: x = 'a')) > r0] of ['tags'], ['$0']
--> parameter $0: int64 = 2
--> where: len(list_filter(e.".tags", lambda x: x = 'a')) > 2

SELECT * FROM trades WHERE CASE WHEN price > 5 THEN size = 1 ELSE active END
--> branch: [CASE WHEN c0 > r0 THEN c1 = r1 ELSE c2 END] of ['price', 'size', 'active'], ['$0', '$1']
--> parameter $0: double = 5.0
--> parameter $1: int64 = 1
--> where: CASE WHEN e.".price" > 5 THEN e.".size" = 1 ELSE e.".active" END

SELECT * FROM trades WHERE price > size
--> branch: [c0 > c1] of ['price', 'size'], []
--> where: e.".price" > e.".size"

SELECT * FROM trades WHERE symbol IS DISTINCT FROM 'a'
--> branch: [c0 IS DISTINCT FROM 'a'] of ['symbol'], []
--> where: e.".symbol" IS DISTINCT FROM 'a'

SELECT * FROM trades WHERE active AND (price * 0 > 1 OR price * 1 > 1 OR price * 2 > 1 OR price * 3 > 1 OR price * 4 > 1 OR price * 5 > 1 OR price * 6 > 1 OR price * 7 > 1 OR price * 8 > 1 OR price * 9 > 1 OR price * 10 > 1 OR price * 11 > 1 OR price * 12 > 1 OR price * 13 > 1 OR price * 14 > 1 OR price * 15 > 1 OR price * 16 > 1)
--> branch: active in ['$0']; [(c0 * 0 > r0 OR c0 * 1 > r1 OR c0 * 2 > r2 OR c0 * 3 > r3 OR c0 * 4 > r4 OR c0 * 5 > r5 OR c0 * 6 > r6 OR c0 * 7 > r7 OR c0 * 8 > r8 OR c0 * 9 > r9 OR c0 * 10 > r10 OR c0 * 11 > r11 OR c0 * 12 > r12 OR c0 * 13 > r13 OR c0 * 14 > r14 OR c0 * 15 > r15 OR c0 * 16 > r16)] of ['price'], ['$16', '$17', '$15', '$14', '$13', '$12', '$11', '$10', '$9', '$8', '$7', '$6', '$5', '$4', '$3', '$2', '$1']
--> parameter $0: bool = True
--> parameter $1: double = 1.0
--> parameter $2: double = 1.0
--> parameter $3: double = 1.0
--> parameter $4: double = 1.0
--> parameter $5: double = 1.0
--> parameter $6: double = 1.0
--> parameter $7: double = 1.0
--> parameter $8: double = 1.0
--> parameter $9: double = 1.0
--> parameter $10: double = 1.0
--> parameter $11: double = 1.0
--> parameter $12: double = 1.0
--> parameter $13: double = 1.0
--> parameter $14: double = 1.0
--> parameter $15: double = 1.0
--> parameter $16: double = 1.0
--> parameter $17: double = 1.0
--> where: e.".active" AND (e.".price" * 0 > 1 OR e.".price" * 1 > 1 OR e.".price" * 2 > 1 OR e.".price" * 3 > 1 OR e.".price" * 4 > 1 OR e.".price" * 5 > 1 OR e.".price" * 6 > 1 OR e.".price" * 7 > 1 OR e.".price" * 8 > 1 OR e.".price" * 9 > 1 OR e.".price" * 10 > 1 OR e.".price" * 11 > 1 OR e.".price" * 12 > 1 OR e.".price" * 13 > 1 OR e.".price" * 14 > 1 OR e.".price" * 15 > 1 OR e.".price" * 16 > 1)
