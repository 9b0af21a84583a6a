-- Waiting changes for the serving collection, and the dead letters of all.
SELECT count(*) FILTER (WHERE o.dead_at IS NULL AND o.target = serving.number) AS pending,
    COALESCE(EXTRACT(epoch FROM clock_timestamp()
        - min(o.created_at) FILTER (WHERE o.dead_at IS NULL AND o.target = serving.number)), 0)
        ::double precision AS lag_seconds,
    count(*) FILTER (WHERE o.dead_at IS NOT NULL) AS dead_letters
FROM recollect.outbox o
CROSS JOIN (SELECT recollect.serving_collection() AS number) AS serving
WHERE o.tenant_id = $1
