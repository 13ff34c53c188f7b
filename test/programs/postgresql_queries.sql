-- SPDX-License-Identifier: Apache-2.0
-- What test_postgresql.py runs on both allocators: sorts, hashes, joins, JSON, regular expressions,
-- procedural code with exceptions, parallel workers, and the just-in-time compiler where there is one.
\set ON_ERROR_STOP on
\pset format unaligned
SET client_min_messages = warning;
SET work_mem = '4MB';
CREATE TABLE event AS
  SELECT i AS id, (i * 7919) % 1000 AS source, md5(i::text) AS tag, (i * 31) % 977 AS weight,
         repeat('payload ', (i % 40)) || i AS body
  FROM generate_series(1, 150000) i;
CREATE INDEX ON event(source, weight);
CREATE INDEX ON event USING gin (to_tsvector('simple', body));
ANALYZE event;
SELECT count(*), sum(weight), min(tag), max(tag), sum(length(body)) FROM event;
SELECT source, count(*), sum(weight), md5(string_agg(tag, ',' ORDER BY id)) FROM event
  WHERE source < 60 GROUP BY source ORDER BY source;
SELECT a.source, count(*), sum(b.weight) FROM event a JOIN event b ON b.id = (a.id * 13) % 150000 + 1
  WHERE a.source % 50 = 1 GROUP BY a.source ORDER BY 3 DESC, 1;
SELECT id, rank() OVER (PARTITION BY source ORDER BY weight DESC, id) FROM event WHERE source = 5
  ORDER BY 2, 1 LIMIT 60;
SELECT md5(string_agg(j::text, '' ORDER BY id)) FROM
  (SELECT id, jsonb_build_object('id', id, 'tags', jsonb_build_array(tag, weight), 'n', jsonb_build_object('b', body)) j
   FROM event WHERE id % 10 = 0) q;
SELECT count(DISTINCT regexp_replace(body, '(pay)(load)+ ', '\2\1', 'g')) FROM event WHERE id % 5 = 0;
SELECT count(*) FROM event WHERE to_tsvector('simple', body) @@ to_tsquery('simple', '77777 | 1234 | 99');
CREATE FUNCTION fails(n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text := '';
BEGIN
  FOR i IN 1..n LOOP
    BEGIN
      IF i % 3 = 0 THEN RAISE EXCEPTION 'number %', i; END IF;
      result := result || i::text || repeat('-', i % 50);
      PERFORM 1 / (i % 5);
    EXCEPTION
      WHEN division_by_zero THEN result := right(result || 'zero', 4000);
      WHEN others THEN result := right(result || SQLERRM, 4000);
    END;
  END LOOP;
  RETURN md5(result);
END $$;
SELECT fails(20000);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 3;
SELECT source % 10, count(*), sum(weight), max(body) FROM event GROUP BY 1 ORDER BY 1;
SET jit = on;
SET jit_above_cost = 0;
SET jit_inline_above_cost = 0;
SET jit_optimize_above_cost = 0;
SELECT sum(CASE WHEN weight % 2 = 0 THEN weight * 3 ELSE length(body) END), avg(weight)::numeric(12, 6) FROM event;
UPDATE event SET body = body || tag WHERE source % 3 = 0;
DELETE FROM event WHERE source % 7 = 1;
VACUUM FULL event;
SELECT count(*), md5(string_agg(md5(body), '' ORDER BY id)) FROM event;
