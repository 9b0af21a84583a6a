-- Notes that the server $1 runs, alone if $2. Returns the newest thread, and the others that were
-- heard of within $3 seconds, each with its last beat. Without others: one row whose server is null.
WITH forgotten AS (
    DELETE FROM recollect.servers s
    WHERE $2::boolean OR s.beat_at < clock_timestamp() - interval '1 day'
), entered AS (
    INSERT INTO recollect.servers (server_id) VALUES ($1::uuid)
)
SELECT (SELECT COALESCE(max(t.ordinal), 0) FROM recollect.threads t WHERE t.idle_ttl IS NOT NULL) AS newest,
    o.server_id, o.beat_at
FROM (SELECT) one
LEFT JOIN recollect.servers o
    ON NOT $2::boolean AND o.beat_at >= clock_timestamp() - make_interval(secs => $3::double precision)
