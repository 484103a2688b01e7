\set id random(1, 100000 * :scale)
\if :id > 5
BEGIN;
UPDATE a SET x = x + 1 WHERE id = :id;
END;
\endif
\sleep 1 ms
