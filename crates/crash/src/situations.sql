# Work with company: what the built-in workload has no second connection for, and sizes that it does not have. Each
# situation is recorded and crashed by itself. A heading names the situation, the journal modes (`wal`, `rollback` or both)
# and its page size, if that is its subject; `large` asks for few images. Lines begin with the number of the connection that
# executes them, or with what happens: `leaves` closes that connection, `kill` ends the process, after which connection 1
# opens the database again, and `backup` copies the main database over another one.

--- checkpoint-beside-reader: wal
1 BEGIN; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); CREATE INDEX t_v ON t(v); COMMIT
1 WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 40) INSERT INTO t SELECT i, printf('%0200d', i) FROM n
2 BEGIN; SELECT count(*) FROM t
1 UPDATE t SET v = 'a' || v WHERE id % 3 = 0
3 PRAGMA wal_checkpoint(PASSIVE)
1 UPDATE t SET v = 'b' || v WHERE id % 5 = 0
2 COMMIT
3 PRAGMA wal_checkpoint(PASSIVE)
1 UPDATE t SET v = 'c' || v WHERE id = 7
2 BEGIN; SELECT count(*) FROM t
1 UPDATE t SET v = 'd' || v WHERE id % 7 = 0
3 PRAGMA wal_checkpoint(FULL)
1 DELETE FROM t WHERE id > 35
2 COMMIT
3 PRAGMA wal_checkpoint(RESTART)
1 UPDATE t SET v = 'e' || v WHERE id % 2 = 0
2 BEGIN; SELECT count(*) FROM t
1 UPDATE t SET v = 'f' || v WHERE id < 9
3 PRAGMA wal_checkpoint(TRUNCATE)
2 COMMIT
3 PRAGMA wal_checkpoint(TRUNCATE)
1 UPDATE t SET v = 'g' || v WHERE id % 4 = 0
1 UPDATE t SET v = 'h' || v WHERE id = 30

--- automatic-checkpoints: wal
1 BEGIN; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'one'); COMMIT
1 PRAGMA wal_autocheckpoint = 1
1 INSERT INTO t VALUES (2, hex(zeroblob(4000)))
2 BEGIN; SELECT count(*) FROM t
1 INSERT INTO t VALUES (3, hex(zeroblob(3000)))
1 UPDATE t SET v = 'two' WHERE id = 2
2 COMMIT
1 UPDATE t SET v = 'three' WHERE id = 3
1 PRAGMA wal_autocheckpoint = 0
1 INSERT INTO t VALUES (4, hex(zeroblob(5000)))
2 INSERT INTO t VALUES (5, 'five')
1 DELETE FROM t WHERE id = 4

--- second-writer: rollback wal
1 BEGIN; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); CREATE INDEX t_v ON t(v); COMMIT
1 WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 30) INSERT INTO t SELECT i, printf('%0150d', i) FROM n
2 UPDATE t SET v = 'a' || v WHERE id % 2 = 0
1 UPDATE t SET v = 'b' || v WHERE id % 3 = 0
2 BEGIN IMMEDIATE; UPDATE t SET v = 'never'; ROLLBACK
1 INSERT INTO t VALUES (100, hex(zeroblob(3000)))
2 BEGIN; DELETE FROM t WHERE id BETWEEN 5 AND 9; INSERT INTO t VALUES (101, 'of the second'); COMMIT
2 leaves
1 UPDATE t SET v = 'c' || v WHERE id < 20

--- killed-writer: rollback wal
1 BEGIN; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); CREATE INDEX t_v ON t(v); COMMIT
1 WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 40) INSERT INTO t SELECT i, printf('%0250d', i) FROM n
1 PRAGMA cache_size = 2
1 BEGIN; UPDATE t SET v = 'never' || v; INSERT INTO t SELECT id + 500, v FROM t
kill
1 UPDATE t SET v = 'short' WHERE id = 3
1 PRAGMA cache_size = 2
1 BEGIN; DELETE FROM t WHERE id > 10; UPDATE t SET v = 'nor this'
kill
2 SELECT count(*) FROM t
1 UPDATE t SET v = 'a' || v WHERE id % 5 = 0
1 DELETE FROM t WHERE id % 7 = 0

--- mode-change-beside-writer: rollback
1 BEGIN; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); CREATE INDEX t_v ON t(v); COMMIT
1 WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 30) INSERT INTO t SELECT i, printf('%0150d', i) FROM n
2 UPDATE t SET v = 'a' || v WHERE id % 2 = 0
2 PRAGMA journal_mode = persist
2 PRAGMA journal_mode = delete
1 UPDATE t SET v = 'd' || v WHERE id < 5
2 leaves
1 PRAGMA journal_mode = persist
2 BEGIN; UPDATE t SET v = 'b' || v WHERE id % 3 = 0
1 PRAGMA journal_mode = delete
2 DELETE FROM t WHERE id > 25; COMMIT
1 PRAGMA journal_mode = persist
1 PRAGMA journal_mode = delete
2 UPDATE t SET v = 'c' || v WHERE id < 20
2 INSERT INTO t VALUES (100, hex(zeroblob(3000)))

--- backup: rollback
1 BEGIN; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); COMMIT
1 WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 30) INSERT INTO t SELECT i, printf('%0200d', i) FROM n
1 ATTACH 'copy.db' AS copy
backup
1 UPDATE t SET v = 'a' || v WHERE id % 2 = 0
1 DELETE FROM t WHERE id > 20
backup
1 UPDATE t SET v = 'b' || v WHERE id < 5

--- auto-vacuum: rollback wal; page_size=512
1 PRAGMA auto_vacuum = INCREMENTAL; VACUUM
1 BEGIN; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); CREATE INDEX t_v ON t(v); CREATE TABLE b(id INTEGER PRIMARY KEY, v TEXT); COMMIT
1 WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 24) INSERT INTO t SELECT i, printf('%090d', i) FROM n
1 INSERT INTO b VALUES (1, hex(zeroblob(31000)))
2 UPDATE t SET v = 'a' || v WHERE id < 3
1 DELETE FROM b
1 DELETE FROM t WHERE id % 8 > 1
1 PRAGMA incremental_vacuum(121)
1 PRAGMA incremental_vacuum(1)
1 PRAGMA incremental_vacuum
1 INSERT INTO b VALUES (2, hex(zeroblob(350))), (3, hex(zeroblob(750))), (4, hex(zeroblob(750))), (5, hex(zeroblob(350)))
1 DELETE FROM b WHERE id = 4
1 DELETE FROM b WHERE id = 2
1 PRAGMA incremental_vacuum(3)
1 INSERT INTO b VALUES (6, hex(zeroblob(31000)))
1 DELETE FROM b WHERE id IN (3, 6)
1 INSERT INTO b SELECT id + 10, hex(zeroblob(100 * id)) FROM t
1 PRAGMA auto_vacuum = FULL; DELETE FROM b WHERE id BETWEEN 12 AND 20

--- pages-of-512: rollback wal; page_size=512
1 BEGIN; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); CREATE INDEX t_v ON t(v); COMMIT
1 WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 24) INSERT INTO t SELECT i, printf('%090d', i) FROM n
1 UPDATE t SET v = 'a' || v WHERE id % 2 = 0
1 PRAGMA cache_size = 4
1 BEGIN; UPDATE t SET v = 'b' || v; INSERT INTO t SELECT id + 100, v FROM t; COMMIT
1 BEGIN; UPDATE t SET v = 'never'; ROLLBACK
1 DELETE FROM t WHERE id > 110
1 INSERT INTO t VALUES (1000, hex(zeroblob(900)))

--- pages-of-65536: rollback wal; page_size=65536
1 BEGIN; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'one'); COMMIT
1 INSERT INTO t VALUES (2, hex(zeroblob(20000)))
1 UPDATE t SET v = v || 'a'
1 DELETE FROM t WHERE id = 2

--- large-transaction: rollback wal; page_size=512; large
1 PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)
1 WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 60) INSERT INTO t SELECT i, printf('%0440d', i) FROM n
1 PRAGMA wal_checkpoint(RESTART)
1 UPDATE t SET v = 'first' || substr(v, 6) WHERE id = 1
1 PRAGMA cache_size = 50
1 BEGIN; UPDATE t SET v = 'never' || substr(v, 6); ROLLBACK
1 BEGIN; UPDATE t SET v = 'never' || substr(v, 6); ROLLBACK
1 BEGIN; UPDATE t SET v = 'never' || substr(v, 6); ROLLBACK
1 BEGIN; UPDATE t SET v = 'never' || substr(v, 6); ROLLBACK
1 WITH RECURSIVE n(i) AS (VALUES (61) UNION ALL SELECT i + 1 FROM n WHERE i < 5200) INSERT INTO t SELECT i, printf('%0440d', i) FROM n
1 UPDATE t SET v = 'after' || substr(v, 6) WHERE id = 5200
1 UPDATE t SET v = 'large' || substr(v, 6) WHERE id > 60
2 PRAGMA wal_checkpoint(PASSIVE)
1 UPDATE t SET v = 'last' || substr(v, 5) WHERE id % 900 = 0
